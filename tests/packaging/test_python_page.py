"""The program of docs/python.md reads, streams and writes in a Spark that nobody has set up for it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.paimon import commit, create_table, open_table, read_rows

PAGE = (Path(__file__).parents[2] / "docs/python.md").read_text()
PROGRAM = [each for each in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "PaimarkSource" in each]

SCHEMA = pa.schema([pa.field("order_id", pa.int64(), nullable=False), ("price", pa.float64())])
# Behind the program: what it read, and what its stream does with a row of its own.
BEHIND = """
found = {"old": old.where("order_id > 1").count(), "all": old.count()}
query = spark.streams.active[0]
new = spark.createDataFrame([(3, 3.5)], "order_id bigint, price double")
new.write.format("paimark").mode("append").options(**here).save()
query.processAllAvailable()
query.stop()
print("FOUND", __import__("json").dumps(found))
spark.stop()
"""
# Spark gives a Python process ten seconds to start, however busy the machine is.
SLOW = "waiting for the Python worker to connect back"
TRIES = 3


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_program_runs_in_a_fresh_spark(tmp_path: Path) -> None:
    warehouse = tmp_path / "warehouse"
    create_table(warehouse, "shop.orders", SCHEMA, primary_keys=["order_id"], options={"bucket": "1"})
    commit(warehouse, "shop.orders", pa.table({"order_id": [1, 2], "price": [1.5, 2.5]}, schema=SCHEMA))
    open_table(warehouse, "shop.orders").create_tag("savepoint.1", 1)
    open_table(warehouse, "shop.orders").branch_manager().create_branch("fix", "savepoint.1")
    assert len(PROGRAM) == 1
    program = PROGRAM[0].replace("s3://lake/warehouse", str(warehouse))
    assert "/checkpoints/fix" in program
    program = program.replace("/checkpoints/fix", str(tmp_path / "checkpoint"))
    script = tmp_path / "program.py"
    script.write_text(program + BEHIND)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))
    }
    # The suite's: it only spares the second compiler.
    environment |= {"SPARK_CONF_DIR": os.environ["SPARK_CONF_DIR"]}
    environment |= {"PYTHONPATH": str(Path(__file__).parents[2]), "SPARK_LOCAL_IP": "127.0.0.1"}
    for _ in range(TRIES):
        done = subprocess.run(
            [sys.executable, str(script)],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        if SLOW not in done.stderr:
            break
    told = re.findall(r"^FOUND (.*)$", done.stdout, re.MULTILINE)
    assert told, done.stderr[-4000:]
    assert json.loads(told[0]) == {"old": 1, "all": 2}
    written = {row["order_id"] for row in read_rows(warehouse, "shop.orders$branch_fix")}
    assert written == {1, 2, 3}
