"""What a stale writer left in the table directory becomes a branch, and the directory is clean again."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.actions.branches import rescue_commits
from core.actions.context import Context
from core.actions.roots.stray_commits import stray_commits
from core.errors import Refused
from core.table.layout import BARRIER
from tests.actions.acting import ORDERS, contents, done, planned
from tests.actions.taking_over import branched, left_stray, main_rows, rows_of


@pytest.fixture
def strayed(context: Context) -> Context:
    """Branch `fix` is main, and a job that opened the table before has committed order 900."""
    branched(context)
    left_stray(context, lambda: done(context, "replace-main-branch", name="fix"))
    return context


def test_stray_commits_become_a_branch(strayed: Context, orders: Path) -> None:
    rows = main_rows(strayed)
    assert len(stray_commits(strayed.files, ORDERS)) == 1
    outcome = done(strayed, rescue_commits.ACTION, name="saved")
    assert outcome.result["commits"] == 1
    found = rows_of(strayed, ORDERS.root("saved"))
    assert {"order_id": 900, "customer": "stale", "price": 1.0} in found
    assert stray_commits(strayed.files, ORDERS) == []
    assert sorted(path.name for path in (orders / "snapshot").iterdir()) == ["LATEST", BARRIER]
    assert main_rows(strayed) == rows
    done(strayed, "undo")
    assert len(main_rows(strayed)) == 8
    assert rows_of(strayed, ORDERS.root("saved")) == found


def test_without_stray_commits_there_is_nothing_to_do(context: Context, orders: Path) -> None:
    before = contents(orders)
    plan = planned(context, rescue_commits.ACTION, name="saved")
    assert plan.empty and not plan.refusals
    done(context, rescue_commits.ACTION, name="saved")
    assert contents(orders) == before


def test_a_name_that_is_taken_or_bad_is_refused(strayed: Context) -> None:
    for name in ("fix", "main", "7"):
        with pytest.raises(Refused):
            done(strayed, rescue_commits.ACTION, name=name)
    assert len(stray_commits(strayed.files, ORDERS)) == 1
