"""In Spark: EXPLAIN says who reads, both readers have the same rows, and a session chooses."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import SCAN
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, in_order, rows

pytestmark = pytest.mark.usefixtures("by_rust")
KEY = pa.field("k", pa.int64(), nullable=False)
SCHEMA = pa.schema([KEY, ("v", pa.decimal128(20, 2)), ("m", pa.map_(pa.string(), pa.timestamp("ms")))])


@pytest.fixture(scope="session")
def table(engine_warehouse: Path) -> str:
    name = "rusty.parts"
    options = {"bucket": "2", "merge-engine": "partial-update"}
    create_table(engine_warehouse, name, SCHEMA, primary_keys=["k"], options=options)
    for start in (0, 5):
        numbers = range(start, start + 10)
        columns = [numbers, [None if n % 3 else n for n in numbers], [[("a", n)] for n in numbers]]
        commit(engine_warehouse, name, pa.table(dict(zip("kvm", columns, strict=True)), schema=SCHEMA))
    return name


def test_a_session_chooses_and_explain_tells(table: str, engine: Engine) -> None:
    sql = f"SELECT v, k, m FROM {table} WHERE k > 2"
    told = ask(engine, f"EXPLAIN {sql}").explained.splitlines()[0]
    assert told.startswith(f"scan: python source (merge-engine partial-update) {table} at snapshot.2, ")
    assert told.endswith("; by pypaimon-rust")
    found = in_order(rows(engine, sql))
    assert len(found) == 12
    assert rows(engine, f"SELECT count(*) AS n FROM {table}") == [{"n": 15}]
    rows(engine, f"SET {SCAN} = pypaimon")
    try:
        told = ask(engine, f"EXPLAIN {sql}").explained.splitlines()[0]
        assert told.startswith(f"scan: python source ({SCAN} is pypaimon) {table} at ")
        assert told.endswith("; not by pypaimon-rust: it is switched off")
        assert in_order(rows(engine, sql)) == found
    finally:
        rows(engine, f"RESET {SCAN}")
