"""A cancel also reaches what the engine does itself, without Spark."""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Event, Failed
from tests.spark.engine_fixture import rows
from tests.spark.written_tables import lineage_of, order, version
from tests.wording import about


def stuck(warehouse: Path, database: str) -> str:
    """A table with a data file that opens as soon as somebody writes to it: never."""
    directory = warehouse / f"{database}.db" / "orders"
    shutil.copytree(warehouse / "shop.db" / "orders", directory)
    file = next(iter(sorted(directory.glob("bucket-*/*.parquet"))))
    size = file.stat().st_size
    file.unlink()
    os.mkfifo(file)
    assert size
    return f"{database}.orders"


def cancelled(engine: Engine, begin: Callable[[], list[Event]]) -> Failed:
    """What it ends with when it is cancelled once it can't go on."""
    ended: list[Event] = []
    thread = threading.Thread(target=lambda: ended.extend(begin()))
    thread.start()
    time.sleep(2)
    assert thread.is_alive()
    engine.cancel()
    thread.join()
    end = ended[-1]
    assert isinstance(end, Failed)
    return end


def test_merging_keys(engine: Engine, engine_warehouse: Path) -> None:
    name = stuck(engine_warehouse, "stuck_read")
    process = engine._process
    end = cancelled(engine, lambda: list(engine.run(f"SELECT count(*) FROM {name}")))
    assert end.cause == "cancelled" and about("cancelled").search(end.message)
    assert engine._process is process
    assert rows(engine, "SELECT count(*) AS n FROM shop.events") == [{"n": 6}]


def test_merging_for_a_rewriting(engine: Engine, engine_warehouse: Path) -> None:
    lineage = lineage_of(engine_warehouse, stuck(engine_warehouse, "stuck_write"))
    task = order(lineage, "SELECT * FROM old", overwrite=True, old=version(lineage, 5))
    process = engine._process
    end = cancelled(engine, lambda: list(engine.do(task)))
    assert end.cause == "cancelled"
    assert engine._process is process
    assert lineage.latest_id() == 5


@pytest.fixture(autouse=True)
def _warm(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes before the first statement is over; and nobody kills what is slow to stop."""
    rows(engine, "SELECT count(*) FROM shop.orders")
    monkeypatch.setattr("paimark.core.spark.client.client.GRACE_SECONDS", 60.0)
