"""Counts of rows in versions, where each new file is asked once: the same as of each version read whole."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Ask, Event
from paimark.core.statements.questions.counts import Counts, may_step
from paimark.core.statements.questions.one_version import VersionQuery
from paimark.core.statements.run import CallMode, context_for, run_statement
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.travel.when import of_rows_alone
from tests.actions.acting import context_on, done
from tests.long import long_but
from tests.paimon import commit, create_table

ROWS = pa.schema([pa.field("id", pa.int64()), pa.field("day", pa.string()), pa.field("price", pa.float64())])
CONDITIONS = ("id = 3", "price < 0 AND day IS NULL", "id = 99")


class Asked:
    """The engine, and how often it was asked."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.times = 0

    def do(self, task: Ask) -> Iterator[Event]:
        self.times += 1
        return self.engine.do(task)


def counted(
    context: Context, engine: Engine, table: TablePath, condition: str, *, steps: bool
) -> tuple[list[tuple[int, int]], int]:
    """The counts, and how often the engine was asked."""
    root, asked = table.root(), Asked(engine)
    schema = Lineage(context.files, root).require_schema()
    assert may_step(schema, condition)
    query = VersionQuery(
        context, cast(Engine, asked), root, schema, "count(*) AS n", f"({condition})", lambda line: None
    )
    found = Counts(query, {}, steps).of_snapshots()
    return [(snapshot.id, rows) for snapshot, rows in found], asked.times


@pytest.mark.parametrize("seed", long_but([1, 2], "1"))
def test_they_are_those_of_each_version_read_whole(
    engine: Engine, engine_warehouse: Path, seed: int, is_long: bool
) -> None:
    choices, table = random.Random(seed), TablePath("counts", f"t{seed}")
    context = replace(context_on(engine_warehouse), engine=lambda: engine)
    name = table.full_name
    vectors = {"deletion-vectors.enabled": "true"} if seed == 2 else {}
    create_table(engine_warehouse, name, ROWS, partition_keys=["day"] if seed == 1 else [], options=vectors)
    statements = {
        6: [f"DELETE FROM {name} WHERE id = 3"],
        8: [f"INSERT OVERWRITE {name} SELECT * FROM {name} WHERE price < 0"],
        10: [f"ALTER TABLE {name} RENAME COLUMN {each}" for each in ("price TO cost", "cost TO price")],
    }
    for number in range(18):
        rows = [
            {
                "id": choices.randrange(6),
                "day": choices.choice(["a", "b", None]),
                "price": choices.choice([-1.0, 2.0]),
            }
            for _ in range(choices.randrange(1, 4))
        ]
        commit(engine_warehouse, name, pa.Table.from_pylist(rows, schema=ROWS))
        for sql in statements.get(number, ()):
            [*_] = run_statement(context_for(engine), sql, call=CallMode(agree=lambda action, plan: None))
        if number == 13:
            done(context, "compact", table=table, full=True)
    for condition in CONDITIONS if is_long else CONDITIONS[1:]:
        slow, often = counted(context, engine, table, condition, steps=False)
        quick, seldom = counted(context, engine, table, condition, steps=True)
        assert quick == slow, condition
        assert len(slow) == often > 18 and seldom < often
    assert seldom < often / 2 or vectors


@pytest.mark.parametrize(
    ("condition", "is_so"),
    [
        ("id = 3 AND `day` IN ('a', 'b')", True),
        ("`id` = CAST('1' AS BIGINT)", True),
        ("lower(day) = 'a' AND day IS NOT DISTINCT FROM 'a'", True),
        ("at < now()", False),
        ("at < current_timestamp", False),
        ("at < TIMESTAMP 'now'", False),
        ("id IN (SELECT id FROM this)", False),
        ("rand() < 0.5", False),
        ("day(at) = 3", False),
        ("mine(id)", False),
    ],
)
def test_a_condition_is_of_its_row_alone(condition: str, is_so: bool) -> None:
    assert of_rows_alone(condition, ["id", "day", "at"]) == is_so
