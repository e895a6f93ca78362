"""What Spark writes through us is one commit, on the state it was made for, and stock Paimon reads it."""

from __future__ import annotations

import datetime as dt
import shutil
from decimal import Decimal
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Write
from paimark.core.table.records import TableSchema
from tests.conftest import EVENTS, ORDERS
from tests.interop.judge import Judge, comparable
from tests.long import long_but
from tests.paimon import commit, create_table, open_table, read_rows
from tests.spark.datasource.test_types import ROWS as EVERY_VALUE
from tests.spark.datasource.test_types import SCHEMA as EVERY_TYPE
from tests.spark.engine_fixture import in_order, rows
from tests.spark.written_tables import lineage_of, order, overwriting, refused, run_write, version
from tests.wording import about

TABLES = ("shop.orders", "shop.events")


def own_table(warehouse: Path, database: str, table: str = "orders") -> str:
    shutil.copytree(warehouse / "shop.db" / table, warehouse / f"{database}.db" / table)
    return f"{database}.{table}"


def test_an_overwrite_gives_the_table_the_rows_of_another_version(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    name = own_table(engine_warehouse, "overwritten")
    lineage = lineage_of(engine_warehouse, name)
    before = judge.read(engine_warehouse, name)
    wanted = judge.read(engine_warehouse, name, snapshot=2)
    assert before != wanted
    made = run_write(engine, order(lineage, "SELECT * FROM old", overwrite=True, old=version(lineage, 2)))
    assert made == 6
    snapshot = lineage.snapshot(6)
    assert (snapshot.commit_kind, snapshot.schema_id) == ("OVERWRITE", 0)
    assert judge.read(engine_warehouse, name) == wanted == comparable(read_rows(engine_warehouse, name))
    assert judge.read(engine_warehouse, name, snapshot=5) == before
    judge.compact(engine_warehouse, name)
    assert judge.read(engine_warehouse, name) == wanted


def test_rows_written_later_win_over_those_an_overwrite_wrote(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    name = own_table(engine_warehouse, "upserted")
    lineage = lineage_of(engine_warehouse, name)
    run_write(engine, order(lineage, "SELECT * FROM old", overwrite=True, old=version(lineage, 3)))
    sql = "SELECT order_id, concat(customer, '!') AS customer, price FROM old WHERE order_id > 3"
    run_write(engine, order(lineage, sql, old=version(lineage, 3)))
    expected = [
        {**row, "customer": f"{row['customer']}!"} if row["order_id"] > 3 else row
        for row in judge.read(engine_warehouse, name, snapshot=3)
    ]
    assert judge.read(engine_warehouse, name) == comparable(expected)
    judge.write(engine_warehouse, name, [{"order_id": 4, "customer": "theirs", "price": 0.0}])
    assert [row for row in judge.read(engine_warehouse, name) if row["order_id"] == 4] == [
        {"order_id": 4, "customer": "theirs", "price": 0.0}
    ]


def test_an_append_adds_rows_to_the_branch_it_names(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    name = own_table(engine_warehouse, "appended", "events")
    open_table(engine_warehouse, name).create_tag("fork", 1)
    open_table(engine_warehouse, name).branch_manager().create_branch("fix", "fork")
    main, branch = lineage_of(engine_warehouse, name), lineage_of(engine_warehouse, name, "fix")
    main_rows, fork_rows = judge.read(engine_warehouse, name), judge.read(engine_warehouse, name, snapshot=1)
    added = [row for row in main_rows if row not in fork_rows]
    task = order(
        branch, "SELECT * FROM main EXCEPT ALL SELECT * FROM old", main=version(main, 2), old=version(main, 1)
    )
    assert run_write(engine, task) == 2
    assert branch.snapshot(2).commit_kind == "APPEND"
    assert judge.read(engine_warehouse, f"{name}$branch_fix") == comparable(fork_rows + added)
    assert judge.read(engine_warehouse, name) == main_rows
    assert main.latest_id() == 2


DAYS = pa.schema(
    [
        pa.field("day", pa.string(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        ("v", pa.int64()),
    ]
)


def test_only_partitions_with_rows_that_change_are_written_again(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    name = "partly.days"
    create_table(
        engine_warehouse,
        name,
        DAYS,
        primary_keys=["day", "id"],
        partition_keys=["day"],
        options={"bucket": "1"},
    )
    given = [{"day": day, "id": number, "v": 1} for day in ("a", "b", "c") for number in (1, 2)]
    commit(engine_warehouse, name, pa.Table.from_pylist(given, schema=DAYS))
    lineage = lineage_of(engine_warehouse, name)
    # One is emptied, a row of another one changes, and one that was not there comes.
    sql = (
        "SELECT day, id, v + 1 AS v, day = 'a' AS __paimark_gone FROM now WHERE day = 'a' "
        "OR day = 'b' AND id = 2 UNION ALL SELECT 'd', 5, 5, false"
    )
    assert run_write(engine, overwriting(lineage, sql, now=version(lineage, 1))) == 2
    made = lineage.snapshot(2)
    assert (made.commit_kind, made.delta_record_count) == ("OVERWRITE", -1)
    expected: list[dict[str, object]] = [
        {"day": "b", "id": 1, "v": 1},
        {"day": "b", "id": 2, "v": 2},
        {"day": "c", "id": 1, "v": 1},
        {"day": "c", "id": 2, "v": 1},
        {"day": "d", "id": 5, "v": 5},
    ]
    assert judge.read(engine_warehouse, name) == comparable(expected)
    none = overwriting(lineage, f"SELECT * FROM ({sql}) LIMIT 0", now=version(lineage, 2))
    assert run_write(engine, none) is None
    assert lineage.latest_id() == 2
    judge.write(engine_warehouse, name, [{"day": "b", "id": 2, "v": 7}])
    assert {"day": "b", "id": 2, "v": 7} in judge.read(engine_warehouse, name)


@pytest.mark.long
def test_all_files_of_a_replaced_partition_go_however_many_manifests_name_them(
    engine: Engine, engine_warehouse: Path
) -> None:
    """Paimon reads manifests side by side."""
    name, options = "besides.days", {"scan.manifest.parallelism": "8", "bucket": "1"}
    create_table(
        engine_warehouse, name, DAYS, primary_keys=["day", "id"], partition_keys=["day"], options=options
    )
    days = [f"2026-05-{day:02}" for day in range(1, 9)]
    for number in range(16):
        ids, values = [number] * len(days), [0] * len(days)
        commit(engine_warehouse, name, pa.table({"day": days, "id": ids, "v": values}, DAYS))
    lineage = lineage_of(engine_warehouse, name)
    sql = "SELECT day, id, 1 AS v, id > 0 AS __paimark_gone FROM now"
    run_write(engine, overwriting(lineage, sql, now=version(lineage, 16)))
    assert rows(engine, f"SELECT id, v, count(*) AS n FROM {name} GROUP BY id, v") == [
        {"id": 0, "v": 1, "n": 8}
    ]


def test_an_overwrite_without_rows_empties_the_table(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    name = own_table(engine_warehouse, "emptied")
    lineage = lineage_of(engine_warehouse, name)
    task = order(lineage, "SELECT * FROM now LIMIT 0", overwrite=True, now=version(lineage, 5))
    assert run_write(engine, task) == 6
    assert judge.read(engine_warehouse, name) == read_rows(engine_warehouse, name) == []


def test_buckets_that_the_table_makes_as_it_grows(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    name = "dynamic.orders"
    schema = pa.schema([pa.field("day", pa.string(), nullable=False), *ORDERS])
    create_table(
        engine_warehouse,
        name,
        schema,
        primary_keys=["day", "order_id"],
        partition_keys=["day"],
        options={"dynamic-bucket.target-row-num": "3"},
    )
    given = {
        "day": [f"d{number % 2}" for number in range(20)],
        "order_id": list(range(20)),
        "customer": ["c"] * 20,
        "price": [1.0] * 20,
    }
    commit(engine_warehouse, name, pa.table(given, schema=schema))
    lineage = lineage_of(engine_warehouse, name)
    wanted = judge.read(engine_warehouse, name)
    sql = "SELECT * FROM now WHERE order_id < 15"
    run_write(engine, order(lineage, sql, overwrite=True, now=version(lineage, 1)))
    kept = [row for row in wanted if int(str(row["order_id"])) < 15]
    assert judge.read(engine_warehouse, name) == kept == comparable(read_rows(engine_warehouse, name))
    # Keys are found again in the buckets that the overwrite gave them.
    upsert = "SELECT day, order_id, 'new' AS customer, price FROM now"
    run_write(engine, order(lineage, upsert, now=version(lineage, 1)))
    assert judge.read(engine_warehouse, name) == comparable([{**row, "customer": "new"} for row in wanted])


def moved(warehouse: Path, name: str, task: Write) -> Write:
    """The same order, and another writer who is faster."""
    newer = pa.table({"order_id": [77], "customer": ["other"], "price": [7.0]}, schema=ORDERS)
    commit(warehouse, name, newer)
    return task


def test_a_commit_that_comes_between_is_never_overwritten(engine: Engine, engine_warehouse: Path) -> None:
    name = own_table(engine_warehouse, "raced")
    lineage = lineage_of(engine_warehouse, name)
    task = order(lineage, "SELECT * FROM old", overwrite=True, old=version(lineage, 2))
    failed = refused(engine, moved(engine_warehouse, name, task))
    assert about("main of raced.orders", "moved", "written", "snapshot 5", "6").search(failed.message)
    assert lineage.latest_id() == 6
    assert 77 in {row["order_id"] for row in read_rows(engine_warehouse, name)}


def test_a_definition_that_changed_meanwhile_stops_the_commit(engine: Engine, engine_warehouse: Path) -> None:
    name = own_table(engine_warehouse, "altered")
    lineage = lineage_of(engine_warehouse, name)
    task = order(lineage, "SELECT * FROM old", overwrite=True, old=version(lineage, 2))
    directory = engine_warehouse / "altered.db" / "orders" / "schema"
    changed = msgspec.json.decode((directory / "schema-0").read_bytes())
    (directory / "schema-1").write_bytes(msgspec.json.encode({**changed, "id": 1}))
    failed = refused(engine, task)
    assert "The definition of altered.orders changed" in failed.message
    assert lineage.latest_id() == 5


def test_another_main_meanwhile_stops_the_commit(engine: Engine, engine_warehouse: Path) -> None:
    name = own_table(engine_warehouse, "repointed")
    open_table(engine_warehouse, name).branch_manager().create_branch("next", "v2")
    lineage = lineage_of(engine_warehouse, name)
    sql = "SELECT * FROM old"
    task = order(lineage, sql, overwrite=True, follows_main=True, old=version(lineage, 2))
    (engine_warehouse / "repointed.db" / "orders" / "branch" / "MAIN-BRANCH").write_text("next")
    assert "Another branch of repointed.orders became main" in refused(engine, task).message
    assert lineage.latest_id() == 5
    assert lineage_of(engine_warehouse, name, "next").latest_id() == 2


def test_a_task_that_fails_leaves_no_file_and_no_commit(engine: Engine, engine_warehouse: Path) -> None:
    name = own_table(engine_warehouse, "failed")
    lineage = lineage_of(engine_warehouse, name)
    directory = engine_warehouse / "failed.db" / "orders"
    before = {path for path in directory.rglob("*") if path.is_file()}
    sql = "SELECT order_id, customer, IF(order_id = 3, raise_error('no'), price) AS price FROM old"
    refused(engine, order(lineage, sql, overwrite=True, old=version(lineage, 5)))
    nulls = "SELECT IF(order_id = 3, NULL, order_id) AS order_id, customer, price FROM old"
    unset = refused(engine, order(lineage, nulls, old=version(lineage, 5)))
    assert about("order_id", "null").search(unset.message)
    assert {path for path in directory.rglob("*") if path.is_file()} == before


def test_an_older_version_is_written_by_todays_definition(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    name = own_table(engine_warehouse, "renamed")
    lineage = lineage_of(engine_warehouse, name)
    schema = lineage.latest_schema()
    assert schema is not None
    fields = [msgspec.to_builtins(each) for each in schema.as_written()["fields"]]
    fields[2]["name"] = "amount"
    fields.append({"id": 3, "name": "note", "type": "STRING"})
    changed = {**schema.as_written(), "id": 1, "fields": fields, "highestFieldId": 3}
    path = engine_warehouse / "renamed.db" / "orders" / "schema" / "schema-1"
    path.write_bytes(TableSchema.from_json(msgspec.json.encode(changed), "test").to_json())
    old = judge.read(engine_warehouse, name, snapshot=2)
    run_write(engine, order(lineage, "SELECT * FROM old", overwrite=True, old=version(lineage, 2)))
    assert lineage.snapshot(6).schema_id == 1
    assert judge.read(engine_warehouse, name) == comparable(
        {"order_id": row["order_id"], "customer": row["customer"], "amount": row["price"], "note": None}
        for row in old
    )


def test_columns_are_not_taken_for_parts_of_others(engine: Engine, engine_warehouse: Path) -> None:
    """PySpark takes `v.x` for a part of `v`; stock engines make columns of such names."""
    name, names = "oddly.named", ("a`b", "w.y")
    # With a `v.x` Paimon's Parquet files would not do, and its ORC files lose the name with a backtick.
    schema = pa.schema([("v", pa.struct([("x", pa.string())])), *((each, pa.string()) for each in names)])
    create_table(engine_warehouse, name, schema)
    row = {"v": {"x": "part"}, **{each: f"own {each}" for each in names}}
    commit(engine_warehouse, name, pa.Table.from_pylist([row], schema=schema))
    lineage = lineage_of(engine_warehouse, name)
    again = order(lineage, "SELECT * FROM old", overwrite=True, old=version(lineage, 1))
    run_write(engine, again)
    assert read_rows(engine_warehouse, name) == [row]


@pytest.mark.parametrize("table", TABLES)
def test_sql_still_reads_what_was_written(engine: Engine, engine_warehouse: Path, table: str) -> None:
    name = own_table(engine_warehouse, f"again_{table[5:]}", table[5:])
    lineage = lineage_of(engine_warehouse, name)
    run_write(engine, order(lineage, "SELECT * FROM old", overwrite=True, old=version(lineage, 1)))
    now, then = rows(engine, f"SELECT * FROM {name}"), rows(engine, f"SELECT * FROM {name} VERSION AS OF 1")
    assert in_order(now) == in_order(then)
    assert EVENTS.names == ["day", "kind"]


@pytest.mark.parametrize("keys", [(), ("id",)])
def test_every_type_is_written_as_it_was_read(
    engine: Engine, engine_warehouse: Path, keys: tuple[str, ...]
) -> None:
    name = f"written_{len(keys)}.everything"
    options = {"bucket": "2"} if keys else {}
    create_table(engine_warehouse, name, EVERY_TYPE, primary_keys=keys, options=options)
    commit(engine_warehouse, name, pa.Table.from_pylist(EVERY_VALUE, schema=EVERY_TYPE))
    before = read_rows(engine_warehouse, name)
    lineage = lineage_of(engine_warehouse, name)
    task = order(lineage, "SELECT * FROM old", overwrite=True, old=version(lineage, 1))
    assert run_write(engine, task) == 2
    assert in_order(read_rows(engine_warehouse, name)) == in_order(before) == in_order(EVERY_VALUE)


PARTS: dict[str, tuple[pa.DataType, list[object]]] = {
    "day": (pa.date32(), [dt.date(2026, 5, 1), dt.date(1969, 12, 31), dt.date(2026, 5, 2)]),
    "money": (pa.decimal128(18, 2), [Decimal("1.50"), Decimal("-2.00"), Decimal("1.51")]),
    "flag": (pa.bool_(), [True, False]),
    "hour": (pa.timestamp("ms"), [dt.datetime(2026, 5, 1, 12), dt.datetime(1969, 1, 1, 0, 0, 1)]),
    "text": (pa.string(), ["a/b=c%", "a longer one", ""]),
    "number": (pa.int64(), [-1, 2**40, 0]),
}


@pytest.mark.parametrize("kind", long_but(PARTS, "text"))
def test_partitions_of_every_type_are_replaced_and_no_other(
    engine: Engine, engine_warehouse: Path, kind: str
) -> None:
    name, (arrow_type, values) = f"parts_{kind}.t", PARTS[kind]
    key = pa.field("k", pa.int64(), nullable=False)
    schema = pa.schema([pa.field("p", arrow_type, nullable=False), key, pa.field("n", pa.int64())])
    create_table(engine_warehouse, name, schema, primary_keys=["p", "k"], partition_keys=["p"])
    given = [{"p": value, "k": 1, "n": number} for number, value in enumerate(values)]
    commit(engine_warehouse, name, pa.Table.from_pylist(given, schema=schema))
    lineage = lineage_of(engine_warehouse, name)
    for replaced in range(len(values)):
        before = read_rows(engine_warehouse, name)
        newest = lineage.latest_id()
        assert newest is not None
        sql = f"SELECT p, k, n + 10 AS n, false AS __paimark_gone FROM now WHERE n % 10 = {replaced}"
        assert run_write(engine, overwriting(lineage, sql, now=version(lineage, newest))) == newest + 1
        expected = [{**row, "n": row["n"] + 10} if row["n"] % 10 == replaced else row for row in before]
        assert in_order(read_rows(engine_warehouse, name)) == in_order(expected)
