"""Real streaming queries: both ends of them, killed and started again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from core.table.layout import TablePath
from tests.interop.conftest import judge
from tests.paimon import commit, create_table, read_rows
from tests.spark.micro_batches import lineage
from tests.spark.streaming_child import Pump
from tests.spark.streaming_fixture import Streaming, streaming

__all__ = ["judge", "streaming"]

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("said", pa.string())])
OUT = TablePath("shop", "out")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """`shop.log` with rows 1, 2 and 3, a snapshot each; `shop.out` and, with a key, `shop.keyed`."""
    path = tmp_path / "warehouse"
    for name in ("log", "out"):
        create_table(path, f"shop.{name}", SCHEMA)
    create_table(path, "shop.keyed", SCHEMA, primary_keys=["id"], options={"bucket": "2"})
    say(path, 1, 2, 3)
    return path


def say(warehouse: Path, *numbers: int, table: str = "shop.log") -> None:
    for number in numbers:
        commit(warehouse, table, pa.table({"id": [number], "said": [f"s{number}"]}, schema=SCHEMA))


def ids(warehouse: Path, table: str = "shop.out") -> list[int]:
    return sorted(row["id"] for row in read_rows(warehouse, table))


def pump(warehouse: Path, source: dict[str, str] | None = None, **more: Any) -> Pump:
    """From `shop.log` to `shop.out`, or as said."""
    where = {"warehouse": str(warehouse)}
    into = {"table": "shop.out", **more.pop("sink", {})}
    return Pump(
        checkpoint=str(warehouse.parent / more.pop("checkpoint", "checkpoint")),
        source=source if more.get("schema") else where | {"table": "shop.log"} | (source or {}),  # type: ignore[arg-type]
        sink=where | into,
        **more,
    )


def test_rows_stream_from_table_to_table_and_on_after_a_restart(streaming: Streaming, shop: Path) -> None:
    assert streaming.run(pump(shop)) == ""
    assert ids(shop) == [1, 2, 3]
    say(shop, 4, 5)
    assert streaming.run(pump(shop)) == ""
    assert streaming.run(pump(shop)) == ""
    assert ids(shop) == [1, 2, 3, 4, 5]
    assert [each.commit_identifier for each in lineage(shop, "shop.out").snapshots()] == [0, 1]
