"""Spark's own readers on an object store and on HDFS: the rows of the Python source and of stock Paimon."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from core.spark.client.client import Engine
from tests.interop.conftest import judge
from tests.interop.judge import Judge
from tests.spark.engine_fixture import ask
from tests.spark.generated_tables import Generated, generate
from tests.spark.native.test_native import agreed
from tests.spark.stores.engines import on_hdfs, on_s3, store_jars, upload
from tests.spark.test_differential import agree

__all__ = ["judge", "on_hdfs", "on_s3", "store_jars"]
# Generated tables: a number, and which kind of them.
_GENERATED = {2001: ("deduplicate", "parquet"), 2002: ("append", "parquet"), 2003: ("deduplicate", "orc")}


@pytest.fixture(params=["on_s3", "on_hdfs"])
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue(request.param)
    return found


def test_stores_are_read_natively(engine: Engine, judge: Judge, tmp_path: Path) -> None:
    """Merged and appended tables, at versions, with conditions and limits; then generated ones."""
    versions = [f"SELECT * FROM shop.orders VERSION AS OF {number}" for number in (1, 5)]
    assert [len(agreed(engine, sql)) for sql in versions] == [4, 8]
    assert len(agreed(engine, "SELECT * FROM shop.orders VERSION AS OF 5 WHERE order_id > 6")) == 2
    assert len(agreed(engine, "SELECT day, count(kind) FROM shop.events GROUP BY day")) == 2
    # Few rows are read by the engine itself.
    assert ask(engine, "SELECT * FROM shop.events LIMIT 2").finish.rows == 2
    explained = ask(engine, "EXPLAIN SELECT * FROM shop.events").explained
    assert explained.startswith("scan: native shop.events")
    native = 0
    for seed, kind in _GENERATED.items():
        table, place = Generated(seed, kind), tmp_path / f"w{seed}"
        generate(table, place, judge)
        upload(place, engine.settings)
        try:
            native += sum(agree(Random(seed), table, each, engine, place, judge) for each in table.targets)
        except Exception as error:
            error.add_note("\n".join([f"seed {seed}", *table.story]))
            raise
    assert native >= 3
