"""What a merge does to every combination of changes on both sides, and what stops it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from paimark.core.actions.change import driver
from paimark.core.actions.context import Context
from paimark.core.actions.merge.divergence import find_divergence
from paimark.core.actions.merge.history import MergeEvent, record
from paimark.core.actions.merge.rows import keyed_queries, versions_of, where_changed
from paimark.core.actions.plan import Outcome
from paimark.core.actions.registry import action
from paimark.core.actions.rewrite.spark_rewrite import run_query
from paimark.core.errors import NotFound, Refused, UsageError
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import point_of
from tests.actions.acting import (
    EVENTS,
    ORDERS,
    NoWrites,
    applied,
    codes,
    context_on,
    done,
    item,
    planned,
)
from tests.actions.taking_over import add, branched, main_rows, rows_of
from tests.conftest import EVENTS as EVENTS_SCHEMA
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit, create_table, open_table, read_rows
from tests.wording import about

KEYED = pa.schema(
    [
        pa.field("part", pa.int32(), nullable=False),
        pa.field("key", pa.int64(), nullable=False),
        pa.field("value", pa.string()),
    ]
)


def state_of(warehouse: Path, name: str) -> dict[int, str]:
    return {row["key"]: row["value"] or "" for row in read_rows(warehouse, name)}


def merged(context: Context, table: TablePath, choice: str = "fail") -> Outcome:
    plan = action("merge-branch").plan(context, table, {"name": "fix", "on_conflict": choice})
    assert plan.refusals == (), plan.refusals
    return applied(context, plan)


@pytest.mark.long
def test_a_branch_without_keys_that_removed_rows_is_merged_only_when_told(
    with_engine: Context, engine_warehouse: Path
) -> None:
    shutil.copytree(engine_warehouse / "shop.db" / "events", engine_warehouse / "removed.db" / "events")
    table, name = TablePath("removed", "events"), "removed.events"
    done(with_engine, "create-tag", table=table, name="fork")
    done(with_engine, "create-branch", table=table, name="fix", tag="fork")
    branch = open_table(engine_warehouse, f"{name}$branch_fix")
    builder = branch.new_batch_write_builder().overwrite({"day": "2026-05-02"})
    write, committing = builder.new_write(), builder.new_commit()
    write.write_arrow(pa.table({"day": ["2026-05-02"], "kind": ["only"]}, schema=EVENTS_SCHEMA))
    committing.commit(write.prepare_commit())
    commit(engine_warehouse, name, pa.table({"day": ["2026-05-02"], "kind": ["main"]}, schema=EVENTS_SCHEMA))
    for choice in ("fail", "main"):
        with pytest.raises(Refused, match="also removed 3 rows"):
            merged(with_engine, table, choice)
    merged(with_engine, table, "branch")
    second = sorted(row["kind"] for row in read_rows(engine_warehouse, name) if row["day"] == "2026-05-02")
    assert second == ["main", "only"]
    assert len(read_rows(engine_warehouse, name)) == 5


@pytest.fixture
def fix(context: Context) -> TablePath:
    """`shop.orders` with branch `fix` at main's head."""
    done(context, "create-tag", name="fork")
    done(context, "create-branch", name="fix", tag="fork")
    return ORDERS


def one_row(key: int) -> pa.Table:
    return pa.table({"order_id": [key], "customer": ["x"], "price": [1.0]}, schema=ORDERS_SCHEMA)


def changed_schema(root: Path, number: int, **options: str) -> None:
    """A newer definition, as an engine makes it of the newest."""
    newest = msgspec.json.decode((root / f"schema/schema-{number - 1}").read_bytes())
    fields = [*newest["fields"], {"id": 3, "name": "note", "type": "STRING"}]
    changed = {**newest, "id": number, "fields": fields, "highestFieldId": 3}
    changed["options"] = {**newest["options"], **options}
    (root / f"schema/schema-{number}").write_bytes(msgspec.json.encode(changed))


def reasons(context: Context, table: TablePath = ORDERS, choice: str = "fail") -> str:
    plan = action("merge-branch").plan(context, table, {"name": "fix", "on_conflict": choice})
    return " | ".join(each.reason for each in plan.refusals)


def test_a_plan_reads_only_and_tells_the_kind(context: Context, warehouse: Path, fix: TablePath) -> None:
    watched = context_on(warehouse, NoWrites(context.files))
    assert action("merge-branch").plan(watched, fix, {"name": "fix"}).empty
    commit(warehouse, "shop.orders$branch_fix", one_row(9))
    plan = action("merge-branch").plan(watched, fix, {"name": "fix"})
    assert about("move main", "shop.orders", "along branch fix", "1 commit").search(plan.headline)
    assert (codes(plan), plan.ask.kind) == ([], "none")
    commit(warehouse, "shop.orders", one_row(8))
    plan = action("merge-branch").plan(watched, fix, {"name": "fix"})
    assert plan.arguments["kind"] == "keyed"
    assert about("merge 1 commit", "branch fix", "into main", "shop.orders").search(plan.headline)
    assert codes(plan) == ["conflicts-unknown"]
    assert about("rows", "keys", "one commit").search(plan.steps[-1].detail)
    assert plan.undo == "paimark undo shop.orders" and about("main", "commit").search(plan.until)


def test_main_follows_the_branch_to_its_schema(context: Context, orders: Path, fix: TablePath) -> None:
    changed_schema(orders / "branch/branch-fix", 1)
    commit(orders.parents[1], "shop.orders$branch_fix", pa.table({**one_row(9).to_pydict(), "note": ["n"]}))
    done(context, "merge-branch", name="fix")
    schema = Lineage(context.files, ORDERS.root()).latest_schema()
    assert schema is not None
    assert [field.name for field in schema.fields] == ["order_id", "customer", "price", "note"]
    assert "snapshot.num-retained.max" not in schema.options
    assert {"order_id": 9, "customer": "x", "price": 1.0, "note": "n"} in read_rows(
        orders.parents[1], "shop.orders"
    )


def test_definitions_that_both_sides_changed_are_refused(
    context: Context, orders: Path, fix: TablePath
) -> None:
    changed_schema(orders / "branch/branch-fix", 1)
    changed_schema(orders, 1, comment="another")
    commit(orders.parents[1], "shop.orders$branch_fix", pa.table({**one_row(9).to_pydict(), "note": ["n"]}))
    assert about("schema 1 of branch fix", "schema 1 of main", "shop.orders").search(reasons(context))


def test_tags_of_one_name_at_two_snapshots_are_listed(
    context: Context, warehouse: Path, fix: TablePath
) -> None:
    commit(warehouse, "shop.orders$branch_fix", one_row(9))
    done(context, "create-tag", name="same", branch="fix")
    done(context, "create-tag", name="same")
    assert about("branch fix", "tags", "different snapshots", "same").search(reasons(context))


def test_what_can_not_be_merged_is_refused_by_name(context: Context, orders: Path, fix: TablePath) -> None:
    with pytest.raises(NotFound):
        action("merge-branch").plan(context, ORDERS, {"name": "nothing"})
    with pytest.raises(UsageError):
        action("merge-branch").plan(context, ORDERS, {"name": "fix", "on_conflict": "ours"})
    with pytest.raises(Refused, match=about("main", "shop.orders")):
        action("merge-branch").plan(context, ORDERS, {"name": "main"})
    for name in ("shop.orders$branch_fix", "shop.orders"):
        commit(orders.parents[1], name, one_row(9))
    for root in (orders, orders / "branch/branch-fix"):
        schema = msgspec.json.decode((root / "schema/schema-0").read_bytes())
        schema["options"]["merge-engine"] = "partial-update"
        (root / "schema/schema-0").write_bytes(msgspec.json.encode(schema))
    assert about("merges", "partial-update").search(reasons(context))


def test_nothing_is_merged_when_a_side_moved_since_the_plan(
    context: Context, warehouse: Path, fix: TablePath
) -> None:
    commit(warehouse, "shop.orders$branch_fix", one_row(9))
    for name in ("shop.orders$branch_fix", "shop.orders"):
        plan = action("merge-branch").plan(context, ORDERS, {"name": "fix"})
        commit(warehouse, name, one_row(8))
        with pytest.raises(Refused, match=about("shop.orders", "plan")):
            driver.apply(context, plan, lambda line: None)
    assert Lineage(context.files, ORDERS.root()).latest_id() == 6


@pytest.mark.long
def test_rows_deleted_by_their_kind_column_leave_main(with_engine: Context, engine_warehouse: Path) -> None:
    """pypaimon deletes rows only by that column; Avro is what Spark's own readers leave to it."""
    table, name = TablePath("kinds", "t"), "kinds.t"
    fields = [*KEYED, pa.field("kind", pa.string())]
    create_table(
        engine_warehouse,
        name,
        pa.schema(fields),
        primary_keys=["part", "key"],
        partition_keys=["part"],
        options={"bucket": "1", "rowkind.field": "kind", "file.format": "avro"},
    )

    def write(where: str, *rows: tuple[int, str, str]) -> None:
        records = [{"part": key % 2, "key": key, "value": text, "kind": kind} for key, text, kind in rows]
        commit(engine_warehouse, where, pa.Table.from_pylist(records, schema=pa.schema(fields)))

    write(name, *((key, "base", "+I") for key in range(6)))
    done(with_engine, "create-tag", table=table, name="fork")
    done(with_engine, "create-branch", table=table, name="fix", tag="fork")
    write(f"{name}$branch_fix", (0, "base", "-D"), (1, "base", "-D"), (2, "fixed", "+U"))
    write(name, (1, "base", "-D"), (3, "main", "+U"), (5, "base", "-D"))
    merged(with_engine, table)
    assert state_of(engine_warehouse, name) == {2: "fixed", 3: "main", 4: "base"}
    assert action("merge-branch").plan(with_engine, table, {"name": "fix"}).empty


def in_partitions(context: Context, warehouse: Path, name: str, *, rows: int = 6) -> list[Path]:
    """Branch `fix` changed one of three partitions and main the next: the directories of the two others."""
    keys = ["part", "key"]
    create_table(warehouse, name, KEYED, primary_keys=keys, partition_keys=["part"], options={"bucket": "1"})

    def write(where: str, *rows: tuple[int, str]) -> None:
        records = [{"part": key % 3, "key": key, "value": text} for key, text in rows]
        commit(warehouse, where, pa.Table.from_pylist(records, schema=KEYED))

    table = TablePath(*name.split("."))
    write(name, *((key, "base") for key in (*range(6), *range(6, rows, 3))))
    done(context, "create-tag", table=table, name="fork")
    done(context, "create-branch", table=table, name="fix", tag="fork")
    write(f"{name}$branch_fix", (1, "fixed"))
    write(name, (2, "main"), (4, "main"))
    return [warehouse / table.directory / f"part={number}" for number in (0, 2)]


@contextmanager
def moved_away(directories: list[Path], elsewhere: Path) -> Iterator[None]:
    for each in directories:
        shutil.move(each, elsewhere / each.name)
    yield
    for each in directories:
        shutil.move(elsewhere / each.name, each)


def test_only_partitions_that_the_branch_changed_are_asked_what_comes_of_it(
    with_engine: Context, engine_warehouse: Path, tmp_path: Path
) -> None:
    table = TablePath("scoped", "few")
    untouched = in_partitions(with_engine, engine_warehouse, table.full_name)
    divergence = find_divergence(with_engine.files, table, "fix")
    assert where_changed(with_engine.files, divergence) == " WHERE `part` IN (1)"
    versions = versions_of(divergence)
    sql = keyed_queries(with_engine, divergence).upserts(takes_all=False)
    with moved_away(untouched, tmp_path):
        found = run_query(with_engine, divergence.target, versions, sql, with_engine.progress)
    assert [row["value"] for row in found] == ["fixed"]


@pytest.mark.long
def test_partitions_that_the_branch_left_alone_are_not_read(
    with_engine: Context, engine_warehouse: Path, tmp_path: Path
) -> None:
    table = TablePath("scoped", "many")
    # So many that Spark writes what comes of it, and not the engine by itself.
    untouched = in_partitions(with_engine, engine_warehouse, table.full_name, rows=300_000)
    with moved_away(untouched, tmp_path):
        merged(with_engine, table)
    expected = {0: "base", 1: "fixed", 2: "main", 3: "base", 4: "main", 5: "base"}
    rows_by_key = state_of(engine_warehouse, table.full_name)
    assert {key: rows_by_key[key] for key in range(6)} == expected
    assert len(rows_by_key) == 100_004


def test_the_partitions_a_branch_changed_are_told_by_their_files(context: Context, warehouse: Path) -> None:
    days = ["2026-05-02", "it's \\ odd"]
    done(context, "create-tag", table=EVENTS, name="fork")
    done(context, "create-branch", table=EVENTS, name="fix", tag="fork")
    for day in days:
        commit(
            warehouse, "shop.events$branch_fix", pa.table({"day": [day], "kind": ["x"]}, schema=EVENTS_SCHEMA)
        )
    assert where_changed(context.files, find_divergence(context.files, EVENTS, "fix")) == (
        " WHERE `day` IN ('2026-05-02', 'it\\'s \\\\ odd')"
    )
    more = [f"2026-06-{number}" for number in range(10, 21)]
    commit(warehouse, "shop.events$branch_fix", pa.table({"day": more, "kind": more}, schema=EVENTS_SCHEMA))
    where = where_changed(context.files, find_divergence(context.files, EVENTS, "fix"))
    # Of so many Spark makes a set, by which no file is passed over.
    assert where.endswith(" AND `day` BETWEEN '2026-05-02' AND 'it\\'s \\\\ odd'")
    nothing = pa.table({"day": [None], "kind": ["x"]}, schema=EVENTS_SCHEMA)
    commit(warehouse, "shop.events$branch_fix", nothing)
    assert where_changed(context.files, find_divergence(context.files, EVENTS, "fix")) == ""


def test_a_branch_that_expired_what_main_went_on_along_is_merged_again(
    context: Context, orders: Path
) -> None:
    """Main pinned it, and the plan said that an expiry on one side takes files of the other."""
    done(context, "create-tag", name="fork")
    root = branched(context, tag="fork")
    add(context, "shop.orders$branch_fix", 101)
    plan = planned(context, "merge-branch", name="fix")
    assert about("expiry", "files", "snapshot 6").search(item(plan, "shared-commits").text)
    done(context, "merge-branch", name="fix")
    add(context, "shop.orders$branch_fix", 102)
    for number in (6, 7):
        (orders / f"branch/branch-fix/snapshot/snapshot-{number}").unlink()
    assert planned(context, "merge-branch", name="fix").refusals == ()
    done(context, "merge-branch", name="fix")
    assert main_rows(context) == rows_of(context, root)


@pytest.mark.parametrize("later", [False, True])
def test_another_branch_of_the_name_has_its_own_fork(context: Context, orders: Path, later: bool) -> None:
    """Main went on along the first, which was deleted; the second has fewer snapshots than that had."""
    done(context, "create-tag", name="fork")
    branched(context, tag="fork")
    add(context, "shop.orders$branch_fix", 101)
    done(context, "merge-branch", name="fix")
    done(context, "delete-branch", name="fix")
    if later:
        add(context, "shop.orders", 300)
    branched(context, tag="v2", order_id=200)
    divergence = find_divergence(context.files, ORDERS, "fix")
    assert (divergence.base.id, divergence.main_base.id, divergence.kind) == (2, 2, "keyed")
    for number in (1, 2, 3, 4, 5):
        (orders / f"snapshot/snapshot-{number}").unlink()
    (orders / "snapshot/EARLIEST").unlink(missing_ok=True)
    # Nothing tells any more whether main has it.
    with pytest.raises(Refused, match=r"Snapshot 7 of branch fix of .* is gone"):
        find_divergence(context.files, ORDERS, "fix")


def test_another_branch_of_the_name_has_nothing_of_a_merge_that_was_taken_back(
    context: Context, orders: Path
) -> None:
    """It was made of what main had before: what it shares with that is none of its doing."""
    done(context, "create-tag", name="fork")
    branched(context, tag="fork")
    done(context, "merge-branch", name="fix")
    add(context, "shop.orders", 300)
    then, now = (point_of(Lineage(context.files, ORDERS.root()).snapshot(number)) for number in (5, 7))
    record(context.files, ORDERS, MergeEvent(kind="rollback", main=now, to=5, then=then))
    assert find_divergence(context.files, ORDERS, "fix").base.id == 5
    done(context, "delete-branch", name="fix")
    done(context, "create-tag", name="before", snapshot=6)
    branched(context, tag="before", order_id=200)
    divergence = find_divergence(context.files, ORDERS, "fix")
    assert (divergence.base.id, divergence.main_base.id, divergence.kind) == (6, 6, "keyed")
    # The first one would look like that, had it expired its past and lost its tag.
    (orders / "branch/branch-fix/tag/tag-before").unlink()
    with pytest.raises(Refused, match=r"Snapshot 5 of branch fix of .* is gone"):
        find_divergence(context.files, ORDERS, "fix")
