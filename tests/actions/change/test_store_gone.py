"""The warehouse is moved away, or its disk unmounted, in the middle of a change; later it comes back."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from core.actions.context import Context
from core.actions.registry import action
from core.errors import PaimarkError
from tests.actions.acting import ORDERS, done, planned

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
    gone = f"There is no warehouse at {warehouse} any more"
    assert error.message == f"{gone}: what was begun is half done"
    assert error.hint == "If it comes back, run `paimark recover shop.orders`."
    assert error.exit_code == 3
    assert not warehouse.exists()

    away.rename(warehouse)
    done(context, "recover")
    assert planned(context, "recover").empty
    done(context, "create-branch", name="after", tag="fork")


def test_a_table_that_is_dropped_during_a_change_is_the_reason(context: Context, orders: Path) -> None:
    error = _interrupted(context, "delete-branch", {"name": "fix"}, lambda: shutil.rmtree(orders))
    assert error.message == "There is no table shop.orders any more: what was begun is half done"


def _interrupted(
    context: Context, name: str, arguments: dict[str, object], goes: Callable[[], object]
) -> PaimarkError:
    """The error of the change, where `goes` happened at its first line of progress."""
    lines: list[object] = []

    def hear(line: object) -> None:
        lines.append(line)
        if len(lines) == 1:
            goes()

    plan = action(name).plan(context, ORDERS, arguments)
    with pytest.raises(PaimarkError) as raised:
        action(name).apply(context, plan, hear)
    return raised.value
