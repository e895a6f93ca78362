"""A fast-forward dies half-way, another engine deletes its branch, and only then somebody recovers."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.merge import history
from paimark.core.cli.main import run
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.operations import read_operations
from paimark.core.table.records import is_apart, point_of
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, applied, done, planned, replace_rows
from tests.actions.taking_over import add, main_rows, rows_of
from tests.actions.test_late_recovery import died, expired
from tests.interop.judge import Judge
from tests.paimon import open_table
from tests.wording import about

MAIN = ORDERS.root()


@pytest.fixture
def ahead(context: Context) -> Context:
    """Branch `fix` has two commits, snapshots 6 and 7, on main's newest, which is 5."""
    done(context, "create-tag", name="now")
    done(context, "create-branch", name="fix", tag="now")
    for number in (900, 901):
        add(context, "shop.orders$branch_fix", number)
    return context


def delete_branch(orders: Path, *, anew: bool) -> None:
    """As a stock engine does: without looking at our lock. `anew`: another gets its name, and commits."""
    shutil.rmtree(orders / "branch/branch-fix")
    if anew:
        warehouse = orders.parent.parent
        open_table(warehouse, "shop.orders").branch_manager().create_branch("fix", "now")
        for number in (950, 951):
            add_to_branch(warehouse, number)
        open_table(warehouse, "shop.orders$branch_fix").create_tag("foreign", 6)


def add_to_branch(warehouse: Path, number: int) -> None:
    from tests.actions.acting import context_on

    add(context_on(warehouse), "shop.orders$branch_fix", number)


def recovered(context: Context) -> list[str]:
    lines: list[str] = []
    lines.append(applied(context, planned(context, "recover"), lines).message)
    return lines


@pytest.mark.parametrize("anew", [False, True])
def test_main_keeps_what_it_had_of_a_branch_that_is_gone(
    ahead: Context, warehouse: Path, orders: Path, anew: bool
) -> None:
    died(warehouse, r"orders/snapshot/snapshot-6$", "merge-branch", name="fix")
    merged = Lineage(ahead.files, MAIN).snapshot(6)
    delete_branch(orders, anew=anew)
    done(ahead, "recover")
    assert Lineage(ahead.files, MAIN).snapshot_ids()[-1] == 6
    assert {900} == {row["order_id"] for row in main_rows(ahead)} & {900, 901, 950, 951}
    [event] = history.events(ahead.files, ORDERS)
    assert event.head == event.main == point_of(merged)
    tags = dict(Lineage(ahead.files, MAIN).tags())
    assert tags["paimark.merge.fix.6"].delta_manifest_list == merged.delta_manifest_list
    assert "paimark.merge.fix.7" not in tags and "foreign" not in tags
    operation = read_operations(ahead.files, ORDERS)[-1]
    assert about("snapshot 6", "another engine", "deleted").search(operation.summary)
    assert planned(ahead, "recover").empty and verify(ahead, ORDERS).problems == ()
    assert planned(ahead, "undo").refusals == ()


@pytest.mark.parametrize("anew", [False, True])
def test_main_that_went_on_from_a_branch_that_is_gone_stays_as_it_is(
    ahead: Context, warehouse: Path, orders: Path, anew: bool
) -> None:
    """A job committed on the first of the branch's snapshots, and that expired."""
    died(warehouse, r"orders/snapshot/snapshot-7$", "merge-branch", name="fix")
    delete_branch(orders, anew=anew)
    add(ahead, "shop.orders", 990)
    rows = main_rows(ahead)
    shutil.rmtree(orders / "consumer")
    expired(orders, 1, 2, 3, 4, 5, 6)
    done(ahead, "recover")
    assert main_rows(ahead) == rows and {900, 901, 990} <= {row["order_id"] for row in rows}
    [event] = history.events(ahead.files, ORDERS)
    assert event.main.id == 7
    assert planned(ahead, "recover").empty


@pytest.mark.parametrize("anew", [False, True])
def test_nothing_was_merged_of_a_branch_that_went_before_its_first_snapshot_came(
    ahead: Context, warehouse: Path, orders: Path, anew: bool
) -> None:
    died(warehouse, r"tag-paimark\.merge\.fix\.7$", "merge-branch", name="fix")
    delete_branch(orders, anew=anew)
    add(ahead, "shop.orders", 990)
    rows = main_rows(ahead)
    done(ahead, "recover")
    assert main_rows(ahead) == rows
    assert history.events(ahead.files, ORDERS) == []
    assert not any(name.startswith("paimark.merge") for name in Lineage(ahead.files, MAIN).tag_names())
    assert planned(ahead, "recover").empty


def test_tags_of_another_branch_of_the_name_do_not_come_to_main(
    ahead: Context, warehouse: Path, orders: Path
) -> None:
    """The merge is noted as committed, and its end is still to come."""
    died(warehouse, r"orders/snapshot/LATEST$", "merge-branch", name="fix")
    delete_branch(orders, anew=True)
    done(ahead, "recover")
    assert "foreign" not in Lineage(ahead.files, MAIN).tag_names()
    assert Lineage(ahead.files, MAIN).snapshot_ids()[-1] == 7
    assert verify(ahead, ORDERS).problems == ()


def tags_of_main(context: Context) -> dict[str, bool]:
    """Main's tags of snapshots that came after the fork, with whether they prove a common past."""
    return {name: not is_apart(tag) for name, tag in Lineage(context.files, MAIN).tags() if tag.id > 5}


def test_tags_of_the_branch_are_in_main_before_its_snapshots_are(
    ahead: Context, warehouse: Path, orders: Path
) -> None:
    """Else an expiry of main deletes files of a savepoint, if the merge died and its consumer expired."""
    done(ahead, "create-savepoint", branch="fix", snapshot=6)
    done(ahead, "create-tag", branch="fix", name="mine", snapshot=7)
    died(warehouse, r"orders/snapshot/snapshot-6$", "merge-branch", name="fix")
    assert tags_of_main(ahead).keys() == {"savepoint.1", "mine", "paimark.merge.fix.7"}
    delete_branch(orders, anew=False)
    done(ahead, "recover")
    assert tags_of_main(ahead) == {"savepoint.1": True, "paimark.merge.fix.6": True, "mine": False}
    assert verify(ahead, ORDERS).problems == ()


def test_tags_go_from_main_again_if_no_snapshot_came(ahead: Context, warehouse: Path) -> None:
    done(ahead, "create-tag", branch="fix", name="mine", snapshot=6)
    died(warehouse, r"orders/tag/tag-mine$", "merge-branch", name="fix")
    assert tags_of_main(ahead) == {"mine": True}
    done(ahead, "recover")
    assert tags_of_main(ahead) == {}
    add(ahead, "shop.orders", 990)
    assert planned(ahead, "merge-branch", name="fix").arguments["kind"] == "keyed"


def test_a_tag_made_during_the_merge_is_in_main_too(ahead: Context, warehouse: Path) -> None:
    """The merge may have listed the branch's tags before, and die when main has the snapshot."""
    died(warehouse, r"tag-paimark\.merge\.fix\.7$", "merge-branch", name="fix")
    done(ahead, "create-savepoint", branch="fix", snapshot=6)
    assert tags_of_main(ahead) == {"paimark.merge.fix.7": True, "savepoint.2": False}
    done(ahead, "recover")
    assert tags_of_main(ahead) == {"savepoint.2": False}
    done(ahead, "merge-branch", name="fix")
    assert tags_of_main(ahead) == {"savepoint.2": True, "paimark.merge.fix.7": True}
    assert verify(ahead, ORDERS).problems == ()


def test_a_savepoint_outlives_a_dead_merge_its_consumer_and_an_expiry(
    ahead: Context, warehouse: Path, orders: Path, judge: Judge
) -> None:
    """Main has the branch's snapshots, nobody recovers for an hour, and stock Paimon expires them."""
    done(ahead, "create-savepoint", branch="fix")
    replace_rows(warehouse, "$branch_fix")
    died(warehouse, r"orders/snapshot/snapshot-8$", "merge-branch", name="fix")
    shutil.rmtree(orders / "consumer")
    replace_rows(warehouse)
    assert judge.expire(warehouse, "shop.orders") == 8
    assert hurt(ahead) <= {"snapshot 6 of fix"}
    done(ahead, "recover", assume="committed")
    assert hurt(ahead) <= {"snapshot 6 of fix"}


def hurt(context: Context) -> set[str]:
    """What lacks files. Snapshots that no tag holds may: the plan of a fast-forward warns of that."""
    return {each for problem in verify(context, ORDERS).problems for each in problem.needed_by}


def test_what_stock_expires_on_main_is_no_loss_of_the_branch(
    ahead: Context, warehouse: Path, judge: Judge, capsys: pytest.CaptureFixture[str]
) -> None:
    """They share snapshots after a fast-forward; main's expiry takes files of the branch's, and no rows."""
    done(ahead, "merge-branch", name="fix")
    add(ahead, "shop.orders", 902)
    before = rows_of(ahead, ORDERS.root("fix"))
    judge.expire(warehouse, "shop.orders")
    report = verify(ahead, ORDERS)
    [expired] = report.expired
    assert report.is_whole and about("snapshot 6", "fix", "read", "main").search(str(expired))
    at = ["--warehouse", str(warehouse)]
    assert run(["doctor", "shop.orders", *at, "--output", "json"]) == 0
    assert expired.heal in capsys.readouterr().out
    assert run([*shlex.split(expired.heal)[1:], *at, "--yes"]) == 0
    report = verify(ahead, ORDERS)
    assert report.is_whole and report.expired == ()
    assert rows_of(ahead, ORDERS.root("fix")) == before


def test_a_file_that_the_newest_needs_too_is_missing(
    ahead: Context, orders: Path, warehouse: Path, judge: Judge
) -> None:
    done(ahead, "merge-branch", name="fix")
    add(ahead, "shop.orders", 902)
    judge.expire(warehouse, "shop.orders")
    newest = Lineage(ahead.files, ORDERS.root("fix")).snapshot(7)
    (orders / "manifest" / newest.base_manifest_list).unlink()
    report = verify(ahead, ORDERS)
    assert not report.is_whole and report.expired
