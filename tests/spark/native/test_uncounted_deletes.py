"""pypaimon counts no deletes in the files it writes: all that read find them all the same.

Stock Paimon does where it merges such a file with others, and else shows them as rows.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import paimark
from paimark.core.spark.client.client import Engine
from tests.interop.judge import Judge
from tests.paimon import commit, create_table, read_rows
from tests.spark.datasource.test_table_options import set_options
from tests.spark.engine_fixture import ask, by_library, rows

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("op", pa.string())])


def by_python(warehouse: Path, name: str) -> list[int]:
    found = paimark.open(str(warehouse)).table(name).at().to_arrow(["id"])
    return sorted(found["id"].to_pylist())


def test_a_row_that_deletes_is_no_row(engine: Engine, engine_warehouse: Path) -> None:
    name = "deletes.uncounted"
    options = {"bucket": "1", "rowkind.field": "op"}
    create_table(engine_warehouse, name, SCHEMA, primary_keys=["id"], options=options)
    commit(engine_warehouse, name, pa.table([[1, 2, 3], ["+I", "-D", "+U"]], schema=SCHEMA))
    # The day pypaimon counts them, this and what the product does about it can go.
    assert [row["id"] for row in read_rows(engine_warehouse, name)] == [1, 2, 3]
    native = ask(engine, f"SELECT id FROM {name} ORDER BY id")
    assert [reading.scan for reading in native.readings] == ["native"]
    assert native.rows == [{"id": 1}, {"id": 3}]
    assert by_python(engine_warehouse, name) == [1, 3]
    assert rows(engine, f"SELECT count(*) AS n FROM {name}") == [{"n": 2}]


def test_a_row_that_deletes_deletes_still_when_stock_paimon_has_lifted_its_file(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    """A compaction of one file writes it anew only where deletes are counted in it."""
    name = "deletes.lifted"
    options = {"bucket": "1", "rowkind.field": "op", "sequence.field": "v"}
    schema = SCHEMA.append(pa.field("v", pa.int64()))
    create_table(engine_warehouse, name, schema, primary_keys=["id"], options=options)
    commit(engine_warehouse, name, pa.table([[1, 2], ["-D", "+I"], [5, 5]], schema=schema))
    judge.compact(engine_warehouse, name)
    assert rows(engine, f"SELECT id FROM {name}") == [{"id": 2}]
    assert by_python(engine_warehouse, name) == [2]
    assert sorted(row[0] for row in judge.rows(engine_warehouse, name)) == [1, 2]
    with by_library(engine):
        assert rows(engine, f"SELECT id FROM {name}") == [{"id": 2}]
        assert rows(engine, f"SELECT count(*) AS n FROM {name}") == [{"n": 1}]
        assert rows(engine, f"SELECT max(id) AS n, min(v) AS v FROM {name} WHERE id < 2") == [
            {"n": None, "v": None}
        ]
        assert rows(engine, f"SELECT op FROM {name} WHERE id = 1") == []
        assert rows(engine, f"SELECT id FROM {name} LIMIT 1") == [{"id": 2}]
    commit(engine_warehouse, name, pa.table([[1, 2], ["+I", "+I"], [4, 6]], schema=schema))
    assert [row[0] for row in judge.rows(engine_warehouse, name)] == [2]
    answer = ask(engine, f"SELECT id, v FROM {name}")
    assert [reading.scan for reading in answer.readings] == ["native"]
    assert answer.rows == [{"id": 2, "v": 6}]


def test_a_table_with_a_fallback_and_one_with_deletion_vectors(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    """Only Paimon's library reads them."""
    for number, more in enumerate(({"scan.fallback-branch": "b"}, {"deletion-vectors.enabled": "true"})):
        name = f"deletes.kind_{number}"
        options = {"bucket": "1", "rowkind.field": "op"}
        create_table(engine_warehouse, name, SCHEMA, primary_keys=["id"], options=options)
        commit(engine_warehouse, name, pa.table([[1, 2], ["-D", "+I"]], schema=SCHEMA))
        judge.create_tag(engine_warehouse, name, "one", 1)
        judge.create_branch(engine_warehouse, name, "b", "one")
        set_options(engine_warehouse, name, more)
        judge.compact(engine_warehouse, name)
        answer = ask(engine, f"SELECT id FROM {name}")
        assert [reading.scan for reading in answer.readings] == ["paimon library"]
        assert answer.rows == [{"id": 2}], more
