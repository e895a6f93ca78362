"""The memory of the engine after many statements.

`python -m benchmarks.spark_memory [--statements N] [--every M]`. It runs statements of many kinds, no two
alike: lookups, scans, aggregates, answers of metadata, time travel, views, settings, mistakes; every
hundredth reads a new snapshot. It reports Java's live objects after a collection, of all classes and of data
frames, and the memory of the engine's Python process. It needs a JDK's `jcmd`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count, islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.measuring.processes import engine_memory, java_below
from benchmarks.measuring.words import parser_of
from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from tests.interop.stock import jdk_tool
from tests.paimon import commit, create_table

_SCHEMA = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), pa.field("k", pa.int32()), pa.field("v", pa.float64())]
)
_ROWS = 20_000
_FRAME = "org.apache.spark.sql.classic.Dataset"
_KINDS = (
    "SELECT * FROM m.keyed WHERE id = {n}",
    "SELECT sum(v) FROM m.keyed WHERE k <> {n}",
    "SELECT count(*) AS n{n} FROM m.plain",
    "SELECT k, max(v + {n}) FROM m.plain GROUP BY k",
    "SELECT * FROM m.plain WHERE id > {n} LIMIT 5",
    "SELECT * FROM m.keyed VERSION AS OF 1 WHERE k = {n} % 50",
    "SELECT snapshot_id + {n} FROM m.`keyed$snapshots`",
    "SET bench.number = {n}",
    "SELECT nothing_{n} FROM m.keyed",
    "CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT id + {n} AS id FROM m.plain",
    "SELECT a.id FROM m.keyed a JOIN m.plain b ON a.id = b.id + {n} ORDER BY 1 LIMIT 3",
    "EXPLAIN SELECT * FROM m.plain WHERE k = {n}",
)


def statements() -> Iterator[str]:
    for number in count():
        yield _KINDS[number % len(_KINDS)].format(n=number)


def rows(first: int) -> pa.Table:
    ids = np.arange(first, first + _ROWS, dtype=np.int64)
    return pa.Table.from_arrays([ids, (ids % 50).astype(np.int32), ids * 0.5], schema=_SCHEMA)


def live(jcmd: str, java: int) -> tuple[int, int]:
    """The bytes of all objects, and the number of data frames, after a collection."""
    words = [jcmd, str(java), "GC.class_histogram"]
    listed = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout
    frames = re.search(rf"^ *\d+: +(\d+) +\d+ +{re.escape(_FRAME)}(?: |$)", listed, re.MULTILINE)
    total = re.search(r"^Total +\d+ +(\d+)", listed, re.MULTILINE)
    return int(total[1]) if total else 0, int(frames[1]) if frames else 0


def main() -> int:
    words = parser_of(__doc__)
    words.add_argument("--statements", type=int, default=10_000)
    words.add_argument("--every", type=int, default=1_000, help="statements between two looks")
    given = words.parse_args()
    jcmd = jdk_tool("jcmd")
    if jcmd is None:
        print("jcmd of a JDK is needed, on PATH or in JAVA_HOME", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as place:
        warehouse = Path(place) / "warehouse"
        create_table(warehouse, "m.plain", _SCHEMA)
        create_table(warehouse, "m.keyed", _SCHEMA, primary_keys=["id"], options={"bucket": "1"})
        for table in ("m.plain", "m.keyed"):
            commit(warehouse, table, rows(0))
        settings = Settings(str(warehouse), spark_master="local[2]")
        with closing(Engine(settings, Path(place) / "engine.log")) as engine:
            engine.wait_ready()
            process = engine._process
            assert process is not None
            began = time.monotonic()
            print(f"{'statements':>10}{'Java, MB':>10}{'frames':>8}{'Python, MB':>12}{'seconds':>9}")
            for number, sql in enumerate(islice(statements(), given.statements + 1)):
                if number % given.every == 0:
                    held, frames = live(jcmd, java_below(process.pid))
                    python = engine_memory("VmRSS")["Python"]
                    line = f"{number:10}{held / 1e6:10.1f}{frames:8}{python / 1e6:12.1f}"
                    print(f"{line}{time.monotonic() - began:9.0f}", flush=True)
                if number % 100 == 99:
                    commit(warehouse, "m.keyed", rows(number)[:100])
                for _ in engine.run(sql):
                    pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
