"""Send statements to our engine."""

from __future__ import annotations

from typing import Any

from paimark.core.spark.arrow import read_batch
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Batch, Failed

Rows = list[tuple[Any, ...]]


def run(engine: Engine, sql: str) -> Rows:
    """The rows of a statement. Ends this program if it fails."""
    rows: Rows = []
    for event in engine.run(sql):
        if isinstance(event, Failed):
            raise SystemExit(f"{sql}: {event.message} {event.hint}")
        if isinstance(event, Batch):
            rows += [tuple(row.values()) for row in read_batch(event).to_pylist()]
    return rows


def answer(engine: Engine, sql: str) -> Any:
    """The single value that a statement returns."""
    [[value]] = run(engine, sql)
    return value
