"""INSERT by SQL: rows go by place, without loss, as one commit on main or a branch."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import msgspec
import pyarrow as pa
import pytest
from pypaimon.filesystem.local_file_io import LocalFileIO

from paimark.core.actions.plan import Plan
from paimark.core.config import Settings
from paimark.core.errors import Refused, StatementFailed
from paimark.core.spark.arrow import read_batch
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Batch, Event, Failed, Task
from paimark.core.statements.insert import action_of_insert
from paimark.core.statements.run import CallMode, action_to_confirm, context_for, run_statement
from paimark.core.table.layout import TablePath
from paimark.core.table.records import TableSchema
from paimark.core.travel.parse.sql import read_statement
from tests.actions.acting import context_on, done
from tests.conftest import EVENTS, ORDERS
from tests.interop.judge import Judge, comparable
from tests.long import long_but
from tests.paimon import commit, create_table, read_rows
from tests.spark.datasource.test_table_options import set_options
from tests.spark.engine_fixture import Answer, ask
from tests.spark.written_tables import lineage_of
from tests.wording import about

WIDE = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        pa.field("small", pa.int8()),
        pa.field("price", pa.decimal128(5, 2)),
        pa.field("text", pa.string()),
        pa.field("ratio", pa.float32()),
        pa.field("day", pa.date32()),
        pa.field("tags", pa.list_(pa.int64())),
    ]
)


@pytest.fixture(autouse=True)
def _audit_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def own_table(warehouse: Path, database: str, table: str = "orders") -> str:
    shutil.copytree(warehouse / "shop.db" / table, warehouse / f"{database}.db" / table)
    return f"{database}.{table}"


def agreed(engine: Engine, sql: str, **options: Any) -> Answer:
    """One statement to its end, by somebody who agrees to all."""
    answer = Answer()
    for event in run_statement(context_for(engine), sql, call=CallMode(lambda action, plan: None), **options):
        answer.events.append(event)
        if isinstance(event, Batch):
            answer.rows += read_batch(event).to_pylist()
    return answer


def inserted(engine: Engine, sql: str, **options: Any) -> dict[str, Any]:
    answer = agreed(engine, sql, **options)
    assert answer.finish.rows == 1
    return answer.rows[0]


def failure(engine: Engine, sql: str) -> Failed:
    return agreed(engine, sql).failure


def test_rows_go_by_place_to_main_and_to_a_branch(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    name = own_table(engine_warehouse, "inserted")
    context, table = context_on(engine_warehouse), TablePath("inserted", "orders")
    done(context, "create-savepoint", table=table, snapshot=1)
    done(context, "create-branch", table=table, name="b", tag="v2")
    before = judge.read(engine_warehouse, name)

    answer = agreed(engine, "INSERT INTO inserted.orders VALUES (90, 'new', 1), (91, NULL, 2.5)")
    assert answer.rows == [{"action": "insert-into", "table": name, "snapshot_id": 6, "row_count": 2}]
    undo = "paimark undo inserted.orders"
    assert about("snapshot 6", "inserted.orders", "2 rows", undo).search(answer.finish.message)
    after = judge.read(engine_warehouse, name)
    assert after == comparable(read_rows(engine_warehouse, name))
    assert len(after) == len(before) + 2
    assert {"order_id": 91, "customer": None, "price": 2.5} in after

    # A branch, a list of columns in another order, a CTE before it, and the past of the very table.
    sql = """WITH old AS (SELECT * FROM orders VERSION AS OF 'savepoint.1' WHERE order_id > 2)
             INSERT INTO TABLE inserted.`orders$branch_b` (price, order_id)
             SELECT old.price + 1000, order_id FROM old JOIN orders USING (order_id)"""
    answer = agreed(engine, sql, database="inserted")
    assert answer.rows[0] | {"row_count": 2} == answer.rows[0]
    assert answer.rows[0]["table"] == f"{name}$branch_b"
    assert [reading.version.split(",")[0] for reading in answer.readings] == [
        "savepoint.1 (snapshot.1)",
        "snapshot.6",
    ]
    on_branch = {row["order_id"]: row for row in judge.read(engine_warehouse, f"{name}$branch_b")}
    assert on_branch[3] == {"order_id": 3, "customer": None, "price": 1013.0}
    assert judge.read(engine_warehouse, name) == after

    assert inserted(engine, f"INSERT INTO {name} SELECT * FROM {name} WHERE false")["snapshot_id"] is None
    assert (
        "nothing was committed"
        in agreed(engine, f"INSERT INTO {name} SELECT * FROM {name} LIMIT 0").finish.message
    )
    assert lineage_of(engine_warehouse, name).latest_id() == 6
    by_name = f"INSERT INTO {name} BY NAME SELECT 7.5 AS Price, 92 AS order_id"
    assert inserted(engine, by_name)["row_count"] == 1
    assert {"order_id": 92, "customer": None, "price": 7.5} in judge.read(engine_warehouse, name)


def test_an_overwrite_replaces_the_table_or_partitions_and_keeps_history(
    engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    name = own_table(engine_warehouse, "replaced_by", "events")

    def days() -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        read = judge.read(engine_warehouse, name)
        assert comparable(read_rows(engine_warehouse, name)) == read
        for row in read:
            found.setdefault(str(row["day"]), []).append(str(row["kind"]))
        return found

    first = judge.read(engine_warehouse, name)
    into = f"INSERT OVERWRITE {name} PARTITION (day = '2026-05-02') SELECT 'only' UNION ALL SELECT 'two'"
    assert inserted(engine, into)["row_count"] == 2
    assert days() == {"2026-05-01": ["click", "view", "None"], "2026-05-02": ["only", "two"]}
    # Only those partitions that rows come for; one is new.
    dynamic = f"INSERT OVERWRITE {name} PARTITION (day) VALUES ('2026-05-02', 'a'), ('2026-05-03', 'b')"
    inserted(engine, dynamic)
    assert days() == {"2026-05-01": ["click", "view", "None"], "2026-05-02": ["a"], "2026-05-03": ["b"]}
    # A partition without rows is emptied.
    inserted(engine, f"INSERT OVERWRITE {name} PARTITION (day = '2026-05-02') SELECT 'x' WHERE false")
    assert sorted(days()) == ["2026-05-01", "2026-05-03"]
    inserted(engine, f"INSERT INTO {name} PARTITION (day = '2026-05-04') (kind) VALUES ('c')")
    assert days()["2026-05-04"] == ["c"]
    # Without PARTITION the whole table, also by rows of its own.
    whole = agreed(engine, f"INSERT OVERWRITE {name} SELECT * FROM {name} WHERE day = '2026-05-03'")
    assert days() == {"2026-05-03": ["b"]}
    assert about(f"paimark undo {name}", "new commit").search(whole.finish.message)
    assert inserted(engine, f"INSERT OVERWRITE {name} SELECT * FROM {name} WHERE false")["row_count"] == 0
    assert days() == {}
    assert judge.read(engine_warehouse, name, snapshot=2) == first
    kinds = [row.commit_kind for row in lineage_of(engine_warehouse, name).newest(9)]
    assert kinds == ["OVERWRITE", "OVERWRITE", "APPEND", *["OVERWRITE"] * 3, "APPEND", "APPEND"]


def test_an_overwrite_replaces_no_more_than_the_session_asks_for(
    engine: Engine, engine_warehouse: Path
) -> None:
    """By this setting stock Spark leaves alone the partitions that no row comes for."""
    name = own_table(engine_warehouse, "dynamic_by_setting", "events")
    day = "PARTITION (day = '2026-05-02')"
    mode = "spark.sql.sources.partitionOverwriteMode"
    before = comparable(read_rows(engine_warehouse, name))
    assert ask(engine, f"SET {mode} = Dynamic").finish
    try:
        refused = failure(engine, f"INSERT OVERWRITE {name} VALUES ('2026-05-02', 'a')")
        assert about(mode, "dynamic", "other partitions").search(refused.message)
        assert "PARTITION (day)" in refused.hint
        assert refused.position == len("INSERT OVERWRITE ")
        assert comparable(read_rows(engine_warehouse, name)) == before
        inserted(engine, f"INSERT OVERWRITE {name} {day} SELECT 'a'")
        inserted(engine, f"INSERT OVERWRITE {name} PARTITION (day) VALUES ('2026-05-03', 'b')")
        assert inserted(engine, f"INSERT INTO {name} VALUES ('2026-05-03', 'c')")["row_count"] == 1
    finally:
        assert ask(engine, f"RESET {mode}").finish
    inserted(engine, f"INSERT OVERWRITE {name} VALUES ('2026-05-02', 'a')")
    assert len(read_rows(engine_warehouse, name)) == 1


def test_partitions_are_those_that_the_head_names(engine: Engine, engine_warehouse: Path) -> None:
    """However their values are written, in any case; also where no row comes, and Spark would cut them."""
    name = "named_parts.t"
    columns: list[tuple[str, pa.DataType]] = [
        *(("number", pa.int8()), ("day", pa.date32()), ("money", pa.decimal128(5, 2))),
        *(("hour", pa.timestamp("ms")), ("flag", pa.bool_()), ("text", pa.string()), ("id", pa.int64())),
    ]
    schema = pa.schema(columns)
    create_table(engine_warehouse, name, schema, partition_keys=schema.names[:-1])
    day = date(2026, 5, 1)
    values = (44, day, Decimal("1.50"), datetime(2026, 5, 1, 12), True, "7", 1)
    rows = [dict(zip(schema.names, values, strict=True)), dict.fromkeys(schema.names) | {"id": 2}]
    commit(engine_warehouse, name, pa.Table.from_pylist(rows, schema=schema))
    list(engine.run("SET spark.sql.ansi.enabled = false"))
    try:
        # As a TINYINT Spark makes 44 of 300, and of what is no number NULL.
        rest = "day = '2026-5-1', money = 1.5, hour = '2026-5-1T12', flag = 'yes', text = 007"
        for number in ("300", "'x'"):
            sql = f"INSERT OVERWRITE {name} PARTITION (number = {number}, {rest}) SELECT 5L WHERE false"
            assert "number" in failure(engine, sql).message
        assert len(read_rows(engine_warehouse, name)) == 2
        sql = f"INSERT OVERWRITE {name} PARTITION (NUMBER = 044, {rest}) SELECT 5L WHERE false"
        assert inserted(engine, sql)["row_count"] == 0
    finally:
        list(engine.run("SET spark.sql.ansi.enabled = true"))
    assert [row["id"] for row in read_rows(engine_warehouse, name)] == [2]


def test_the_plan_of_an_overwrite_says_what_goes_and_stays(engine: Engine, engine_warehouse: Path) -> None:
    name = own_table(engine_warehouse, "planned_over", "events")
    sql = f"INSERT OVERWRITE {name} PARTITION (day = '2026-05-02') VALUES ('x')"
    called = action_to_confirm(read_statement(sql))
    assert called is not None
    context = context_on(engine_warehouse)
    plan = called.action.plan(context, called.table, {})
    assert about("replace", "day = 2026-05-02", f"main of {name}").search(plan.headline)
    [lost] = [each for each in plan.items if each.code == "rows-replaced"]
    assert about("3 rows").search(lost.text) and (lost.count, lost.is_grave) == (3, True)
    assert plan.ask.phrase == name
    assert plan.steps[0].size > 0 and about("snapshot 2", "expires").search(plan.kept[0])
    assert plan.undo == f"paimark undo {name}"
    (refused,) = run_statement(context_for(engine), sql)
    assert isinstance(refused, Failed) and "nobody was asked" in refused.message
    shown: list[Plan] = []
    assert [*run_statement(context_for(engine), sql, call=CallMode(show=shown.append))] == []
    assert shown[0].lines == plan.lines
    assert lineage_of(engine_warehouse, name).latest_id() == 2
    # INSERT INTO is asked about nowhere; what another does meanwhile stops an overwrite.
    assert action_to_confirm(read_statement(f"INSERT INTO {name} VALUES ('a', 'b')")) is None
    commit(engine_warehouse, name, pa.table({"day": ["x"], "kind": ["y"]}, schema=EVENTS))
    with pytest.raises(Refused, match=about(name, "moved", "plan")):
        called.action.apply(context, plan, lambda line: None)
    assert lineage_of(engine_warehouse, name).latest_id() == 3


def test_values_are_never_changed_on_their_way(engine: Engine, engine_warehouse: Path) -> None:
    name = "assigned.wide"
    create_table(engine_warehouse, name, WIDE)
    for values in (
        "1, 127, 1.5, 5, 0.1, DATE '2026-05-01', array(1, 2)",
        "2L, NULL, 999.99D, 'b', 2, TIMESTAMP_NTZ '2026-05-01 00:00:00', NULL",
    ):
        inserted(engine, f"INSERT INTO {name} VALUES ({values})")
    rows = {row["id"]: row for row in read_rows(engine_warehouse, name)}
    assert (rows[1]["price"], rows[1]["text"], rows[1]["tags"]) == (Decimal("1.50"), "5", [1, 2])
    assert (rows[2]["price"], rows[2]["day"]) == (Decimal("999.99"), date(2026, 5, 1))
    for ansi in ("true", "false"):
        list(engine.run(f"SET spark.sql.ansi.enabled = {ansi}"))
        for column, value, said in (
            ("small", "128", "Column small can't hold 128 as it is"),
            ("price", "1.005", "Column price can't hold 1.005 as it is"),
            ("price", "1000", "Column price can't hold 1000 as it is"),
            ("small", "1.5D", "Column small can't hold 1.5 as it is"),
            (
                "day",
                "TIMESTAMP_NTZ '2026-05-01 00:00:01'",
                "Column day can't hold 2026-05-01 00:00:01 as it is",
            ),
            ("ratio", "-1e300D", "Column ratio can't hold -1.0E300 as it is"),
            ("ratio", "16777217", "Column ratio can't hold 16777217 as it is"),
            ("small", "'5'", 'table `assigned`.`wide`: Cannot safely cast `small` "STRING" to "TINYINT"'),
            ("day", "5", 'Cannot safely cast `day` "INT" to "DATE"'),
            ("tags", "array('a')", 'Cannot safely cast `tags`.`element` "STRING" to "BIGINT"'),
        ):
            failed = failure(engine, f"INSERT INTO {name} (id, {column}) VALUES (3, {value})")
            assert about(*said.split()).search(failed.message), failed
    list(engine.run("SET spark.sql.ansi.enabled = true"))
    assert len(read_rows(engine_warehouse, name)) == 2


@pytest.mark.parametrize(
    ("sql", "said", "place"),
    [
        ("INSERT INTO {} VALUES (1, 2)", "gives 2 columns, and 3 columns of", "VALUES"),
        ("INSERT INTO {} (order_id) SELECT 1, 2", "gives 2 columns, and 1 column of", "SELECT"),
        ("INSERT INTO {} (order_id, nix) SELECT 1, 2", "no column nix", "nix"),
        ("INSERT INTO {} (order_id, ORDER_ID) SELECT 1, 2", "ORDER_ID twice", "ORDER_ID"),
        ("INSERT INTO {} BY NAME SELECT 1 AS order_id, 2 AS nix", "no column nix", "SELECT"),
        (
            "INSERT INTO {} (customer) SELECT 'a'",
            "column order_id refused.orders null",
            "SELECT",
        ),
        (
            "INSERT INTO {} PARTITION (customer = 'a') SELECT 1, 2",
            "customer partition column",
            "customer",
        ),
        ("INSERT INTO {} PARTITION (customer = 1 + 1) SELECT 1, 2", "comma ) missing", "+"),
        ("INSERT INTO refused.nix SELECT 1", "no table refused.nix", "refused.nix"),
        ("INSERT INTO {}$branch_nix SELECT 1", "no branch nix", "refused.orders$branch_nix"),
        ("INSERT INTO {}$tags SELECT 1", "system table", "refused.orders$tags"),
        ("INSERT INTO {} VERSION AS OF 1 SELECT 1", "clause past", "VERSION"),
        ("INSERT INTO {} REPLACE WHERE order_id = 1 SELECT 1", "REPLACE", "REPLACE"),
        ("INSERT INTO {} SELECT nix, 1, 2", "`nix` cannot be resolved", "nix"),
        ("FROM {} INSERT INTO refused.orders SELECT *", "behind query", "FROM"),
        ("INSERT OVERWRITE DIRECTORY '/x' SELECT 1", "tables directory", "DIRECTORY"),
    ],
)
def test_what_can_not_be_inserted_is_pointed_at(
    engine: Engine, engine_warehouse: Path, sql: str, said: str, place: str
) -> None:
    if not (engine_warehouse / "refused.db").exists():
        own_table(engine_warehouse, "refused")
    text = sql.format("refused.orders")
    failed = failure(engine, text)
    assert about(*said.split()).search(failed.message)
    assert failed.position is not None and text[failed.position :].startswith(place)
    assert lineage_of(engine_warehouse, "refused.orders").latest_id() == 5


def test_a_row_says_what_becomes_of_it(engine: Engine, engine_warehouse: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("op", pa.string())])
    options = {"bucket": "1", "rowkind.field": "op"}
    create_table(engine_warehouse, "told_kinds.t", schema, primary_keys=["id"], options=options)
    inserted(engine, "INSERT INTO told_kinds.t VALUES (1, '+I'), (2, '+U'), (3, '-D')")
    for told, said in (("NULL", "a null is none of"), ("'insert'", "'insert' is none of +I, +U, -U, -D")):
        failed = failure(engine, f"INSERT INTO told_kinds.t VALUES (4, '+I'), (5, {told})")
        assert f"Column op says which rows are deletes, and {said}" in failed.message
    assert {row["id"] for row in ask(engine, "SELECT id FROM told_kinds.t").rows} == {1, 2}
    assert lineage_of(engine_warehouse, "told_kinds.t").latest_id() == 1


def test_defaults_fill_what_is_left_out_and_lengths_are_kept(engine: Engine, engine_warehouse: Path) -> None:
    name = own_table(engine_warehouse, "defaults", "events")
    path = engine_warehouse / "defaults.db/events/schema/schema-0"
    schema = TableSchema.from_json(path.read_bytes(), str(path))
    day, kind = schema.fields
    fields = [day, msgspec.structs.replace(kind, type="VARCHAR(5)", default_value="'none'")]
    path.write_bytes(msgspec.structs.replace(schema, fields=fields).to_json())
    inserted(engine, f"INSERT INTO {name} (day) VALUES ('d')")
    inserted(engine, f"INSERT INTO {name} VALUES ('d', NULL), ('d', '12345')")
    found = [row["kind"] for row in read_rows(engine_warehouse, name) if row["day"] == "d"]
    assert sorted(map(str, found)) == ["12345", "None", "none"]
    longer = failure(engine, f"INSERT INTO {name} VALUES ('d', '123456')")
    assert about("longer", "5 characters").search(longer.message)


def test_options_that_name_a_state_or_a_branch_do_not_lead_rows_there(
    engine: Engine, engine_warehouse: Path
) -> None:
    """The library takes the columns of the state, and writes to the branch, that a table's options name."""
    name = own_table(engine_warehouse, "led")
    done(
        context_on(engine_warehouse),
        "alter-branch-schema",
        table=TablePath("led", "orders"),
        add="note STRING",
    )
    set_options(engine_warehouse, name, {"scan.snapshot-id": "1"})
    made = inserted(engine, f"INSERT INTO {name} VALUES (90, 'new', 1, 'noted')")
    [row] = agreed(
        engine, f"SELECT * FROM {name} VERSION AS OF {made['snapshot_id']} WHERE order_id = 90"
    ).rows
    assert row["note"] == "noted"
    set_options(engine_warehouse, name, {"branch": "b"})
    failed = failure(engine, f"INSERT INTO {name} VALUES (91, 'new', 1, 'noted')")
    assert about("led.orders", "branch = b", "stock Spark").search(failed.message)
    assert lineage_of(engine_warehouse, name).latest_id() == made["snapshot_id"]


def test_a_read_only_engine_inserts_nothing(engine: Engine, engine_warehouse: Path) -> None:
    name = own_table(engine_warehouse, "unwritable")
    settings = Settings(
        str(engine_warehouse),
        read_only=True,
    )
    unstarted = Engine(settings, engine.log_path)
    for sql in (f"INSERT INTO {name} SELECT 1, 'a', 2", f"INSERT OVERWRITE {name} SELECT 1, 'a', 2"):
        assert about("nothing", "read-only").search(failure(unstarted, sql).message)
    assert unstarted.state == "stopped"
    assert lineage_of(engine_warehouse, name).latest_id() == 5


def _as_under_a_lock(_: LocalFileIO, temporary: str, target: str) -> bool:
    """pypaimon looks for the snapshot and then renames: without a lock it may overwrite one of ours."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        return False
    os.unlink(temporary)
    return True


@pytest.mark.parametrize("table", long_but(["orders", "events"], "orders"))
def test_commits_of_others_meanwhile_lose_nothing(
    engine: Engine, engine_warehouse: Path, judge: Judge, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalFileIO, "rename", _as_under_a_lock)
    name, is_keyed = own_table(engine_warehouse, f"at_once_{table}", table), table == "orders"
    before = len(read_rows(engine_warehouse, name))
    stop, theirs = threading.Event(), 0

    def commit_again_and_again() -> None:
        nonlocal theirs
        while not stop.wait(0.01):
            number = 1000 + theirs
            row = (
                {"order_id": number, "customer": "they", "price": 1.0}
                if is_keyed
                else {"day": "d", "kind": "they"}
            )
            commit(engine_warehouse, name, pa.Table.from_pylist([row], schema=ORDERS if is_keyed else EVENTS))
            theirs += 1

    writer = threading.Thread(target=commit_again_and_again)
    writer.start()
    try:
        values = [f"{key}, 'we', 1" if is_keyed else "'d', 'we'" for key in range(101, 104)]
        made = [inserted(engine, f"INSERT INTO {name} VALUES ({each})") for each in values]
    finally:
        stop.set()
        writer.join()
    ids = [row["snapshot_id"] for row in made]
    assert theirs and ids == sorted(set(ids))
    lineage = lineage_of(engine_warehouse, name)
    assert lineage.snapshot_ids() == list(range(1, (lineage.latest_id() or 0) + 1))
    read = judge.read(engine_warehouse, name)
    assert len(read) == before + theirs + 3
    assert sum("we" in row.values() for row in read) == 3
    assert comparable(read_rows(engine_warehouse, name)) == read


class Racing:
    """An engine before whose every order somebody else commits."""

    def __init__(self, engine: Engine, deed: Callable[[], None]) -> None:
        self._engine = engine
        self._deed = deed

    def do(self, task: Task) -> Iterator[Event]:
        self._deed()
        return self._engine.do(task)


@pytest.mark.parametrize(
    "sql", ["INSERT OVERWRITE {} VALUES (1, 'a', 1)", "INSERT INTO {} VALUES (1, 'a', 1)"]
)
def test_what_rests_on_the_newest_snapshot_is_refused_when_another_commits(
    engine: Engine, engine_warehouse: Path, sql: str
) -> None:
    """An overwrite replaces what its plan has shown; and the buckets of keys are given out by one writer."""
    name = f"raced.t_{sql.split()[1].lower()}"
    create_table(engine_warehouse, name, ORDERS, primary_keys=["order_id"])
    rows = pa.table({"order_id": [1], "customer": ["x"], "price": [1.0]}, schema=ORDERS)
    commit(engine_warehouse, name, rows)
    called, inserts = action_of_insert(read_statement(sql.format(name)))
    racing = cast(Engine, Racing(engine, lambda: commit(engine_warehouse, name, rows)))
    context = replace(context_on(engine_warehouse), engine=lambda: racing)
    plan = called.action.plan(context, called.table, {})
    with pytest.raises(StatementFailed, match=about(name, "moved", "written", "snapshot 1", "2")):
        inserts.apply(context, plan, lambda line: None)
    assert lineage_of(engine_warehouse, name).latest_id() == 2
    alone = replace(context, engine=lambda: engine)
    outcome = inserts.apply(alone, called.action.plan(alone, called.table, {}), lambda line: None)
    assert outcome.result == {"snapshot_id": 3, "row_count": 1}
    assert [row["customer"] for row in read_rows(engine_warehouse, name)] == ["a"]
