"""A table that is asked for first is opened while Spark plans: what it says is what a later statement gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.spark.client.client import Engine
from core.spark.protocol import Failed
from tests.spark.engine.test_reads import own_table
from tests.spark.engine_fixture import Answer, ask


@pytest.mark.parametrize(
    ("database", "sql"),
    [
        ("opening1", "SELECT sum(nothing) FROM {name}"),
        ("opening2", "SELECT * FROM {name} WHERE"),
        ("opening3", "SELECT id FROM {name} JOIN shop.orders USING (id) ORDER BY id LIMIT 3"),
        ("opening4", "EXPLAIN SELECT nothing FROM {name}"),
        ("opening5", "SELECT a.id FROM {name} a JOIN {name} VERSION AS OF 2 b ON a.id = b.id + 1 ORDER BY 1"),
        ("opening6", "SELECT assert_true(id < 0) FROM {name}"),
    ],
)
def test_it_says_what_it_says_of_a_known_table(
    engine: Engine, engine_warehouse: Path, database: str, sql: str
) -> None:
    name = own_table(engine_warehouse, database)
    asked = sql.format(name=name)
    first, later = ask(engine, asked), ask(engine, asked)
    assert _told(first) == _told(later)


def _told(answer: Answer) -> object:
    end = answer.end
    if isinstance(end, Failed):
        return answer.readings, end.message, end.position
    return answer.readings, answer.columns, answer.rows
