"""Rows looked up by key or value: as a scan finds them, without a Spark job; and what is left to a scan."""

from __future__ import annotations

import datetime as dt
import shutil
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pypaimon import CatalogFactory
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange

from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import LOOKUPS
from paimark.core.spark.protocol import CANCELLED, Event, Reading
from tests.long import long_but
from tests.paimon import commit, create_table, open_table
from tests.spark.engine_fixture import ask, in_order, rows
from tests.wording import about

# What Spark's tasks have, and nobody else.
TASK = "java_method('org.apache.spark.TaskContext', 'get') AS task"
ORDERS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])
KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "whole": (pa.int64(), [-(2**63), -1, 0, 7, 2**63 - 1]),
    "small": (pa.int16(), [-(2**15), 0, 2**15 - 1]),
    "tiny": (pa.int8(), [-128, 0, 127]),
    "word": (pa.string(), ["", "a", "a ", "Łódź", "it's", "\N{GRINNING FACE}" * 40]),
    "day": (pa.date32(), [dt.date(1, 1, 3), dt.date(1969, 12, 31), dt.date(2026, 5, 1)]),
    "price": (pa.decimal128(9, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("9999999.99")]),
    "wide": (pa.decimal128(30, 4), [Decimal("-1.5000"), Decimal("12345678901234567890.1234")]),
    "moment": (pa.timestamp("us"), [dt.datetime(1969, 1, 1, 0, 0, 0, 1), dt.datetime(2026, 5, 1, 12)]),
    "flag": (pa.bool_(), [True, False]),
}


def rows_and_by_task(engine: Engine, select: str) -> tuple[list[dict[str, Any]], bool]:
    """The rows, and whether a task made them."""
    found = rows(engine, select.replace("SELECT *", f"SELECT *, {TASK}", 1))
    made_by = {row.pop("task") for row in found}
    assert len(made_by) < 2 or "null" not in made_by
    return in_order(found), bool(made_by) and made_by != {"null"}


def agreed(engine: Engine, select: str) -> list[dict[str, Any]]:
    """The rows, looked up, which a scan finds as well."""
    found, has_task = rows_and_by_task(engine, select)
    assert not has_task, select
    rows(engine, f"SET {LOOKUPS} = off")
    try:
        assert rows_and_by_task(engine, select) == (found, bool(found)), select
    finally:
        rows(engine, f"RESET {LOOKUPS}")
    return found


def put_in_place(path: Path, table: pa.Table) -> None:
    """As long as the file before, which the metadata tell: what is missing is before the footer."""
    size = path.stat().st_size
    pq.write_table(table, path)
    made = path.read_bytes()
    footer = 8 + int.from_bytes(made[-8:-4], "little")
    path.write_bytes(made[:-footer] + bytes(size - len(made)) + made[-footer:])


def literal(value: Any) -> str:
    match value:
        case str():
            return "'" + value.replace("'", r"\'") + "'"
        case dt.datetime():
            return f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case Decimal():
            return f"{value}BD"
        case bool():
            return str(value).upper()
    return f"{value}L" if value != -(2**63) else "-9223372036854775807L - 1"


@pytest.mark.parametrize(
    ("file_format", "kinds"),
    [("parquet", list(KEYS)), pytest.param("orc", list(KEYS)[:4], marks=pytest.mark.long)],
)
def test_keys_of_all_types(
    engine: Engine, engine_warehouse: Path, file_format: str, kinds: list[str]
) -> None:
    """With deletes, sequence fields, versions in many files, and values that are null."""
    random = Random(5)
    fields = [pa.field(name, KEYS[name][0], nullable=False) for name in kinds]
    schema = pa.schema([*fields, ("op", pa.string()), ("age", pa.int32()), ("note", pa.string())])
    name = f"lookups.all_{file_format}"
    options = {"bucket": "2", "rowkind.field": "op", "sequence.field": "age", "file.format": file_format}
    create_table(engine_warehouse, name, schema, primary_keys=kinds, options=options)
    keys = [tuple(random.choice(KEYS[name][1]) for name in kinds) for _ in range(25)]
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for number in range(4):
        wanted = {key: None for key in random.choices(keys, k=12)}
        found = [
            {
                **dict(zip(kinds, key, strict=True)),
                "op": random.choice(["+I", "+I", "+U", "-D"]),
                # No two of a key are equal.
                "age": None if number == 0 else random.randrange(100) * 4 + number,
                "note": random.choice([None, f"in commit {number}"]),
            }
            for key in wanted
        ]
        commit(engine_warehouse, name, pa.Table.from_pylist(found, schema=schema))
        for key, row in zip(wanted, found, strict=True):
            if key not in newest or (newest[key]["age"] or -1) < (row["age"] or -1):
                newest[key] = row
    there = [row for row in newest.values() if row["op"] != "-D"]
    assert 5 < len(there) < len(newest)
    lists = (f"{each} IN ({', '.join(map(literal, KEYS[each][1]))})" for each in kinds)
    assert agreed(engine, f"SELECT * FROM {name} WHERE {' AND '.join(lists)}") == in_order(there)
    for key in keys[:4]:
        whole = " AND ".join(f"{each} = {literal(value)}" for each, value in zip(kinds, key, strict=True))
        expected = [each for each in there if all(each[n] == v for n, v in zip(kinds, key, strict=True))]
        assert agreed(engine, f"SELECT * FROM {name} WHERE {whole}") == expected
        # A condition on what versions differ in counts for the newest alone.
        assert agreed(engine, f"SELECT * FROM {name} WHERE {whole} AND note IS NULL") == [
            each for each in expected if each["note"] is None
        ]


@pytest.mark.long
def test_partitions_older_schemas_and_other_conditions(engine: Engine, engine_warehouse: Path) -> None:
    name = "lookups.evolved"
    schema = pa.schema([*ORDERS, pa.field("part", pa.string(), nullable=False), ("count", pa.int32())])
    options = {"bucket": "1"}
    create_table(
        engine_warehouse, name, schema, primary_keys=["part", "id"], partition_keys=["part"], options=options
    )
    first = [{"id": n, "name": "old", "part": "ab"[n % 2], "count": n} for n in range(9)]
    commit(engine_warehouse, name, pa.Table.from_pylist(first, schema=schema))
    catalog = CatalogFactory.create({"warehouse": str(engine_warehouse)})
    catalog.alter_table(
        name,
        [
            SchemaChange.rename_column("name", "who"),
            SchemaChange.add_column("name", AtomicType("INT")),
            SchemaChange.update_column_type("count", AtomicType("BIGINT")),
        ],
    )
    new = pa.schema(
        [
            schema.field("id"),
            ("who", pa.string()),
            schema.field("part"),
            ("count", pa.int64()),
            ("name", pa.int32()),
        ]
    )
    second = [{"id": n, "who": None, "part": "b", "count": 2**40, "name": n} for n in (1, 2)]
    commit(engine_warehouse, name, pa.Table.from_pylist(second, schema=new))
    some = f"SELECT * FROM {name} WHERE id IN (1, 2, 3, 77)"
    # By its key alone, whatever its partition.
    assert [row["name"] for row in agreed(engine, some)] == [1, None, 2, None]
    assert [row["who"] for row in agreed(engine, f"{some} AND part = 'a'")] == ["old"]
    assert [row["id"] for row in agreed(engine, f"{some} AND count < 3 AND upper(who) = 'OLD'")] == [2]
    assert agreed(engine, f"SELECT * FROM {name} WHERE ID = '3' AND PART = 'b' AND rand() < 2")[0]["id"] == 3
    assert agreed(engine, f"SELECT * FROM {name} WHERE id = 3 AND part = 'a'") == []
    assert rows(engine, f"SELECT who AS a, 1 + count AS b FROM {name} WHERE id = 3") == [{"a": "old", "b": 4}]
    join = f"SELECT a.id, b.id AS other FROM {name} a JOIN {name} b ON b.count = a.id WHERE a.id = 3"
    assert rows(engine, join) == [{"id": 3, "other": 3}]
    counted = (
        f"SELECT count(*) AS n FROM {name} WHERE id = 1 AND part IN (SELECT part FROM {name} WHERE id = 8)"
    )
    assert rows(engine, counted) == [{"n": 0}]
    assert agreed(engine, f"SELECT * FROM {name} VERSION AS OF 1 WHERE id = 1") == [
        {"id": 1, "name": "old", "part": "b", "count": 1}
    ]
    told = about("looked up", "job")
    assert told.search(ask(engine, f"EXPLAIN FORMATTED {some}").explained)
    assert not told.search(ask(engine, f"EXPLAIN SELECT * FROM {name} WHERE count = 1").explained)


@pytest.mark.long
def test_keys_on_the_edges_of_what_is_read_at_once(engine: Engine, engine_warehouse: Path) -> None:
    """Files are sorted by the first column, which goes on with the same value for several batches."""
    name = "lookups.edges"
    fields = [pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int32(), nullable=False)]
    schema = pa.schema([*fields, ("n", pa.int32())])
    create_table(engine_warehouse, name, schema, primary_keys=["a", "b"], options={"bucket": "1"})
    firsts = [-3] * 1023 + [-2] * 1 + [-1] * 1025 + [0] * 3000 + [9] * 1000
    for age, step in enumerate((1, 7)):
        columns = [firsts[::step], list(range(len(firsts)))[::step], [age] * len(firsts[::step])]
        commit(engine_warehouse, name, pa.table(columns, schema=schema))
    last = len(firsts) - 1
    for place in (0, 1022, 1023, 1024, 2047, 2048, 2049, 5048, 5049, last):
        expected = {"a": firsts[place], "b": place, "n": int(place % 7 == 0)}
        where = f"a = {firsts[place]} AND b = {place}"
        assert agreed(engine, f"SELECT * FROM {name} WHERE {where}") == [expected]
    for where, count in (
        (f"a IN (-3, 9) AND b IN (0, 1022, {last})", 3),
        (f"a IN (9, -3, 5) AND b = {last}", 1),
        ("a = 0 AND b = 0", 0),
        ("a = 5 AND b = 5049", 0),
        ("a = -4 AND b = 0", 0),
    ):
        assert len(agreed(engine, f"SELECT * FROM {name} WHERE {where}")) == count, where


def test_rows_without_a_key(engine: Engine, engine_warehouse: Path) -> None:
    name = "lookups.plain"
    schema = pa.schema([("n", pa.int64()), ("word", pa.string()), ("rate", pa.float64())])
    create_table(engine_warehouse, name, schema)
    for start in (0, 3000):
        numbers = list(range(start, start + 3000))
        words = [None if n % 3 == 0 else f"w{n % 100}" for n in numbers]
        rates = [float("nan") if n == 7 else -0.0 if n == 8 else n / 2 for n in numbers]
        commit(engine_warehouse, name, pa.table([numbers, words, rates], schema=schema))
    assert agreed(engine, f"SELECT * FROM {name} WHERE n = 3001") == [
        {"n": 3001, "word": "w1", "rate": 1500.5}
    ]
    assert len(agreed(engine, f"SELECT * FROM {name} WHERE word IN ('w1', 'none') AND rate < 100")) == 2
    assert len(agreed(engine, f"SELECT * FROM {name} WHERE n IN (0, 3, NULL) AND word IS NULL")) == 2


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"merge-engine": "partial-update"}, marks=pytest.mark.long),
        {"merge-engine": "aggregation", "fields.count.aggregate-function": "sum"},
        {"file.format": "avro", "sequence.field": "count"},
    ],
    ids=["partial-update", "aggregation", "avro"],
)
def test_of_tables_that_only_the_library_reads(
    engine: Engine, engine_warehouse: Path, options: dict[str, str]
) -> None:
    """In two partitions, as of two versions; and the first rows without a condition."""
    name = f"lookups.library_{'_'.join(options.values()).replace('-', '_')}"
    schema = pa.schema([pa.field("part", pa.string(), nullable=False), *ORDERS, ("count", pa.int32())])
    create_table(
        engine_warehouse,
        name,
        schema,
        primary_keys=["part", "id"],
        partition_keys=["part"],
        options={"bucket": "2", **options},
    )
    for number in (1, 2):
        made = [
            {"part": part, "id": n, "name": None if number == 2 and n % 2 else f"{part}{number}", "count": n}
            for part in "ab"
            for n in range(number, number + 6)
        ]
        commit(engine_warehouse, name, pa.Table.from_pylist(made, schema=schema))
    everything = rows(engine, f"SELECT * FROM {name}")
    assert len(everything) == 14
    for where, count in (
        ("part = 'a' AND id = 3", 1),
        ("id IN (1, 7)", 4),
        ("id = 3 AND part = 'b' AND count > 2 AND name IS NOT NULL", 1 if "avro" not in name else 0),
        ("id = 77", 0),
    ):
        found = agreed(engine, f"SELECT * FROM {name} WHERE {where}")
        assert len(found) == count and all(row in everything for row in found), where
    old = f"{name} VERSION AS OF 1"
    assert [row["name"] for row in agreed(engine, f"SELECT * FROM {old} WHERE part = 'a' AND id = 4")] == [
        "a1"
    ]
    for limit in (3, 20):
        found, has_task = rows_and_by_task(engine, f"SELECT * FROM {name} LIMIT {limit}")
        assert not has_task and len(found) == min(limit, 14) and all(row in everything for row in found)
    assert rows_and_by_task(engine, f"SELECT * FROM {name} WHERE name = 'a1' LIMIT 2")[1]


@pytest.mark.parametrize("file_format", ["avro", "orc"])
def test_first_rows_of_files_that_are_read_row_by_row(
    engine: Engine, engine_warehouse: Path, file_format: str
) -> None:
    name = f"lookups.first_{file_format}"
    create_table(engine_warehouse, name, ORDERS, options={"file.format": file_format})
    for start in (0, 5):
        commit(engine_warehouse, name, pa.table([list(range(start, start + 5)), ["x"] * 5], schema=ORDERS))
    for limit in (0, 4, 8, 11):
        found, has_task = rows_and_by_task(engine, f"SELECT * FROM {name} LIMIT {limit}")
        assert not has_task and len({row["id"] for row in found}) == min(limit, 10)


def test_many_files_without_statistics(engine: Engine, engine_warehouse: Path) -> None:
    name = "lookups.footers"
    schema = pa.schema([("n", pa.int64()), ("word", pa.string()), ("day", pa.date32())])
    create_table(engine_warehouse, name, schema)
    for number in range(18):
        words = [None, None] if number == 3 else [f"w{number}", "x"]
        columns = [[number * 10, number * 10 + 5], words, [dt.date(2026, 1, number + 1), None]]
        commit(engine_warehouse, name, pa.table(columns, schema=schema))
    wanted = {"n": 35, "word": None, "day": None}
    for where in ("n IN (35, 77)", "n = 35 AND word IS NULL"):
        assert agreed(engine, f"SELECT * FROM {name} WHERE {where}") == [wanted]
    for where in ("day = DATE '2026-01-05'", "word = 'w4' AND n BETWEEN 40 AND 45"):
        assert len(agreed(engine, f"SELECT * FROM {name} WHERE {where}")) == 1


@pytest.mark.parametrize(
    ("where", "count"),
    [
        # More are found than are worth it.
        ("word = 'x'", 3000),
        # Zeros of both signs, NaN, zones and bytes: Spark compares them.
        ("rate = 0", 1),
        ("rate = double('nan')", 1),
        ("moment = TIMESTAMP '1970-01-01 00:00:00 UTC'", 1),
        ("raw = X'61'", 3000),
        # What is not a column, and not a value.
        ("abs(n) = 5", 1),
        ("n = 5.5D - 0.5D", 1),
        ("n = 5 OR word = 'y'", 1),
        ("word COLLATE UNICODE_CI = 'X'", 3000),
        ("n <=> length(word)", 1),
        ("n > 5 AND n < 7", 1),
    ],
)
def test_what_is_left_to_a_scan(engine: Engine, refused: str, where: str, count: int) -> None:
    for _ in range(2 if count > 1 else 1):
        found, has_task = rows_and_by_task(engine, f"SELECT * FROM {refused} WHERE {where}")
        assert (len(found), has_task) == (count, True)


@pytest.fixture(scope="session")
def refused(engine_warehouse: Path) -> str:
    name = "lookups.refused"
    schema = pa.schema(
        [
            ("n", pa.int64()),
            ("word", pa.string()),
            ("rate", pa.float64()),
            ("moment", pa.timestamp("us", "UTC")),
            ("raw", pa.binary()),
        ]
    )
    create_table(engine_warehouse, name, schema)
    found = [
        {
            "n": n,
            "word": "x",
            "rate": [float("nan"), -0.0, 1.0][min(n, 2)],
            "moment": dt.datetime.fromtimestamp(n, dt.UTC),
            "raw": b"a",
        }
        for n in range(3000)
    ]
    commit(engine_warehouse, name, pa.Table.from_pylist(found, schema=schema))
    return name


@pytest.mark.parametrize("file_format", long_but(["parquet", "orc"], "parquet"))
def test_readers_that_make_no_batches(engine: Engine, engine_warehouse: Path, file_format: str) -> None:
    name, batches = f"lookups.by_row_{file_format}", f"spark.sql.{file_format}.enableVectorizedReader"
    options = {"bucket": "1", "file.format": file_format}
    create_table(engine_warehouse, name, ORDERS, primary_keys=["id"], options=options)
    for start, word in ((0, "a"), (10, "b")):
        rows_of = [list(range(start, start + 20)), [word] * 20]
        commit(engine_warehouse, name, pa.table(rows_of, schema=ORDERS))
    rows(engine, f"SET {batches} = false")
    try:
        found = agreed(engine, f"SELECT * FROM {name} WHERE id IN (5, 15, 29, 77)")
    finally:
        rows(engine, f"RESET {batches}")
    assert {(row["id"], row["name"]) for row in found} == {(5, "a"), (15, "b"), (29, "b")}


def test_half_a_key_is_left_to_a_scan(engine: Engine, engine_warehouse: Path) -> None:
    name = "lookups.half"
    schema = pa.schema([*ORDERS, pa.field("rate", pa.float64(), nullable=False)])
    create_table(engine_warehouse, name, schema, primary_keys=["id", "rate"], options={"bucket": "1"})
    commit(engine_warehouse, name, pa.table([[1, 2], ["a", "b"], [0.5, 0.5]], schema=schema))
    for where in ("id = 1", "id = 1 AND rate = 0.5D", "name = 'a'"):
        assert rows_and_by_task(engine, f"SELECT * FROM {name} WHERE {where}") == (
            [{"id": 1, "name": "a", "rate": 0.5}],
            True,
        )


def test_rows_that_are_too_big_to_keep_are_left_to_a_scan(engine: Engine, engine_warehouse: Path) -> None:
    name = "lookups.big"
    create_table(engine_warehouse, name, ORDERS, primary_keys=["id"], options={"bucket": "1"})
    commit(engine_warehouse, name, pa.table([[1, 2], ["x" * (2 << 20), "x"]], schema=ORDERS))
    for number, has_task in ((1, True), (2, False)):
        found, is_scanned = rows_and_by_task(
            engine, f"SELECT *, length(name) AS n FROM {name} WHERE id = {number}"
        )
        assert (len(found), is_scanned) == (1, has_task)


def test_a_lookup_is_cancelled(engine: Engine, engine_warehouse: Path) -> None:
    """Here it would go on for so long that its engine would be killed."""
    name = "lookups.long"
    create_table(engine_warehouse, name, pa.schema([("word", pa.string())]))
    noise = Random(5).randbytes(1 << 20).hex()
    commit(engine_warehouse, name, pa.table({"word": [noise]}))
    (path,) = (engine_warehouse / "lookups.db" / "long").rglob("data-*.parquet")
    long = "x" * 100_000
    words = pa.DictionaryArray.from_arrays([0] * 200_000 + [1], [long + "a", long + "b"])
    put_in_place(path, pa.table({"word": words}))
    others = ", ".join(f"repeat('x', 100000) || '{number}'" for number in range(9))
    last: Event | None = None
    for last in engine.run(f"SELECT * FROM {name} WHERE word IN ({others}, repeat('x', 100000) || 'b')"):
        if isinstance(last, Reading):
            engine.cancel()
    assert last == CANCELLED


def test_no_state_is_answered_with_another_one(engine: Engine, engine_warehouse: Path) -> None:
    """The same key of the same columns: of snapshots, tags, a branch, two tables, a table made anew."""
    name, other = "lookups.states", "lookups.others"
    for each in (name, other):
        create_table(engine_warehouse, each, ORDERS, primary_keys=["id"], options={"bucket": "1"})
    expected = {}
    for number in (1, 2):
        commit(engine_warehouse, name, pa.table([[1, 2], [f"v{number}", "x"]], schema=ORDERS))
        open_table(engine_warehouse, name).create_tag(f"t{number}", number)
        expected[f"{name} VERSION AS OF {number}"] = expected[f"{name} VERSION AS OF 't{number}'"] = (
            f"v{number}"
        )
    commit(engine_warehouse, other, pa.table([[1], ["other"]], schema=ORDERS))
    open_table(engine_warehouse, name).branch_manager().create_branch("fix", "t1")
    commit(engine_warehouse, f"{name}$branch_fix", pa.table([[1], ["fixed"]], schema=ORDERS))
    expected |= {name: "v2", other: "other", "lookups.`states$branch_fix`": "fixed"}
    for _ in range(2):
        for table, value in expected.items():
            assert agreed(engine, f"SELECT * FROM {table} WHERE id = 1") == [{"id": 1, "name": value}]
    shutil.rmtree(engine_warehouse / "lookups.db" / "others")
    create_table(engine_warehouse, other, ORDERS, primary_keys=["id"], options={"bucket": "1"})
    commit(engine_warehouse, other, pa.table([[1], ["anew"]], schema=ORDERS))
    assert agreed(engine, f"SELECT * FROM {other} WHERE id = 1") == [{"id": 1, "name": "anew"}]
    commit(engine_warehouse, name, pa.table([[1], ["v3"]], schema=ORDERS))
    assert agreed(engine, f"SELECT * FROM {name} WHERE id = 1") == [{"id": 1, "name": "v3"}]


def test_a_lost_file_is_an_error(engine: Engine, engine_warehouse: Path) -> None:
    name = "lookups.lost"
    create_table(engine_warehouse, name, ORDERS, primary_keys=["id"], options={"bucket": "1"})
    for number in (1, 2):
        commit(engine_warehouse, name, pa.table([[1, 5], [f"{number}", "x"]], schema=ORDERS))
    lost = next((engine_warehouse / "lookups.db" / "lost").rglob("data-*.parquet"))
    lost.unlink()
    assert lost.name in ask(engine, f"SELECT * FROM {name} WHERE id = 1").failure.message
