"""After each change of a schema, stock Paimon, pypaimon and our Spark agree on the rows; stock can write."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.spark.client.client import Engine
from paimark.core.table.definition.retention import RETENTION_OFF
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import applied, done, planned
from tests.interop.judge import Judge, Row, comparable
from tests.paimon import commit, create_table, read_rows
from tests.spark.engine_fixture import rows

RENAMED = {"orders": "customer TO client", "events": "kind TO sort"}
ALTER = "alter-branch-schema"
COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("count", pa.int32()),
        pa.field("weight", pa.float32()),
        pa.field("price", pa.decimal128(5, 2)),
        pa.field("note", pa.string()),
        pa.field("day", pa.string(), nullable=False),
    ]
)
# Each change with the columns, besides the keys, that stock writes after it.
CHANGES: tuple[tuple[Mapping[str, str], Row], ...] = (
    ({"add": "tag VARCHAR(3) COMMENT 'new' AFTER id, at TIMESTAMP_NTZ"}, {"tag": "abc", "note": "n"}),
    ({"rename": "note TO remark"}, {"remark": "r", "at": "2026-05-01 12:00:00.123456"}),
    (
        {"widen": "count BIGINT, weight DOUBLE, price DECIMAL(12, 2), tag VARCHAR(9)"},
        {"count": 1 << 40, "weight": 0.1, "price": "1234567890.12", "tag": "abcdefghi"},
    ),
    ({"drop": "remark, count"}, {"weight": 2.5}),
    ({"add": "count VARCHAR(5)", "set": "'write-buffer-size' = '64 mb'"}, {"count": "five"}),
)


@pytest.mark.parametrize(
    ("keyed", "branch"),
    [(True, "b"), pytest.param(False, None, marks=pytest.mark.long)],
    ids=["keyed", "append"],
)
def test_every_engine_follows_each_change(
    context: Context, engine: Engine, engine_warehouse: Path, judge: Judge, keyed: bool, branch: str | None
) -> None:
    table = TablePath("altered", f"t_{'keyed' if keyed else 'append'}_{branch}")
    create_table(
        engine_warehouse,
        table.full_name,
        COLUMNS,
        primary_keys=["day", "id"] if keyed else [],
        partition_keys=["day"],
        options={"bucket": "1"} if keyed else {},
    )
    first = [
        {"id": n, "count": n, "weight": 0.5, "price": Decimal("999.99"), "note": f"n{n}", "day": "1"}
        for n in range(3)
    ]
    commit(engine_warehouse, table.full_name, pa.Table.from_pylist(first, schema=COLUMNS))
    done(context, "create-tag", table=table, name="before")
    name, sql_name = table.full_name, table.full_name
    if branch is not None:
        done(context, "create-branch", table=table, name=branch, tag="before")
        name, sql_name = f"{name}$branch_{branch}", f"{table.database}.`{table.name}$branch_{branch}`"

    def assert_all_agree() -> list[Row]:
        read = judge.read(engine_warehouse, name)
        assert comparable(read_rows(engine_warehouse, name)) == read
        assert comparable(rows(engine, f"SELECT * FROM {sql_name}")) == read
        return read

    after = assert_all_agree()
    for number, (arguments, written) in enumerate(CHANGES, start=1):
        before = after
        done(context, ALTER, table=table, branch=branch, **arguments)
        assert len(assert_all_agree()) == len(before)
        # An existing key, whose row is replaced in a keyed table, and a new one.
        new = [{"id": key, "day": "1", **written} for key in (0, 10 + number)]
        judge.write(engine_warehouse, name, new)
        after = assert_all_agree()
        assert len(after) == len(before) + (1 if keyed else 2)
        expected = comparable([{**dict.fromkeys(after[0]), **row} for row in new])
        assert all(_plain(row) in map(_plain, after) for row in expected)
    judge.compact(engine_warehouse, name)
    assert assert_all_agree() == after
    # An earlier version is read with its own schema.
    then = rows(engine, f"SELECT * FROM {table.full_name} VERSION AS OF 'before'")
    assert (
        comparable(then) == comparable(first) == judge.read(engine_warehouse, table.full_name, tag="before")
    )
    schema = Lineage(context.files, table.root(branch)).latest_schema()
    assert schema is not None and schema.id == len(CHANGES)
    assert (RETENTION_OFF.items() <= schema.options.items()) == (branch is not None)


def _plain(row: Row) -> dict[str, str]:
    return {name: str(value).removesuffix(".000") for name, value in row.items()}


@pytest.mark.parametrize(
    ("table", "altered"),
    [
        ("orders", ("fix",)),
        pytest.param("orders", (None,), marks=pytest.mark.long),
        pytest.param("events", ("fix", None), marks=pytest.mark.long),
    ],
)
def test_a_merge_goes_on_with_the_definition_that_one_side_or_both_alike_came_to(
    context: Context, engine_warehouse: Path, judge: Judge, table: str, altered: tuple[str | None, ...]
) -> None:
    database = f"merged_{table}_{'_'.join(map(str, altered))}"
    shutil.copytree(engine_warehouse / "shop.db" / table, engine_warehouse / f"{database}.db" / table)
    path = TablePath(database, table)
    name, fix = path.full_name, f"{path.full_name}$branch_fix"
    done(context, "create-tag", table=path, name="fork")
    done(context, "create-branch", table=path, name="fix", tag="fork")
    for branch in altered:
        done(context, ALTER, table=path, branch=branch, add="note STRING", rename=RENAMED[table])
    key = "order_id" if table == "orders" else "day"
    for side, number in ((fix, 50), (name, 60)):
        columns = judge.read(engine_warehouse, side)[0].keys()
        row = {column: "x" for column in columns if column in ("note", "kind", "sort", "customer", "client")}
        judge.write(engine_warehouse, side, [{**row, key: number if table == "orders" else str(number)}])
    before = judge.read(engine_warehouse, name)
    plan = planned(context, "merge-branch", table=path, name="fix")
    assert plan.refusals == (), plan.refusals
    applied(context, plan)
    merged = judge.read(engine_warehouse, name)
    assert comparable(read_rows(engine_warehouse, name)) == merged
    assert len(merged) == len(before) + 1
    assert set(merged[0]) == {*before[0], "note", *RENAMED[table].split(" TO ")[1:]} - {
        RENAMED[table].split(" TO ")[0]
    }
    [new] = [row for row in merged if str(row[key]) == "50"]
    assert new["note"] == ("x" if "fix" in altered else None)
