"""Conditions that a reader is told of give the rows that Spark alone would have kept."""

from __future__ import annotations

import datetime as dt
from decimal import Context, Decimal
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paimark.core.spark.client.client import Engine
from tests.long import examples
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, in_order, rows

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("part", pa.date32(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("amount", pa.decimal128(10, 2)),
        pa.field("long", pa.decimal128(30, 3)),
        pa.field("level", pa.int8()),
        pa.field("flag", pa.bool_()),
        pa.field("rate", pa.float64()),
        pa.field("seen", pa.timestamp("ms")),
    ]
)
NAMES = [None, "", "a", "ab", "abc", "B", "Łódź", "\N{GRINNING FACE}", "a%", "a_"]
RATES = [None, float("nan"), 0.0, -0.0, 1.5, float("inf")]
# More digits than Python's decimal context keeps.
EXACTLY = Context(prec=40)
LONG = Decimal("210012348368018741614224062.941")
PARTS = [dt.date(1969, 12, 31), dt.date(2026, 5, 1), dt.date(2026, 5, 2)]


def table_rows(start: int) -> pa.Table:
    rows = [
        {
            "id": number,
            "part": PARTS[number % 3],
            "name": NAMES[number % len(NAMES)],
            "amount": None if number % 7 == 0 else Decimal(number) / 4,
            "long": None if number % 5 == 0 else EXACTLY.add(LONG, number % 4),
            "level": None if number % 5 == 0 else number % 11 - 5,
            "flag": [None, True, False][number % 3],
            "rate": RATES[number % len(RATES)],
            "seen": None if number % 4 == 0 else dt.datetime(2026, 5, 1) + dt.timedelta(hours=number),
        }
        for number in range(start, start + 30)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@cache
def made(warehouse: Path, kind: str) -> str:
    name = f"push.{kind}"
    keys = ["id", "part"] if kind == "keyed" else []
    options = {"bucket": "2"} if keys else {}
    create_table(warehouse, name, SCHEMA, primary_keys=keys, partition_keys=["part"], options=options)
    for start in (0, 15, 30):
        # With a key these overlap: half of the rows are written twice.
        commit(warehouse, name, table_rows(start))
    return name


@pytest.fixture(scope="module", params=["append", "keyed"])
def table(request: pytest.FixtureRequest, engine_warehouse: Path) -> str:
    return made(engine_warehouse, request.param)


def text(value: object) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP_NTZ'{value}'"
    if isinstance(value, dt.date):
        return f"DATE'{value}'"
    return str(value)


NUMBERS = st.integers(-3, 65)
VALUES: dict[str, st.SearchStrategy[str]] = {
    "id": NUMBERS.map(text),
    "part": st.sampled_from([*PARTS, dt.date(2026, 5, 3)]).map(text),
    "name": st.sampled_from([name for name in NAMES if name is not None]).map(text),
    "amount": st.one_of(NUMBERS, st.sampled_from(["1.25", "3.333", "1e1", "99999999999.5"])).map(str),
    "long": st.integers(-1, 4).map(lambda number: f"CAST('{EXACTLY.add(LONG, number)}' AS DECIMAL(30, 3))"),
    "level": st.integers(-6, 6).map(text),
    "flag": st.sampled_from(["true", "false"]),
    "rate": st.sampled_from(["0", "1.5", "double('NaN')", "double('-Infinity')"]),
    "seen": st.integers(0, 60).map(lambda h: text(dt.datetime(2026, 5, 1) + dt.timedelta(hours=h))),
}


@st.composite
def conditions(draw: st.DrawFn) -> str:
    column = draw(st.sampled_from(sorted(VALUES)))
    kind = draw(st.sampled_from(["compare", "compare", "in", "null", "starts", "not"]))
    if kind == "null":
        return f"{column} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
    if kind == "in":
        values = draw(st.lists(VALUES[column], min_size=1, max_size=4))
        return f"{column} IN ({', '.join([*values, *draw(st.sampled_from([[], ['NULL']]))])})"
    if kind == "starts":
        return f"name LIKE {draw(st.sampled_from(['a%', 'ab%', 'Ł%', '%', 'B%']).map(text))}"
    operator = draw(st.sampled_from(["=", "<", "<=", ">", ">=", "<>", "<=>"]))
    compared = f"{column} {operator} {draw(VALUES[column])}"
    return f"NOT ({compared})" if kind == "not" else compared


@given(filters=st.lists(st.lists(conditions(), min_size=1, max_size=3), min_size=8, max_size=8))
@settings(max_examples=examples(2, 3), deadline=None, suppress_health_check=list(HealthCheck))
def test_pushed_conditions_keep_what_spark_keeps(
    engine: Engine, table: str, filters: list[list[str]]
) -> None:
    """In the SELECT list conditions can't be pushed down."""
    columns = "id, cast(part AS string) AS part, name, cast(rate AS string) AS rate"
    wanted = [" AND ".join(f"({each})" for each in filters_of_one) for filters_of_one in filters]
    judged = ", ".join(f"coalesce({each}, false) AS kept{number}" for number, each in enumerate(wanted))
    all_rows = rows(engine, f"SELECT {columns}, {judged} FROM {table}")
    kept = [
        {"number": number, **{name: row[name] for name in ("id", "part", "name", "rate")}}
        for number in range(len(wanted))
        for row in all_rows
        if row[f"kept{number}"]
    ]
    selects = [
        f"SELECT {number} AS number, {columns} FROM {table} WHERE {each}"
        for number, each in enumerate(wanted)
    ]
    assert in_order(rows(engine, " UNION ALL ".join(selects))) == in_order(kept)


def test_conditions_reach_the_reader(engine: Engine, engine_warehouse: Path) -> None:
    """A partition that a condition rules out is not read: its files may be gone."""
    create_table(engine_warehouse, "push.torn", SCHEMA, partition_keys=["part"])
    commit(engine_warehouse, "push.torn", table_rows(0))
    torn = list((engine_warehouse / "push.db" / "torn").glob("part=*/bucket-*/*.parquet"))
    assert len(torn) == len(PARTS)
    days = (dt.date(2026, 5, 1) - dt.date(1970, 1, 1)).days
    intact = next(path for path in torn if path.parts[-3] == f"part={days}")
    for path in torn:
        if path != intact:
            path.unlink()
    kept = rows(engine, "SELECT id FROM push.torn WHERE part = DATE'2026-05-01'")
    assert sorted(row["id"] for row in kept) == list(range(1, 30, 3))


def test_columns_that_nothing_needs_are_not_read(engine: Engine, engine_warehouse: Path) -> None:
    """Their bytes may be broken."""
    create_table(engine_warehouse, "push.broken", SCHEMA)
    commit(engine_warehouse, "push.broken", table_rows(0))
    (path,) = (engine_warehouse / "push.db" / "broken").glob("bucket-*/*.parquet")
    group = pq.ParquetFile(path).metadata.row_group(0)
    (broken,) = [
        group.column(number)
        for number in range(group.num_columns)
        if group.column(number).path_in_schema == "name"
    ]
    data = bytearray(path.read_bytes())
    start = broken.dictionary_page_offset or broken.data_page_offset
    data[start : start + broken.total_compressed_size] = b"\xff" * broken.total_compressed_size
    path.write_bytes(data)
    inner = "SELECT id, name FROM push.broken WHERE level IS NOT NULL"
    assert rows(engine, f"SELECT max(id) AS id, count(*) AS n FROM ({inner}) t") == [{"id": 29, "n": 24}]
    assert ask(engine, "SELECT max(name) FROM push.broken").failure


def test_a_limit_reads_no_more_files_than_it_takes(engine: Engine, engine_warehouse: Path) -> None:
    """Those behind may be gone, unless a condition or an order makes them count."""
    create_table(engine_warehouse, "push.few", SCHEMA, partition_keys=["part"])
    commit(engine_warehouse, "push.few", table_rows(0))
    paths = sorted((engine_warehouse / "push.db" / "few").glob("part=*/bucket-*/*.parquet"))
    (kept,) = {row["part"] for row in rows(engine, "SELECT part FROM push.few LIMIT 3")}
    days = (kept - dt.date(1970, 1, 1)).days
    for path in paths:
        if path.parts[-3] != f"part={days}":
            path.unlink()
    assert len(rows(engine, "SELECT * FROM push.few LIMIT 3")) == 3
    assert len(ask(engine, "SELECT * FROM push.few", limit=3).rows) == 3
    for more in ("WHERE id % 2 = 0 LIMIT 3", "ORDER BY id LIMIT 3", "LIMIT 20"):
        assert ask(engine, f"SELECT * FROM push.few {more}").failure


def test_rows_are_counted_by_the_columns_of_partitions_alone(engine: Engine, engine_warehouse: Path) -> None:
    """Which no file holds; Avro's reader counts no rows of no columns."""
    name, schema = "push.counted", pa.schema([("day", pa.string()), ("number", pa.int64())])
    create_table(engine_warehouse, name, schema, partition_keys=["day"], options={"file.format": "avro"})
    commit(engine_warehouse, name, pa.table({"day": ["a", "a", "b"], "number": [1, 2, 3]}, schema=schema))
    assert rows(engine, f"SELECT count(*) AS n FROM {name}") == [{"n": 3}]
    found = rows(engine, f"SELECT day, count(*) AS n FROM {name} GROUP BY day ORDER BY day")
    assert found == [{"day": "a", "n": 2}, {"day": "b", "n": 1}]


def test_rows_that_delete_do_not_count_for_a_limit(engine: Engine, engine_warehouse: Path) -> None:
    name = "push.deleted"
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("kind", pa.string())])
    options = {"bucket": "4", "rowkind.field": "kind", "file.format": "avro"}
    create_table(engine_warehouse, name, schema, primary_keys=["id"], options=options)
    kinds = ["-D" if number % 3 else "+I" for number in range(60)]
    commit(engine_warehouse, name, pa.table({"id": list(range(60)), "kind": kinds}, schema=schema))
    assert len(rows(engine, f"SELECT * FROM {name} LIMIT 20")) == 20
