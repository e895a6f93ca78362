"""After each kind of merge, stock Paimon reads the merged rows, and its clean-ups spare them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.change import driver
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Outcome
from paimark.core.actions.registry import action
from paimark.core.errors import Refused
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import done
from tests.conftest import EVENTS, ORDERS
from tests.interop.judge import Judge, comparable
from tests.paimon import commit

Row = dict[str, object]


def branched(context: Context, warehouse: Path, database: str, table: str = "orders") -> TablePath:
    """A copy of the template's table with branch `fix` at its newest snapshot."""
    shutil.copytree(warehouse / "shop.db" / table, warehouse / f"{database}.db" / table)
    path = TablePath(database, table)
    done(context, "create-tag", table=path, name="fork")
    done(context, "create-branch", table=path, name="fix", tag="fork")
    return path


def merged(context: Context, table: TablePath, on_conflict: str | None = None) -> Outcome:
    plan = action("merge-branch").plan(context, table, {"name": "fix", "on_conflict": on_conflict})
    assert plan.refusals == (), plan.refusals
    return driver.apply(context, plan, lambda line: None)


def is_done(context: Context, table: TablePath) -> bool:
    return action("merge-branch").plan(context, table, {"name": "fix"}).empty


def order(number: int, customer: str) -> Row:
    return {"order_id": number, "customer": customer, "price": 1.0}


def upsert(warehouse: Path, name: str, *rows: Row) -> None:
    commit(warehouse, name, pa.Table.from_pylist(list(rows), schema=ORDERS))


def cleaned(judge: Judge, warehouse: Path, main: str, branch: str) -> None:
    """Run all stock clean-ups. A compaction is a commit, after which a branch expires by its own options."""
    for name in (main, branch):
        judge.compact(warehouse, name)
    judge.expire(warehouse, main)
    for name in (main, branch):
        judge.clean_orphans(warehouse, name)


@pytest.mark.long
def test_main_goes_on_along_a_branch_that_it_did_not_leave(
    context: Context, engine_warehouse: Path, judge: Judge
) -> None:
    table = branched(context, engine_warehouse, "forward")
    name, fix = table.full_name, f"{table.full_name}$branch_fix"
    upsert(engine_warehouse, fix, order(1, "fixed"))
    upsert(engine_warehouse, fix, order(50, "new"))
    done(context, "create-tag", table=table, name="checked", branch="fix")
    wanted, before = judge.read(engine_warehouse, fix), judge.read(engine_warehouse, name)
    outcome = merged(context, table)
    assert (outcome.result["kind"], outcome.result["snapshot_id"]) == ("fast-forward", 7)
    assert judge.read(engine_warehouse, name) == judge.read(engine_warehouse, name, tag="checked") == wanted
    options = Lineage(context.files, table.root()).latest_schema()
    assert options is not None and "snapshot.num-retained.min" not in options.options
    assert is_done(context, table)
    cleaned(judge, engine_warehouse, name, fix)
    assert judge.read(engine_warehouse, name) == judge.read(engine_warehouse, fix) == wanted
    assert judge.read(engine_warehouse, name, tag="savepoint.1") == before
    # The next change of the branch is merged into a main that was compacted since.
    upsert(engine_warehouse, fix, order(51, "later"))
    assert merged(context, table).result["kind"] == "keyed"
    assert judge.read(engine_warehouse, name) == comparable([*wanted, order(51, "later")])
    judge.compact(engine_warehouse, name)
    assert is_done(context, table)


@pytest.mark.long
def test_a_branch_that_another_was_merged_into_is_read_by_stock(
    context: Context, engine_warehouse: Path, judge: Judge
) -> None:
    table = branched(context, engine_warehouse, "between")
    done(context, "create-branch", table=table, name="release", tag="fork")
    name, fix, release = table.full_name, f"{table.full_name}$branch_fix", f"{table.full_name}$branch_release"
    main = judge.read(engine_warehouse, name)
    upsert(engine_warehouse, fix, order(50, "new"))
    forward = done(context, "merge-branch", table=table, name="fix", into="release")
    assert forward.result["kind"] == "fast-forward"
    assert judge.read(engine_warehouse, release) == judge.read(engine_warehouse, fix)
    upsert(engine_warehouse, release, order(60, "of the release"))
    upsert(engine_warehouse, fix, order(51, "later"))
    assert done(context, "merge-branch", table=table, name="fix", into="release").result["kind"] == "keyed"
    wanted = comparable([*main, order(50, "new"), order(51, "later"), order(60, "of the release")])
    assert judge.read(engine_warehouse, release) == wanted
    for each in (fix, release):
        cleaned(judge, engine_warehouse, name, each)
    assert (judge.read(engine_warehouse, release), judge.read(engine_warehouse, name)) == (wanted, main)
    done(context, "merge-branch", table=table, name="release")
    # A compaction came to `fix` since, and main has all its rows.
    assert done(context, "merge-branch", table=table, name="fix").result["snapshot_id"] is None
    assert judge.read(engine_warehouse, name) == wanted


def test_rows_with_keys_are_merged_on_both_sides(
    context: Context, engine_warehouse: Path, judge: Judge
) -> None:
    table = branched(context, engine_warehouse, "keyed")
    name, fix = table.full_name, f"{table.full_name}$branch_fix"
    before = {row["order_id"]: row for row in judge.read(engine_warehouse, name)}
    upsert(
        engine_warehouse, fix, order(1, "branch"), order(2, "both"), order(3, "branch"), order(60, "added")
    )
    upsert(engine_warehouse, name, order(2, "both"), order(4, "main"), order(70, "added"))
    sides = {1: "branch", 2: "both", 3: "branch", 4: "main", 60: "added", 70: "added"}
    expected = comparable([*({**before, **{key: order(key, text) for key, text in sides.items()}}.values())])
    assert merged(context, table).result["kind"] == "keyed"
    assert judge.read(engine_warehouse, name) == expected
    judge.compact(engine_warehouse, name)
    assert is_done(context, table)
    # The branch changes two keys after that merge, and main one of them.
    upsert(engine_warehouse, fix, order(1, "again"), order(4, "theirs"))
    upsert(engine_warehouse, name, order(4, "ours"))
    plan = action("merge-branch").plan(context, table, {"name": "fix"})
    with pytest.raises(Refused, match=r'1 key changed in main and in branch fix.*"order_id":4'):
        driver.apply(context, plan, lambda line: None)
    assert "ACTION" not in context.files.names(f"{table.directory}/branch")
    merged(context, table, "main")
    found = {row["order_id"]: row["customer"] for row in judge.read(engine_warehouse, name)}
    assert (found[1], found[4], found[70]) == ("again", "ours", "added")
    of_branch = judge.read(engine_warehouse, fix)
    cleaned(judge, engine_warehouse, name, fix)
    assert {row["order_id"]: row["customer"] for row in judge.read(engine_warehouse, name)} == found
    assert judge.read(engine_warehouse, fix) == of_branch
    # The first savepoint was made right before the first merge.
    then = {**before, **{key: order(key, text) for key, text in {2: "both", 4: "main", 70: "added"}.items()}}
    assert judge.read(engine_warehouse, name, tag="savepoint.1") == comparable(then.values())


@pytest.mark.long
def test_rows_without_keys_are_added(context: Context, engine_warehouse: Path, judge: Judge) -> None:
    table = branched(context, engine_warehouse, "added", "events")
    name, fix = table.full_name, f"{table.full_name}$branch_fix"

    def added(where: str, kind: str) -> None:
        commit(engine_warehouse, where, pa.table({"day": ["2026-05-01"], "kind": [kind]}, schema=EVENTS))

    before = judge.read(engine_warehouse, name)
    # One new row equals an existing row, and must be added all the same.
    for kind in ("new", "click"):
        added(fix, kind)
    added(name, "main")
    outcome = merged(context, table)
    assert (outcome.result["kind"], outcome.result["snapshot_id"]) == ("append", 4)
    assert Lineage(context.files, table.root()).snapshot(4).commit_kind == "APPEND"
    day = "2026-05-01"
    wanted = comparable([*before, *({"day": day, "kind": kind} for kind in ("new", "click", "main"))])
    assert judge.read(engine_warehouse, name) == wanted
    assert is_done(context, table)
    of_branch = judge.read(engine_warehouse, fix)
    cleaned(judge, engine_warehouse, name, fix)
    assert merged(context, table).result["snapshot_id"] is None
    assert judge.read(engine_warehouse, name) == wanted
    assert judge.read(engine_warehouse, fix) == of_branch
    assert len(judge.read(engine_warehouse, name, tag="savepoint.1")) == len(before) + 1
    done(context, "rollback", table=table, to="savepoint.1")
    assert len(judge.read(engine_warehouse, name)) == len(before) + 1
    assert merged(context, table).result["kind"] == "append"
    assert judge.read(engine_warehouse, name) == wanted
    # After an undo and a second merge, no row comes twice.
    done(context, "undo", table=table)
    assert len(judge.read(engine_warehouse, name)) == len(before) + 1
    assert merged(context, table).result["kind"] == "append"
    cleaned(judge, engine_warehouse, name, fix)
    assert judge.read(engine_warehouse, name) == wanted


@pytest.mark.long
def test_a_column_that_a_merge_dropped_is_back_with_its_values(
    context: Context, engine_warehouse: Path, judge: Judge
) -> None:
    table = branched(context, engine_warehouse, "dropped")
    name, fix = table.full_name, f"{table.full_name}$branch_fix"
    done(context, "alter-branch-schema", table=table, branch="fix", drop="price")
    commit(engine_warehouse, fix, pa.table({"order_id": [1], "customer": ["fixed"]}))
    upsert(engine_warehouse, name, order(60, "main"))
    before = judge.read(engine_warehouse, name)
    done(context, "merge-branch", table=table, name="fix", drop_columns=True)
    assert judge.read(engine_warehouse, name) != before
    done(context, "undo", table=table)
    assert judge.read(engine_warehouse, name) == before
    cleaned(judge, engine_warehouse, name, fix)
    assert judge.read(engine_warehouse, name) == before
