"""The warehouse is moved away, or its disk unmounted, in the middle of a change; later it comes back."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.registry import action
from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.storage.files import Files, Unanswered
from tests.actions.acting import ORDERS, context_on, done, planned
from tests.storage.wrapped import Wrapped
from tests.wording import about

CHANGES = [
    ("create-branch", {"name": "b", "tag": "v2"}),
    ("delete-branch", {"name": "fix"}),
    ("delete-branch", {"name": "fix", "keep": True}),
    ("replace-main-branch", {"name": "fix"}),
    ("rollback", {"to": "snapshot.4", "truncate": True}),
    ("expire-snapshots", {"retain_last": 2}),
    ("create-savepoint", {}),
]


@pytest.fixture
def context(context: Context) -> Context:
    done(context, "create-tag", name="fork", snapshot=4)
    done(context, "create-branch", name="fix", tag="fork")
    return context


@pytest.mark.parametrize(("name", "arguments"), CHANGES, ids=str)
def test_a_change_says_how_to_go_on_when_the_warehouse_comes_back(
    context: Context, warehouse: Path, name: str, arguments: dict[str, object]
) -> None:
    away = warehouse.with_name("away")
    error = _interrupted(context, name, arguments, lambda: warehouse.rename(away))
    assert about("no warehouse", warehouse, "half done").search(error.message)
    assert about("`paimark recover shop.orders`").search(error.hint)
    assert error.exit_code == 3
    assert not warehouse.exists()

    away.rename(warehouse)
    done(context, "recover")
    assert planned(context, "recover").empty
    done(context, "create-branch", name="after", tag="fork")


@pytest.mark.parametrize(
    "arguments", [{"name": "x"}, {"name": "x", "snapshot": 3}, {"name": "x y", "branch": "fix"}]
)
def test_a_tag_that_may_be_there_is_named(
    context: Context, warehouse: Path, arguments: dict[str, object]
) -> None:
    """It has no claim, so `recover` has nothing to do."""
    away = warehouse.with_name("away")
    error = _interrupted(context, "create-tag", arguments, lambda: warehouse.rename(away), at="tagged")
    name = arguments["name"]
    assert about("no warehouse", warehouse, f"tag {name}", "shop.orders", "may").search(error.message)
    away.rename(warehouse)
    branch = " --branch fix" if "branch" in arguments else ""
    command = f"paimark delete-tag shop.orders --name {shlex.quote(str(name))}{branch}"
    assert about(f"`{command}`").search(error.hint)
    assert planned(context, "recover").empty
    again = {each: value for each, value in arguments.items() if each != "snapshot"}
    done(context, "delete-tag", ORDERS, **again)
    done(context, "create-tag", ORDERS, **arguments)


class GivesUp(Wrapped):
    """A store that only fails after it has made a tag; without an answer also to that."""

    def __init__(self, files: Files, error: Unavailable) -> None:
        super().__init__(files)
        self._error = error
        self._is_gone = False

    def create(self, path: str, data: bytes) -> bool:
        self._require()
        made = super().create(path, data)
        self._is_gone = path.endswith("tag/tag-x")
        if isinstance(self._error, Unanswered):
            self._require()
        return made

    def read(self, path: str) -> bytes:
        self._require()
        return super().read(path)

    def delete(self, path: str) -> None:
        self._require()
        super().delete(path)

    def _require(self) -> None:
        if self._is_gone:
            raise self._error


@pytest.mark.parametrize("kind", [Unanswered, Unavailable])
def test_a_tag_whose_write_got_no_answer_or_is_not_taken_back_is_named(
    context: Context, warehouse: Path, kind: type[Unavailable]
) -> None:
    """What mends the store is said first."""
    store = GivesUp(context.files, kind("The store does not answer", "Get a new token."))
    with pytest.raises(Unavailable) as raised:
        done(context_on(warehouse, store), "create-tag", name="x")
    assert about("the store does not answer", "tag x", "shop.orders", "may").search(raised.value.message)
    assert raised.value.hint.startswith("Get a new token.")
    assert about("`paimark delete-tag shop.orders --name x`").search(raised.value.hint)


def test_a_table_that_is_dropped_during_a_change_is_the_reason(context: Context, orders: Path) -> None:
    error = _interrupted(context, "delete-branch", {"name": "fix"}, lambda: shutil.rmtree(orders))
    assert about("no table shop.orders", "half done").search(error.message)


def _interrupted(
    context: Context, name: str, arguments: dict[str, object], goes: Callable[[], object], at: str = ""
) -> PaimarkError:
    """The error of the change, where `goes` happened at its first line of progress that begins with `at`."""
    lines: list[object] = []

    def hear(line: object) -> None:
        if str(line).startswith(at) and not lines:
            lines.append(line)
            goes()

    plan = action(name).plan(context, ORDERS, arguments)
    with pytest.raises(PaimarkError) as raised:
        action(name).apply(context, plan, hear)
    return raised.value
