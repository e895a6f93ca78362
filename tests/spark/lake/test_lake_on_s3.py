"""What is printed for a warehouse on S3 works as it is, in a Spark that Paimark did not start."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import paimark
from paimark.core.storage.open import open_files
from tests.actions.acting import contents
from tests.paimon import commit, create_table
from tests.spark.lake.foreign_spark import KEYS, FarHouse, ForeignSpark
from tests.spark.lake.test_lake_catalog import SCHEMA


@pytest.mark.long
def test_it_reads_and_writes_with_what_is_printed(
    far_house: FarHouse,
    foreign_spark: ForeignSpark,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_long: bool,
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
        assert name.startswith("AWS_ACCESS") or value not in far_house.printed
    create_table(tmp_path, "shop.orders", SCHEMA, primary_keys=["id"], options={"bucket": "1"})
    commit(tmp_path, "shop.orders", pa.table({"id": [1], "price": [1.0]}, schema=SCHEMA))
    files = open_files(far_house.address, far_house.options)
    for path, data in contents(tmp_path).items():
        files.create(path, data)
    at = far_house.settings["spark.sql.catalog.far.warehouse"]
    assert at == far_house.address.replace("s3://", "s3a://")
    queries = [
        "SELECT * FROM far.shop.orders",
        "INSERT INTO far.shop.orders VALUES (2, 2.0)",
        *(["UPDATE far.shop.orders SET price = 3.0 WHERE id = 1"] if is_long else []),
        "SELECT * FROM far.shop.orders ORDER BY id",
    ]
    before, *written, after = foreign_spark.answers(tmp_path, queries)
    assert (before, written) == ([{"id": 1, "price": 1.0}], [[]] * (2 if is_long else 1))
    assert after == [{"id": 1, "price": 3.0 if is_long else 1.0}, {"id": 2, "price": 2.0}]
    table = paimark.open(far_house.address, options=far_house.options).table("shop.orders")
    assert [each.action for each in table.operations()] == (["write", "update"] if is_long else ["write"])
