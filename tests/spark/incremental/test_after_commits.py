"""Queries after commits: the rows that a reader without a memory gives, of every snapshot and branch."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from core.spark.client.client import Engine
from core.spark.launch.session_settings import REUSE
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, rows

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int32()), ("op", pa.string())])
NAME = "after.commits"
SUMS = "SELECT count(*) AS c, sum(id) AS i, sum(n) AS n FROM {table}"
POINT = "SELECT n FROM {table} WHERE id IN (3, 700, 1999, 2001)"


def test_every_snapshot_reads_as_without_a_memory(engine: Engine, engine_warehouse: Path) -> None:
    options = {"bucket": "2", "rowkind.field": "op"}
    create_table(engine_warehouse, NAME, SCHEMA, primary_keys=["id"], options=options)
    add(engine_warehouse, range(2_000), 1)
    tables = [NAME]
    found = {NAME: asked(engine, NAME)}
    for number, (ids, kind) in enumerate(
        [(range(0, 2_010, 700), "+I"), (range(3, 40), "-D"), (range(10, 20), "+I"), ([1_999], "-D")], 2
    ):
        add(engine_warehouse, ids, number, kind)
        found[f"{NAME} VERSION AS OF {number}"] = asked(engine, NAME)
        if number == 3:
            branch(engine_warehouse)
    tables = [f"{NAME} VERSION AS OF 1", *list(found)[1:], "after.`commits$branch_b`"]
    found[tables[0]] = found[NAME]
    found[tables[-1]] = asked(engine, tables[-1])
    assert found[tables[-1]] == found[f"{NAME} VERSION AS OF 3"]
    assert len({repr(each) for each in found.values()}) == 5
    assert ask(engine, f"SET {REUSE}=off").finish
    try:
        # Other names: nothing is known of them.
        shutil.copytree(engine_warehouse / "after.db" / "commits", engine_warehouse / "after.db" / "copied")
        for table in tables:
            assert asked(engine, table.replace("commits", "copied")) == found[table]
    finally:
        assert ask(engine, f"RESET {REUSE}").finish


def add(warehouse: Path, ids: Sequence[int], number: int, kind: str = "+I") -> None:
    columns = [list(ids), [number] * len(ids), [kind] * len(ids)]
    commit(warehouse, NAME, pa.table(columns, schema=SCHEMA))


def branch(warehouse: Path) -> None:
    directory = warehouse / "after.db" / "commits"
    for part in ("schema", "snapshot"):
        shutil.copytree(directory / part, directory / "branch" / "branch-b" / part)


def asked(engine: Engine, table: str) -> list[object]:
    """The rows of a point first: it must not stand in the way of the others."""
    return [rows(engine, sql.format(table=table)) for sql in (POINT + " ORDER BY n", SUMS)]
