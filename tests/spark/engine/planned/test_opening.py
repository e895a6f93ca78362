"""A table that nobody asked for yet is opened while Spark plans. What is said of it is what is said later."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed
from tests.spark.engine.test_reads import own_table
from tests.spark.engine_fixture import Answer, ask


@pytest.mark.parametrize(
    ("database", "sql"),
    [
        ("opening1", "SELECT sum(nothing) FROM {name}"),
        ("opening2", "SELECT * FROM {name} WHERE"),
        ("opening3", "SELECT order_id FROM {name} JOIN shop.orders USING (order_id) ORDER BY 1 LIMIT 3"),
        ("opening4", "EXPLAIN SELECT nothing FROM {name}"),
        ("opening5", "SELECT b.price FROM {name} JOIN {name} VERSION AS OF 2 b USING (order_id)"),
        ("opening6", "SELECT assert_true(order_id < 0) FROM {name}"),
    ],
)
def test_it_says_what_it_says_of_a_known_table(
    engine: Engine, engine_warehouse: Path, database: str, sql: str
) -> None:
    name = own_table(engine_warehouse, database)
    asked = sql.format(name=name)
    first, later = ask(engine, asked), ask(engine, asked)
    assert _comparable(first) == _comparable(later)


def _comparable(answer: Answer) -> object:
    end = answer.end
    if isinstance(end, Failed):
        return answer.readings, end.message, end.position
    return answer.readings, answer.columns, answer.rows
