"""Queries after commits: the rows that a reader without a memory gives, of every snapshot and branch."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import REUSE
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, rows

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int32()), ("op", pa.string())])
SUMS = "SELECT count(*) AS c, sum(id) AS i, sum(n) AS n FROM {table}"
POINT = "SELECT n FROM {table} WHERE id IN (3, 700, 1999, 2001)"


def test_every_snapshot_reads_as_without_a_memory(engine: Engine, engine_warehouse: Path) -> None:
    name = "after.t"
    options = {"bucket": "2", "rowkind.field": "op"}
    create_table(engine_warehouse, name, SCHEMA, primary_keys=["id"], options=options)
    add(engine_warehouse, name, range(2_000), 1)
    tables = [name]
    found = {name: answers(engine, name)}
    for number, (ids, kind) in enumerate(
        [(range(0, 2_010, 700), "+I"), (range(3, 40), "-D"), (range(10, 20), "+I"), ([1_999], "-D")], 2
    ):
        add(engine_warehouse, name, ids, number, kind)
        found[f"{name} VERSION AS OF {number}"] = answers(engine, name)
        if number == 3:
            branch(engine_warehouse, "t")
    tables = [f"{name} VERSION AS OF 1", *list(found)[1:], "after.`t$branch_b`"]
    found[tables[0]] = found[name]
    found[tables[-1]] = answers(engine, tables[-1])
    assert found[tables[-1]] == found[f"{name} VERSION AS OF 3"]
    assert len({repr(each) for each in found.values()}) == 5
    assert ask(engine, f"SET {REUSE}=off").finish
    try:
        # Other names: nothing is known of them.
        database = engine_warehouse / "after.db"
        shutil.copytree(database / "t", database / "t_copied")
        for table in tables:
            assert (
                answers(
                    engine, table.replace("after.t", "after.t_copied").replace("after.`t", "after.`t_copied")
                )
                == found[table]
            )
    finally:
        assert ask(engine, f"RESET {REUSE}").finish


def add(warehouse: Path, name: str, ids: Sequence[int], number: int, kind: str = "+I") -> None:
    columns = [list(ids), [number] * len(ids), [kind] * len(ids)]
    commit(warehouse, name, pa.table(columns, schema=SCHEMA))


def branch(warehouse: Path, table: str) -> None:
    directory = warehouse / "after.db" / table
    for part in ("schema", "snapshot"):
        shutil.copytree(directory / part, directory / "branch" / "branch-b" / part)


def answers(engine: Engine, table: str) -> list[object]:
    """The rows of a point first: it must not stand in the way of the others."""
    return [rows(engine, sql.format(table=table)) for sql in (POINT + " ORDER BY n", SUMS)]
