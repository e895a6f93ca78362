"""`python -m tests.java_archive`: one engine, so that its end leaves an archive of the classes Java loads.

Begun with a run in several processes: the first engine that a test lets end comes after minutes, and all that
start until then take 3 s of CPU more.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

import pyarrow as pa

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.statements.run import CallMode, run_statement
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import rows

CHANGES = (
    "INSERT INTO classes.keyed VALUES (3, 'three')",
    "UPDATE classes.keyed SET name = 'one' WHERE id = 1",
    "MERGE INTO classes.keyed t USING (SELECT * FROM VALUES (2, 'two'), (4, 'four') AS v(id, name)) s "
    "ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT *",
    "DELETE FROM classes.keyed WHERE id = 4",
)
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        warehouse = Path(place, "warehouse")
        create_table(warehouse, "classes.keyed", SCHEMA, primary_keys=["id"], options={"bucket": "1"})
        for name in ("old", "new"):
            commit(warehouse, "classes.keyed", pa.table([[1, 2], [name, name]], schema=SCHEMA))
        with closing(Engine(Settings(str(warehouse)), Path(place, "log"))) as engine:
            for tail in ("WHERE id = 1", "ORDER BY name", "LIMIT 1", "VERSION AS OF 1 WHERE name > 'a'"):
                rows(engine, f"SELECT * FROM classes.keyed {tail}")
            rows(engine, "SELECT name, count(*) FROM classes.keyed GROUP BY name")
            for sql in CHANGES:
                for _ in run_statement(engine, sql, call=CallMode(lambda action, plan: None)):
                    pass


if __name__ == "__main__":
    main()
