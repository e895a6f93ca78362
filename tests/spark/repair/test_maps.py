"""Repairs and merges of tables with MAP columns: Spark compares their entries, in the order of their keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from tests.actions.acting import done, texts
from tests.interop.judge import Judge
from tests.spark.repair.repaired import Repaired
from tests.wording import about

SCHEMA = pa.schema([pa.field("k", pa.int32(), nullable=False), ("m", pa.map_(pa.string(), pa.int32()))])


def made(engine: Engine, warehouse: Path, judge: Judge, name: str, *keys: str) -> Repaired:
    options = {"bucket": "1"} if keys else {}
    return Repaired(engine, warehouse, judge, name, keys=keys, schema=SCHEMA, options=options)


def rows(t: Repaired) -> list[tuple[int, dict[str, int | None] | None]]:
    return [(k, None if m is None else dict(m)) for k, m in t.rows]


FIRST: list[Any] = [(1, {"a": 1, "b": 2}), (2, None), (3, {})]
INSERT = "INSERT INTO t VALUES (1, map('b', 2, 'a', 1)), (2, NULL), (3, map())"


@pytest.mark.long
def test_rows_with_a_key(engine: Engine, engine_warehouse: Path, judge: Judge, tmp_path: Path) -> None:
    t = made(engine, engine_warehouse, judge, "maps", "k")
    t.do(INSERT)
    done(t.context, "create-branch", table=t.table, name="fix", snapshot=1)
    # The same map, with its entries in another order, is no change.
    bad = t.do("INSERT INTO t VALUES (1, map('a', 1, 'b', 2)), (2, map('x', NULL)), (4, map('y', 1))")
    plan = t.repair("revert", snapshot=bad)
    goes, becomes = texts(plan, "loses")
    assert about("1 row goes", "k=4").search(goes)
    assert about("1 row", 'k=2: m {"x":null} -> NULL').search(becomes)
    assert rows(t) == FIRST
    t.undo()
    t.repair(
        "restore-rows", from_version="snapshot.1", where="m['y'] = 1 OR m['x'] IS NULL", on_conflict="then"
    )
    assert rows(t) == FIRST
    edit = tmp_path / "e.jsonl"
    edit.write_text(json.dumps({"key": {"k": 5}, "add": {}}))
    t.repair("edit-rows", file=str(edit))
    assert rows(t) == [*FIRST, (5, None)]
    t.do(f"UPDATE reverts.`{t.table.name}$branch_fix` SET m = map('z', 9) WHERE k = 1")
    done(t.context, "merge-branch", table=t.table, name="fix")
    assert rows(t) == [(1, {"z": 9}), *FIRST[1:], (5, None)]


@pytest.mark.long
def test_rows_without_a_key(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    t = made(engine, engine_warehouse, judge, "unkeyed_maps")
    t.do(INSERT)
    done(t.context, "create-branch", table=t.table, name="fix", snapshot=1)
    bad = t.do("UPDATE t SET m = map('x', 1) WHERE k = 1")
    assert texts(t.repair("revert", snapshot=bad), "loses", "affects")[:2] == [
        "1 row goes",
        "1 row comes back",
    ]
    assert rows(t) == FIRST
    t.undo()
    t.repair("restore-rows", from_version="snapshot.1", where="k < 3")
    assert rows(t) == FIRST
    fix = f"reverts.`{t.table.name}$branch_fix`"
    t.do(f"INSERT INTO {fix} VALUES (6, map('b', 1, 'a', NULL))", f"DELETE FROM {fix} WHERE k = 1")
    done(t.context, "merge-branch", table=t.table, name="fix", on_conflict="branch")
    assert rows(t) == [*FIRST[1:], (6, {"a": None, "b": 1})]


@pytest.mark.parametrize(
    "kind", [pa.map_(pa.float64(), pa.int32()), pa.list_(pa.map_(pa.string(), pa.int32()))]
)
def test_other_maps_are_refused(
    engine: Engine, engine_warehouse: Path, judge: Judge, kind: pa.DataType
) -> None:
    schema = pa.schema([SCHEMA.field("k"), ("m", kind)])
    name = f"odd_{'of' if pa.types.is_map(kind) else 'in'}"
    t = Repaired(engine, engine_warehouse, judge, name, keys=("k",), schema=schema, options={"bucket": "1"})
    t.do("INSERT INTO t VALUES (1, NULL)")
    [refusal] = t.plan("revert", snapshot=1).refusals
    assert about(t.name, "MAP column", "Spark").search(refusal.reason)
