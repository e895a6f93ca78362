"""A deletion takes only what its plan saw: jobs do not know that the branch goes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.roots.barrier import close_before_removal
from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed
from paimark.core.statements.run import CallMode, run_statement
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, Meanwhile, context_on, done, planned
from tests.actions.taking_over import add, branched, rows_of
from tests.actions.test_late_recovery import died
from tests.wording import about

ACTION = "delete-branch"
FIX = ORDERS.root("fix")
# The journal's entries of a deletion.
_COMMITTED, _DELETES = "-3", "-4"


@pytest.fixture
def with_branch(context: Context) -> Context:
    branched(context)
    add(context, "shop.orders$branch_fix", 101)
    return context


def test_a_commit_after_the_decision_keeps_the_branch(with_branch: Context, warehouse: Path) -> None:
    died(warehouse, rf"STEP-\w+{_COMMITTED}$", ACTION, name="fix")
    add(with_branch, "shop.orders$branch_fix", 102)
    head = Lineage(with_branch.files, FIX).latest()
    assert head is not None
    [step] = [each for each in planned(with_branch, "recover").steps if each.target == "branch fix"]
    assert step.verb == "check" and about("stays", f"snapshot {head.id}").search(step.detail)
    done(with_branch, "recover")
    assert [row["order_id"] for row in rows_of(with_branch, FIX)][-3:] == [100, 101, 102]
    assert verify(with_branch, ORDERS).problems == ()
    add(with_branch, "shop.orders$branch_fix", 103)
    done(with_branch, ACTION, name="fix")
    assert branch_names(with_branch.files, ORDERS) == [] and verify(with_branch, ORDERS).problems == ()


def test_a_commit_right_after_the_decision_keeps_the_branch(with_branch: Context, warehouse: Path) -> None:
    meanwhile = Meanwhile(
        with_branch.files, _COMMITTED, lambda: add(with_branch, "shop.orders$branch_fix", 102)
    )
    outcome = done(context_on(warehouse, meanwhile), ACTION, name="fix")
    assert about("branch fix", "shop.orders", "stays", "snapshot 5").search(outcome.message)
    assert outcome.result["freed_files"] == 0 and outcome.falls_short
    assert str(outcome.result["stays"]).startswith("snapshot 5 by ")
    assert [row["order_id"] for row in rows_of(with_branch, FIX)][-3:] == [100, 101, 102]
    assert planned(with_branch, "recover").empty and verify(with_branch, ORDERS).problems == ()


def test_a_call_that_others_cut_short_ends_a_script(
    with_branch: Context, warehouse: Path, tmp_path: Path
) -> None:
    meanwhile = Meanwhile(
        with_branch.files, _COMMITTED, lambda: add(with_branch, "shop.orders$branch_fix", 102)
    )
    engine = Engine(Settings(str(warehouse)), tmp_path / "engine.log")
    context = replace(context_on(warehouse, meanwhile), engine=lambda: engine)
    agreed = CallMode(agree=lambda action, plan: None)
    *_, end = run_statement(context, "CALL sys.delete_branch('shop.orders', 'fix')", call=agreed)
    assert isinstance(end, Failed) and about("branch fix", "stays").search(end.message)
    assert engine.state == "stopped"


def test_a_job_fails_once_the_deletion_has_begun(with_branch: Context, warehouse: Path) -> None:
    """Its commit would be lost: the mark in the place of its newest snapshot makes it fail."""
    died(warehouse, r"branch-fix/snapshot/LATEST$", ACTION, name="fix")
    with pytest.raises(Exception, match="Expecting value"):
        add(with_branch, "shop.orders$branch_fix", 102)
    done(with_branch, "recover")
    assert branch_names(with_branch.files, ORDERS) == [] and verify(with_branch, ORDERS).problems == ()


def test_a_commit_that_was_under_way_stays_whole(with_branch: Context, warehouse: Path) -> None:
    """Its writer has read the newest snapshot before the branch was closed, and stood still since."""

    def commits() -> None:
        with_branch.files.replace(FIX.latest_hint, b"4")
        add(with_branch, "shop.orders$branch_fix", 102)
        close_before_removal(with_branch.files, FIX)

    outcome = done(context_on(warehouse, Meanwhile(with_branch.files, _DELETES, commits)), ACTION, name="fix")
    assert about("branch fix", "snapshot 5", "deleted").search(outcome.message)
    assert not about("lacks").search(outcome.message)
    assert [row["order_id"] for row in rows_of(with_branch, FIX)][-3:] == [100, 101, 102]
    assert Lineage(with_branch.files, FIX).snapshot_ids() == [5]
    assert planned(with_branch, "recover").empty and verify(with_branch, ORDERS).problems == ()


def test_a_tag_that_another_engine_made_since_keeps_the_branch(
    with_branch: Context, warehouse: Path, orders: Path
) -> None:
    died(warehouse, rf"STEP-\w+{_COMMITTED}$", ACTION, name="fix")
    newest = (orders / "branch/branch-fix/snapshot/snapshot-4").read_bytes()
    (orders / "branch/branch-fix/tag/tag-late").write_bytes(newest)
    done(with_branch, "recover")
    assert Lineage(with_branch.files, FIX).has_tag("late")
    assert verify(with_branch, ORDERS).problems == ()
