"""Other engines commit or expire snapshots while main is being truncated, or after a truncation died."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.registry import action
from paimark.core.actions.rollback import truncate
from paimark.core.cli.changes.actions import carry_out
from paimark.core.cli.options import GlobalOptions
from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, context_on, done, planned
from tests.actions.rollback.test_archive_is_half_gone import half_delete_archive
from tests.actions.taking_over import add, main_rows
from tests.actions.test_late_recovery import died, expired
from tests.paimon import open_table
from tests.storage.wrapped import Wrapped

MAIN = ORDERS.root()
COMMITTED = r"STEP-\w+-2$"
LOWERED = r"orders/snapshot/LATEST$"


class BeforeReplacing(Wrapped):
    """A store on which somebody else commits right before the hint is replaced, once for each row."""

    def __init__(self, inner: Files, context: Context, *rows: int) -> None:
        super().__init__(inner)
        self._context, self._rows = context, [*rows]

    def replace(self, path: str, data: bytes) -> None:
        if path.endswith("orders/snapshot/LATEST") and self._rows:
            add(self._context, "shop.orders", self._rows.pop(0))
        self.inner.replace(path, data)


def hint(orders: Path) -> int:
    return int((orders / "snapshot/LATEST").read_text())


def readers(orders: Path) -> list[str]:
    return sorted(each.name for each in (orders / "consumer").glob("*"))


def test_a_command_that_others_cut_short_does_not_end_as_done(context: Context, warehouse: Path) -> None:
    racing = context_on(warehouse, BeforeReplacing(context.files, context, 901))
    plan = planned(racing, "rollback", to="snapshot.3", truncate=True)
    with pytest.raises(click.exceptions.Exit) as ended:
        carry_out(action("rollback"), racing, plan, GlobalOptions(warehouse=str(warehouse), yes=True))
    assert ended.value.exit_code == 1


@pytest.mark.parametrize("rows", [[901], [901, 902]])
def test_the_hint_follows_whoever_commits_right_before_it_is_replaced(
    context: Context, warehouse: Path, orders: Path, rows: list[int]
) -> None:
    racing = context_on(warehouse, BeforeReplacing(context.files, context, *rows))
    outcome = done(racing, "rollback", to="snapshot.3", truncate=True)
    assert "Somebody committed" in outcome.message and outcome.falls_short
    newest = 5 + len(rows)
    assert Lineage(context.files, MAIN).snapshot_ids() == [*range(1, newest + 1)]
    assert hint(orders) == newest


@pytest.mark.parametrize("at", [COMMITTED, LOWERED])
@pytest.mark.parametrize("rolled_back", [True, False])
@pytest.mark.parametrize("gone", [(), pytest.param((1, 2, 3), marks=pytest.mark.long), (1, 2, 3, 4, 5, 6)])
@pytest.mark.parametrize("lost", [False, True])
def test_recovery_leaves_no_low_hint_where_main_has_gone_on(
    context: Context,
    warehouse: Path,
    orders: Path,
    at: str,
    rolled_back: bool,
    gone: tuple[int, ...],
    lost: bool,
) -> None:
    died(warehouse, at, "rollback", to="snapshot.3", truncate=True)
    if lost:
        half_delete_archive(context, orders, "tags")
    if rolled_back:
        # As another engine does it: the ids after 3 are given again.
        open_table(warehouse, "shop.orders").rollback_to(3)
    for number in range(4 if rolled_back else 2):
        add(context, "shop.orders", 900 + number)
    # An engine that saw a later snapshot raised the hint before ours lowered it.
    (orders / "snapshot/LATEST").write_text("3")
    expired(orders, *gone)
    rows = main_rows(context)
    done(context, "recover")
    assert main_rows(context) == rows
    ids = Lineage(context.files, MAIN).snapshot_ids()
    assert ids[-1] == 7 and hint(orders) == 7
    assert readers(orders) == []


def test_no_expiry_passes_the_snapshot_where_main_is_to_end(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """From before the branch is written until the later snapshots are gone, and not after it."""
    seen: list[tuple[str, list[str]]] = []

    class Seeing(Wrapped):
        def create(self, path: str, data: bytes) -> bool:
            self._look(path)
            return self.inner.create(path, data)

        def delete(self, path: str) -> None:
            self._look(path)
            self.inner.delete(path)

        def _look(self, path: str) -> None:
            if "/snapshot/snapshot-" in path:
                seen.append((path, [each.read_text() for each in (orders / "consumer").glob("consumer-*")]))

    done(context_on(warehouse, Seeing(context.files)), "rollback", to="snapshot.3", truncate=True)
    assert len(seen) == 5
    assert all(texts == ['{"nextSnapshot":3}'] for _, texts in seen)
    assert readers(orders) == []


@pytest.mark.parametrize("at", [r"consumer-paimark-\w+$", r"tag-paimark\.truncate", COMMITTED, LOWERED])
def test_the_reader_goes_with_a_recovery(context: Context, warehouse: Path, orders: Path, at: str) -> None:
    died(warehouse, at, "rollback", to="snapshot.3", truncate=True)
    assert len(readers(orders)) == 1
    done(context, "recover")
    assert readers(orders) == []
    assert planned(context, "recover").empty
    assert hint(orders) == Lineage(context.files, MAIN).snapshot_ids()[-1]


def _delete_its_files(context: Context, orders: Path) -> None:
    (orders / "manifest" / Lineage(context.files, MAIN).snapshot(3).delta_manifest_list).unlink()


def _delete_it(context: Context, orders: Path) -> None:
    expired(orders, 1, 2, 3)


@pytest.mark.parametrize("deed", [_delete_its_files, _delete_it])
def test_an_expiry_that_had_begun_before_is_seen_after_the_wait(
    context: Context,
    orders: Path,
    monkeypatch: pytest.MonkeyPatch,
    deed: Callable[[Context, Path], None],
) -> None:
    def wait(*_: object) -> None:
        deed(context, orders)

    monkeypatch.setattr(truncate, "wait_for_cleanings", wait)
    with pytest.raises(Refused, match=r"Snapshot 3\b.*\bshop\.orders\b.*\b(not whole|expired)"):
        done(context, "rollback", to="snapshot.3", truncate=True)
    assert Lineage(context.files, MAIN).snapshot_ids()[-2:] == [4, 5] and hint(orders) == 5
    assert branch_names(context.files, ORDERS) == []
    assert Lineage(context.files, MAIN).tag_names() == ["v2"]
    assert readers(orders) == []
    assert planned(context, "recover").empty


def test_what_only_the_pin_kept_goes_with_it(context: Context, warehouse: Path, orders: Path) -> None:
    died(warehouse, r"tag-paimark\.truncate", "rollback", to="snapshot.1", truncate=True)
    # As an expiry that read the readers right before this one came, and the tags right after it.
    expired(orders, 1)
    done(context, "recover")
    assert Lineage(context.files, MAIN).tag_names() == ["v2"]
    report = verify(context, ORDERS, older_than=0)
    assert not report.orphans and not report.problems
