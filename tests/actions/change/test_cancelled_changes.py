"""A deletion that is cancelled while it counts leaves the table as it was; later it goes to its end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from paimark.core.actions import context
from paimark.core.actions.context import Counting, Remark
from paimark.core.actions.plan import Outcome
from paimark.core.cancelling import Cancellation, cancellable
from paimark.core.errors import Cancelled
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names
from tests.actions.acting import applied, contents, context_on, done, planned
from tests.actions.histories import TABLE, History
from tests.wording import about

ACTIONS: dict[str, dict[str, object]] = {
    "delete-savepoint": {"id": 1},
    "delete-tag": {"name": "t5"},
    "delete-branch": {"name": "b"},
    "expire-snapshots": {"retain_last": 2},
}


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    """With something to free for each action; how far a count is is told at every step of it."""
    monkeypatch.setattr(context, "_EVERY_SECONDS", 0.0)
    made = History(tmp_path / "warehouse", Random(5))
    for number in range(1, 11):
        made.commit()
        if number in (2, 5):
            made.tag(f"t{number}", number)
        if number == 4:
            done(context_on(made.warehouse), "create-savepoint", TABLE)
    made.fork("b", "t2")
    made.commit("b")
    made.drop_snapshots(7)
    return made


@pytest.fixture(params=ACTIONS)
def action(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def apply(history: History, action: str, tell: Callable[[str], None]) -> Outcome:
    context = context_on(history.warehouse)
    plan = planned(context, action, TABLE, **ACTIONS[action])
    assert plan.freed_files
    lines = Lines(tell)
    return applied(context, plan, lines)


class Lines(list[str]):
    """What is told, each passed on."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def append(self, line: str) -> None:
        super().append(line)
        self._tell(line)


def test_ctrl_c_while_it_counts_leaves_the_table_byte_for_byte(history: History, action: str) -> None:
    before, points = contents(history.warehouse), iter(range(1, 1000, 3))
    # At the first line that tells how far the count is, at the fourth, ...
    for point in points:
        counted = 0

        def interrupt(line: str, point: int = point) -> None:
            nonlocal counted
            assert isinstance(line, Counting)
            counted += 1
            if counted == point:
                raise KeyboardInterrupt

        try:
            apply(history, action, interrupt)
        except KeyboardInterrupt:
            assert contents(history.warehouse) == before
        except AssertionError:
            break
    assert point > 4


def test_a_cancel_while_it_counts_leaves_the_table_byte_for_byte(history: History, action: str) -> None:
    before, cancellation = contents(history.warehouse), Cancellation()
    with cancellable(cancellation), pytest.raises(Cancelled):
        apply(history, action, lambda line: cancellation.cancel())
    assert contents(history.warehouse) == before


def test_a_cancel_after_the_point_of_no_return_is_not_heard(history: History, action: str) -> None:
    cancellation = Cancellation()

    def cancel_late(line: str) -> None:
        if not isinstance(line, Counting):
            cancellation.cancel()

    with cancellable(cancellation):
        apply(history, action, cancel_late)
    assert cancellation.is_closed and not cancellation.is_cancelled
    assert not history.files.exists(TABLE.journal)


def test_ctrl_c_later_says_how_to_go_on(history: History) -> None:
    told: list[str] = []

    def interrupt(line: str) -> None:
        told.append(line)
        if line.startswith("deleted"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(history, "delete-branch", interrupt)
    assert isinstance(told[-1], Remark)
    assert about("half done", "`paimark recover shop.t`").search(told[-1])
    done(context_on(history.warehouse), "recover", TABLE)
    assert branch_names(history.files, TABLE) == []


def test_a_plan_tells_how_far_it_is(history: History, action: str) -> None:
    from dataclasses import replace

    told: list[str] = []
    context = replace(context_on(history.warehouse), progress=told.append)
    planned(context, action, TABLE, **ACTIONS[action])
    assert any(line.endswith(" manifests") or " manifests, " in line for line in told)
    assert all(isinstance(line, Counting) for line in told)
    assert Lineage(history.files, TABLE.root()).has_tag("t5")
