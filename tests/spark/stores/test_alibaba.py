"""Spark's own readers on Alibaba's OSS, by its client for Java: the rows of the template."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.home import find_spark
from paimark.core.spark.launch.java import find_java
from paimark.core.spark.stores.jars import fetch, jar_sets
from tests.actions.acting import contents
from tests.paimon import read_rows
from tests.spark.engine_fixture import ask, in_order
from tests.spark.native.test_native import read_natively
from tests.storage.clouds.alibaba_door import AlibabaDoor, alibaba, alibaba_client, put_all
from tests.storage.stores import S3Server

__all__ = ["alibaba", "alibaba_client"]


# Its clients come from two registries.
@pytest.mark.long
def test_oss_is_read_natively(
    alibaba: AlibabaDoor, s3: S3Server, store_jars: Path, warehouse_template: Path, tmp_path: Path
) -> None:
    fetch(jar_sets()["oss"], find_spark(), {}, lambda: find_java().executable)
    warehouse = f"oss://lake/{uuid.uuid4().hex[:8]}"
    put_all(s3, warehouse, contents(warehouse_template))
    settings = Settings(warehouse, options=alibaba.options(), spark_master="local[2]")
    engine = Engine(settings, tmp_path / "engine.log")
    try:
        found = read_natively(engine, "SELECT * FROM shop.orders")
        assert found == in_order(read_rows(warehouse_template, "shop.orders"))
        assert len(read_natively(engine, "SELECT * FROM shop.orders VERSION AS OF 1")) == 4
        explained = ask(engine, "EXPLAIN SELECT * FROM shop.events").explained
        assert explained.startswith("scan: native shop.events")
    finally:
        engine.close()
    data = {client.partition("/")[0] for _, path, client in alibaba.requests if "/bucket-" in path}
    assert data >= {"aliyun-sdk-java"}
    assert {method for method, _, client in alibaba.requests} <= {"GET", "HEAD"}
