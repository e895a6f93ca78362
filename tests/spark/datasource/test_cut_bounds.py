"""Upper bounds of texts that stock Paimon cuts off wrongly, and believes itself, rule no file out here."""

from __future__ import annotations

from pathlib import Path

from paimark.core.spark.client.client import Engine
from tests.interop.judge import Judge
from tests.spark.engine_fixture import rows

# Cut off after 16 characters, the last of which Java raises to a question mark.
TEXT = "b" * 15 + "\ud7ff" + "c"


def test_a_bound_that_java_cuts_wrongly(engine: Engine, engine_warehouse: Path, judge: Judge) -> None:
    table = "changed.cut_bounds"
    judge.create(
        engine_warehouse,
        table,
        {"c": "STRING", "p": "STRING", "n": "INT"},
        partitions=["p"],
        options={"bucket": "-1"},
    )
    for text in (TEXT, "a"):
        judge.put(engine_warehouse, table, [("+I", [text, "x", 1])])
    sql = f"SELECT c FROM {table} WHERE c > '{'b' * 15 + 'c'}' AND p = 'x'"
    assert rows(engine, sql) == [{"c": TEXT}]
