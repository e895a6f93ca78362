"""What is printed for a warehouse on S3 works as it is, in a Spark that Paimark did not start."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import paimark
from paimark.core.cli.main import run
from paimark.core.storage.open import open_files
from tests.actions.acting import contents
from tests.paimon import commit, create_table
from tests.spark.lake.foreign_spark import PROGRAM, ROOT
from tests.spark.lake.test_lake_catalog import SCHEMA
from tests.spark.stores.engines import store_jars
from tests.storage.stores import BUCKET, s3_server

__all__ = ["store_jars"]
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "a-secret-key"}


@pytest.mark.usefixtures("store_jars")
def test_it_reads_and_writes_with_what_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    create_table(tmp_path / "here", "shop.orders", SCHEMA, primary_keys=["id"], options={"bucket": "1"})
    commit(tmp_path / "here", "shop.orders", pa.table({"id": [1], "price": [1.0]}, schema=SCHEMA))
    with s3_server(tmp_path) as server:
        place, endpoint = f"s3://{BUCKET}/house", {"s3.endpoint": server.endpoint}
        files = open_files(place, endpoint)
        for path, data in contents(tmp_path / "here").items():
            files.create(path, data)
        given = [f"s3.endpoint={server.endpoint}", "s3.secret-key=a-secret-key", "s3.access-key=key"]
        options = [word for each in given for word in ("--option", each)]
        assert run(["jars", "catalog", "lake", "--warehouse", place, *options]) == 0
        printed = capsys.readouterr().out
        assert "a-secret-key" not in printed
        words = shlex.split(printed)
        assert words[::2] == ["--conf"] * (len(words) // 2)
        settings = dict(each.split("=", 1) for each in words[1::2])
        assert settings["spark.sql.catalog.lake.warehouse"] == f"s3a://{BUCKET}/house"
        queries = [
            "SELECT * FROM lake.shop.orders",
            "INSERT INTO lake.shop.orders VALUES (2, 2.0)",
            "UPDATE lake.shop.orders SET price = 3.0 WHERE id = 1",
            "SELECT * FROM lake.shop.orders ORDER BY id",
        ]
        more = {"spark.ui.enabled": "false", "spark.driver.memory": "1g"}
        environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))},
            **{"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"},
            "SPARK_CONF_DIR": os.environ["SPARK_CONF_DIR"],
        }
        told = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=json.dumps([place, settings | more, queries]) + "\n",
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        found = [json.loads(line[7:]) for line in told.stdout.splitlines() if line.startswith("ANSWER ")]
        rows = [{"id": 1, "price": 3.0}, {"id": 2, "price": 2.0}]
        assert found == [[{"id": 1, "price": 1.0}], [], [], rows], told.stderr[-3000:]
        table = paimark.open(place, options=endpoint).table("shop.orders")
        assert [each.action for each in table.operations()] == ["write", "update"]
