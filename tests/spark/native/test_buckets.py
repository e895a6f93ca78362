"""Of a fixed number of buckets only those are read in which stock Paimon puts the keys asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.native.conditions import Condition
from paimark.core.spark.native.pruning import Pruner
from paimark.core.spark.native.state import TableState, table_state
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import TableSchema
from tests.interop.judge import Judge
from tests.spark.engine_fixture import ask, rows

BUCKETS = 7
Draw = Callable[[Random], Any]


def word(random: Random) -> str:
    return "".join(random.choices("aŁ'\N{GRINNING FACE} z", k=random.randrange(20)))


def micros(random: Random) -> int:
    return random.choice([-1, 0, 1001, random.randrange(-(10**16), 4 * 10**15)])


def whole(bits: int) -> Draw:
    return lambda random: random.choice([-1, 0, -(2 ** (bits - 1)), random.randrange(2 ** (bits - 1))])


def decimal(precision: int, scale: int) -> Draw:
    def drawn(random: Random) -> Decimal:
        digits = random.choice([0, 1, 128, 255, 10**precision - 1, random.randrange(10**precision)])
        return Decimal((random.randrange(2) if digits else 0, tuple(map(int, str(digits))), -scale))

    return drawn


KINDS: Mapping[str, Draw] = {
    "TINYINT": whole(8),
    "SMALLINT": whole(16),
    "INT": whole(32),
    "BIGINT": whole(64),
    "BOOLEAN": lambda random: random.random() < 0.5,
    "DATE": lambda random: random.randrange(-700_000, 2_000_000),
    "STRING": word,
    "VARCHAR(100)": word,
    "DECIMAL(9, 2)": decimal(9, 2),
    "DECIMAL(18, 4)": decimal(18, 4),
    "DECIMAL(38, 10)": decimal(38, 10),
    "TIMESTAMP(3)": lambda random: micros(random) // 1000 * 1000,
    "TIMESTAMP(6)": micros,
}


def read(warehouse: Path, name: str) -> tuple[TableState, TableSchema]:
    files, table = LocalFiles(str(warehouse)), TablePath(*name.split("."))
    lineage = Lineage(files, table.root())
    schema = lineage.require_schema()
    return table_state(files, table.root(), lineage.latest(), schema), schema


def create_bucketed(
    judge: Judge,
    warehouse: Path,
    name: str,
    kinds: Sequence[str],
    options: Mapping[str, str] | None = None,
    count: int = 60,
) -> list[tuple[Any, ...]]:
    """A table with a key of these types, and its keys, by the row's number in the column `n`."""
    random = Random(name)
    keys = [f"k{place}" for place in range(len(kinds))]
    columns = {key: f"{kind} NOT NULL" for key, kind in zip(keys, kinds, strict=True)} | {"n": "INT"}
    judge.create(warehouse, name, columns, keys=keys, options={"bucket": str(BUCKETS)} | dict(options or {}))
    drawn = list(dict.fromkeys(tuple(KINDS[kind](random) for kind in kinds) for _ in range(count)))
    told = [[str(value) if isinstance(value, Decimal) else value for value in key] for key in drawn]
    judge.put(warehouse, name, [("+I", [*key, number]) for number, key in enumerate(told)])
    return drawn


def buckets_of_rows(state: TableState) -> dict[int, set[int]]:
    """Where rows lie, by the number that they have."""
    found: dict[int, set[int]] = {}
    for file in state.files:
        for number in pq.read_table(file.address, columns=["n"])["n"].to_pylist():
            found.setdefault(number, set()).add(file.entry.bucket)
    return found


def buckets_read(state: TableState, pruner: Pruner, conditions: Sequence[Condition]) -> set[int]:
    return {file.entry.bucket for file in filter(pruner.keeps(conditions), state.files)}


def equal(key: Sequence[Any]) -> list[Condition]:
    return [Condition(f"k{place}", "=", (value,)) for place, value in enumerate(key)]


@pytest.mark.parametrize(
    ("number", "kinds"),
    enumerate(
        [*([kind] for kind in KINDS), list(KINDS), ["BIGINT", "STRING"], ["DECIMAL(38, 10)", "STRING", "INT"]]
    ),
)
def test_stock_paimon_puts_them_there(
    judge: Judge, engine_warehouse: Path, number: int, kinds: list[str]
) -> None:
    name = f"buckets.keyed{number}"
    keys = create_bucketed(judge, engine_warehouse, name, kinds)
    state, schema = read(engine_warehouse, name)
    pruner, places = Pruner(schema, state.schemas), buckets_of_rows(state)
    assert len(places) == len(keys)
    for n, key in enumerate(keys):
        # Ranges of keys rule out some as well.
        assert buckets_read(state, pruner, equal(key)) == places[n], key
    two = Condition("k0", "in", (keys[0][0], keys[-1][0]))
    assert buckets_read(state, pruner, [two, *equal(keys[0])[1:]]) >= places[0]


def test_a_key_of_its_own_and_a_number_that_changed(judge: Judge, engine_warehouse: Path) -> None:
    name = "buckets.rescaled"
    keys = create_bucketed(judge, engine_warehouse, name, ["BIGINT", "STRING"], {"bucket-key": "k1"})
    state, schema = read(engine_warehouse, name)
    more = msgspec.structs.replace(schema, options={**schema.options, "bucket": "3"})
    places = buckets_of_rows(state)
    for pruner in (Pruner(schema, state.schemas), Pruner(more, state.schemas)):
        for n, key in enumerate(keys):
            assert buckets_read(state, pruner, equal(key)[1:]) == places[n]


@pytest.mark.parametrize(
    "changed",
    [
        {"bucket-function.type": "mod"},
        {"bucket-key": "n"},
        {"bucket": "-1"},
        {"bucket": "-2"},
    ],
)
def test_what_is_not_known_to_be_put_so_is_kept(
    judge: Judge, engine_warehouse: Path, changed: dict[str, str]
) -> None:
    name = f"buckets.other_{'_'.join(changed.values()).replace('-', 'm')}"
    keys = sorted(create_bucketed(judge, engine_warehouse, name, ["STRING"]))
    key = keys[len(keys) // 2]
    state, schema = read(engine_warehouse, name)
    now = msgspec.structs.replace(schema, options={**schema.options, **changed})
    all_that_may = buckets_read(state, Pruner(now, state.schemas), equal(key))
    # By the range of its keys a file is ruled out all the same.
    assert len(all_that_may) > 1
    # The files' own schema counts as well.
    assert buckets_read(state, Pruner(schema, {0: now}), equal(key)) == all_that_may
    assert buckets_read(state, Pruner(schema, {}), equal(key)) == all_that_may


@pytest.mark.parametrize(
    "conditions",
    [
        [Condition("k0", "=", ("a",))],
        [Condition("k0", "=", ("a",)), Condition("k1", ">", (1,))],
        [Condition("k0", "=", ("a",)), Condition("k1", "=", (2**70,))],
        [Condition("k0", "in", tuple(map(str, range(300)))), Condition("k1", "=", (1,))],
        [Condition("k0", "=", ("\ud800",)), Condition("k1", "=", (1,))],
    ],
)
def test_conditions_that_say_nothing_of_buckets(
    judge: Judge, engine_warehouse: Path, conditions: list[Condition]
) -> None:
    name = "buckets.conditions"
    if not (engine_warehouse / "buckets.db" / "conditions").exists():
        create_bucketed(judge, engine_warehouse, name, ["STRING", "BIGINT"])
    state, schema = read(engine_warehouse, name)
    pruner = Pruner(schema, state.schemas)
    assert pruner._buckets.with_rows(conditions) is None


def test_a_key_is_found_among_many_files(judge: Judge, engine: Engine, engine_warehouse: Path) -> None:
    """Those of other buckets are not opened, by the lookup and by a scan."""
    name = "buckets.many"
    columns = {"id": "BIGINT NOT NULL", "n": "INT"}
    judge.create(engine_warehouse, name, columns, keys=["id"], options={"bucket": "20", "write-only": "true"})
    for age in range(3):
        judge.put(engine_warehouse, name, [("+I", [key, age]) for key in range(age, 2000)])
    state, schema = read(engine_warehouse, name)
    (bucket,) = buckets_read(state, Pruner(schema, state.schemas), [Condition("id", "=", (1234,))])
    for file in state.files:
        if file.entry.bucket != bucket:
            Path(file.address).unlink()
    for extra in ("", " AND n < 5", " OR id = 1234"):
        assert rows(engine, f"SELECT * FROM {name} WHERE id = 1234{extra}") == [{"id": 1234, "n": 2}], extra
    assert rows(engine, f"SELECT count(*) AS c FROM {name} WHERE id = 1234 AND n = 1") == [{"c": 0}]
    assert ask(engine, f"SELECT * FROM {name} WHERE id IN (1, 2, 3, 4, 5, 6, 7)").failure
