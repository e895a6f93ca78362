"""pypaimon counts no deletes in the files it writes: both ways of reading find them all the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from core.spark.client import Engine
from core.spark.session_settings import SCAN
from tests.paimon import commit, create_table, read_rows
from tests.spark.engine_fixture import ask, rows

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("op", pa.string())])


def test_a_row_that_deletes_is_no_row(engine: Engine, engine_warehouse: Path) -> None:
    name = "deletes.uncounted"
    options = {"bucket": "1", "rowkind.field": "op"}
    create_table(engine_warehouse, name, SCHEMA, primary_keys=["id"], options=options)
    commit(engine_warehouse, name, pa.table([[1, 2, 3], ["+I", "-D", "+U"]], schema=SCHEMA))
    # The day pypaimon counts them, this and what the product does about it can go.
    assert [row["id"] for row in read_rows(engine_warehouse, name)] == [1, 2, 3]
    native = ask(engine, f"SELECT id FROM {name} ORDER BY id")
    assert [reading.scan for reading in native.readings] == ["native"]
    assert ask(engine, f"SET {SCAN}=python").finish
    try:
        python = ask(engine, f"SELECT id FROM {name} ORDER BY id")
        assert [reading.scan for reading in python.readings] == ["python source"]
        assert python.rows == native.rows == [{"id": 1}, {"id": 3}]
        assert rows(engine, f"SELECT count(*) AS n FROM {name}") == [{"n": 2}]
    finally:
        assert ask(engine, f"RESET {SCAN}").finish
    assert rows(engine, f"SELECT count(*) AS n FROM {name}") == [{"n": 2}]
