"""However many statements an engine has run, it takes no more memory: neither its Python nor Spark's Java."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest

from core.spark.client.client import Engine
from core.spark.launch.java import find_java
from tests.paimon import commit, create_table
from tests.spark.client.test_engine import java_of, processes_of
from tests.spark.engine_fixture import ask

SCHEMA = pa.schema([("id", pa.int64()), ("region", pa.string()), ("amount", pa.float64())])
PLAIN, KEYED, OLD = "flat.plain", "flat.keyed", "flat.old"
MIXED = (
    f"SELECT sum(amount) FROM {PLAIN}",
    f"SELECT * FROM {PLAIN} WHERE id = {{number}}",
    f"SELECT region, sum(amount) FROM {KEYED} GROUP BY region",
    f"SELECT * FROM {KEYED} WHERE id = {{number}}",
    f"SELECT count(*) AS n{{number}} FROM {KEYED}",
    f"SELECT * FROM {PLAIN} LIMIT 3",
    f"SELECT * FROM {KEYED} VERSION AS OF 1 ORDER BY id",
    f"SELECT snapshot_id FROM `{KEYED}$snapshots`",
    f"SELECT * FROM {PLAIN} a JOIN {KEYED} b ON a.id = b.id WHERE b.amount > {{number}}",
    f"CREATE OR REPLACE TEMPORARY VIEW flat_view AS SELECT * FROM {PLAIN} WHERE id > {{number}}",
    "SELECT count(*) FROM flat_view",
    "SET spark.sql.shuffle.partitions = 3",
    "RESET spark.sql.shuffle.partitions",
    "SHOW TABLES IN flat",
    f"EXPLAIN SELECT * FROM {PLAIN} WHERE id = {{number}}",
    f"SELECT nothing{{number}} FROM {PLAIN}",
    f"SELECT raise_error('{{number}}') FROM {PLAIN}",
)
# Through Python's workers, which takes a while.
SLOW = (f"SELECT id FROM {OLD} WHERE id < {{number}}",)
EVERY = 5


class Memory(NamedTuple):
    """Bytes: what is live in Java, by class; and what the engine's own process holds."""

    java: dict[str, int]
    python: int


def memory(engine: Engine) -> Memory:
    (python,) = (pid for pid, command in processes_of(engine) if "core.spark.engine.engine" in command)
    asked = [str(find_java().executable.parent / "jcmd"), str(java_of(engine)), "GC.class_histogram"]
    listed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    by_class: dict[str, int] = {}
    for words in map(str.split, listed.splitlines()):
        if len(words) > 3 and words[0].rstrip(":").isdigit():
            by_class[words[3]] = by_class.get(words[3], 0) + int(words[2])
    resident = Path(f"/proc/{python}/statm").read_text().split()[1]
    return Memory(by_class, int(resident) * 4096)


def grown(before: Memory, after: Memory) -> dict[str, int]:
    by_class = {name: size - before.java.get(name, 0) for name, size in after.java.items()}
    return dict(sorted(by_class.items(), key=lambda each: -each[1])[:25])


@pytest.fixture
def tables(engine_warehouse: Path) -> Iterator[None]:
    create_table(engine_warehouse, PLAIN, SCHEMA)
    create_table(engine_warehouse, KEYED, SCHEMA, primary_keys=["id"], options={"bucket": "1"})
    create_table(engine_warehouse, OLD, SCHEMA, options={"file.format": "avro"})
    for name in (PLAIN, KEYED, OLD):
        write(engine_warehouse, name, 0)
    yield
    shutil.rmtree(engine_warehouse / "flat.db")


def write(warehouse: Path, table: str, number: int) -> None:
    found = [{"id": number + each, "region": f"r{each % 3}", "amount": float(each)} for each in range(10)]
    commit(warehouse, table, pa.Table.from_pylist(found, schema=SCHEMA))


def run(engine: Engine, warehouse: Path, numbers: range) -> None:
    for number in numbers:
        sql = MIXED[number % len(MIXED)]
        if number % (len(MIXED) * EVERY) == 0:
            write(warehouse, KEYED, number)
            sql = SLOW[0]
        ask(engine, sql.format(number=number), limit=100)


@pytest.mark.parametrize(
    ("warm", "statements", "most"),
    [
        (60, 120, 6 << 20),
        pytest.param(2_000, 10_000, 24 << 20, marks=[pytest.mark.long, pytest.mark.timeout(7200)]),
    ],
)
@pytest.mark.usefixtures("tables")
def test_memory_stays_as_it_is(
    engine: Engine, engine_warehouse: Path, warm: int, statements: int, most: int
) -> None:
    run(engine, engine_warehouse, range(warm))
    before = memory(engine)
    run(engine, engine_warehouse, range(warm, warm + statements))
    after = memory(engine)
    java, python = sum(after.java.values()) - sum(before.java.values()), after.python - before.python
    assert java < most, grown(before, after)
    assert python < most
