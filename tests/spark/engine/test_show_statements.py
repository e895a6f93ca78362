"""SHOW and DESCRIBE of tables, names without a database, views and the states that they read."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pytest

from paimark.core.errors import StatementFailed
from paimark.core.spark.client.client import Engine
from paimark.core.spark.engine.answers import OfSession, answer
from paimark.core.spark.launch.session_settings import DEFAULTS, SCAN
from paimark.core.spark.protocol import Finished
from paimark.core.statements.run import CallMode, context_for, run_statement
from paimark.core.storage.local import LocalFiles
from paimark.core.travel.parse.sql import read_statement
from tests.paimon import commit, create_table, open_table
from tests.spark.engine_fixture import ask, rows
from tests.wording import about

SCHEMA = pa.schema(
    [
        pa.field("day", pa.string(), nullable=False),
        pa.field("id", pa.int64(), nullable=False),
        pa.field("a`b", pa.decimal128(10, 2), metadata={"description": "it's odd"}),
    ]
)


@pytest.fixture(scope="session")
def odd_warehouse(engine_warehouse: Path) -> str:
    """`seen.odd`, partitioned, with a key, a column with a backtick, and a branch `fix`."""
    create_table(
        engine_warehouse,
        "seen.odd",
        SCHEMA,
        primary_keys=["day", "id"],
        partition_keys=["day"],
        options={"bucket": "2", "file.format": "parquet"},
    )
    for day in ("a/b", "c"):
        row = pa.table({"day": [day], "id": [1], "a`b": [None]}, schema=SCHEMA)
        commit(engine_warehouse, "seen.odd", row)
    open_table(engine_warehouse, "seen.odd").create_tag("v1", 1)
    open_table(engine_warehouse, "seen.odd").branch_manager().create_branch("fix", "v1")
    return "seen.odd"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SHOW COLUMNS IN seen.odd", [{"col_name": "day"}, {"col_name": "id"}, {"col_name": "a`b"}]),
        ("SHOW COLUMNS FROM `odd$branch_fix` FROM seen;", [{"col_name": each} for each in SCHEMA.names]),
        ("show columns in seen.`odd$tags`", None),
        ("SHOW PARTITIONS seen.odd", [{"partition": "day=a%2Fb"}, {"partition": "day=c"}]),
        ("SHOW PARTITIONS seen.`odd$branch_fix`", [{"partition": "day=a%2Fb"}]),
        (
            "SHOW TBLPROPERTIES seen.odd",
            [
                {"key": "bucket", "value": "2"},
                {"key": "file.format", "value": "parquet"},
                {"key": "primary-key", "value": "day,id"},
            ],
        ),
        ("SHOW TBLPROPERTIES seen.odd ('bucket')", [{"key": "bucket", "value": "2"}]),
        ("SHOW TBLPROPERTIES seen.odd (file.format)", [{"key": "file.format", "value": "parquet"}]),
        ("SHOW CURRENT NAMESPACE", []),
        ('SHOW TABLES IN seen LIKE "O*"', [{"namespace": "seen", "tableName": "odd", "isTemporary": False}]),
        ('SHOW DATABASES "see*"', [{"namespace": "seen"}]),
    ],
)
def test_metadata_answers(
    engine: Engine, odd_warehouse: str, sql: str, expected: list[dict[str, Any]] | None
) -> None:
    found = rows(engine, sql)
    assert found == expected if expected is not None else found[0] == {"col_name": "tag_name"}


PARTITIONED: dict[str, tuple[pa.DataType, str, list[Any]]] = {
    "t": (pa.string(), "STRING", [None, "", "  ", "a/b={}", "null"]),
    "day": (pa.date32(), "DATE", [date(2026, 5, 27), date(1, 1, 1), None]),
    "at": (
        pa.timestamp("us"),
        "TIMESTAMP(6)",
        [datetime(2026, 5, 27, 10, 0, 0, 120000), datetime(1901, 1, 1)],
    ),
    "moment": (
        pa.timestamp("us", "UTC"),
        "TIMESTAMP(6) WITH LOCAL TIME ZONE",
        [datetime(2026, 5, 27, 23, 30)],
    ),
    "d": (pa.float64(), "DOUBLE", [1e7, 0.001, 1e-4, -1.5, 123456.75, 0.0]),
    "f": (pa.float32(), "FLOAT", [1.1, 16777216.0, 3.4028235e38]),
    "yes": (pa.bool_(), "BOOLEAN", [True, False, None]),
    "n": (pa.decimal128(20, 8), "DECIMAL(20, 8)", [Decimal("0.00000010"), Decimal("-12.5")]),
}


@pytest.mark.parametrize("column", PARTITIONED)
def test_partitions_are_printed_as_spark_casts_their_values(
    engine: Engine, engine_warehouse: Path, column: str
) -> None:
    kind, word, values = PARTITIONED[column]
    schema = pa.schema([pa.field(column, kind), pa.field("v", pa.int32())])
    name = f"seen.by_{column}"
    create_table(engine_warehouse, name, schema, partition_keys=[column], words={column: word})
    commit(engine_warehouse, name, pa.table({column: values, "v": range(len(values))}, schema=schema))
    shown = [row["partition"].removeprefix(f"{column}=") for row in rows(engine, f"SHOW PARTITIONS {name}")]
    cast = rows(engine, f"SELECT ifnull(CAST({column} AS STRING), 'null') AS text FROM {name}")
    assert len(shown) == len(values)
    assert sorted(unquote(each) for each in shown) == sorted(row["text"] for row in cast)


def test_columns_that_differ_by_case_only_are_told_apart_by_a_setting(
    engine: Engine, engine_warehouse: Path
) -> None:
    schema = pa.schema([("id", pa.int64()), ("ID", pa.string())])
    create_table(engine_warehouse, "seen.twins", schema)
    commit(engine_warehouse, "seen.twins", pa.table([[1], ["a"]], schema=schema))
    failure = ask(engine, "SELECT id FROM seen.twins").failure
    assert "Reference `id` is ambiguous" in failure.message
    assert about("seen.twins", "id and ID", "SET spark.sql.caseSensitive").search(failure.hint)
    rows(engine, "SET spark.sql.caseSensitive = true")
    try:
        assert rows(engine, "SELECT ID FROM seen.twins WHERE id = 1") == [{"ID": "a"}]
    finally:
        rows(engine, "RESET spark.sql.caseSensitive")
    twice = ask(engine, "SELECT ID FROM seen.odd AS a JOIN seen.odd AS b ON true").failure
    assert "is ambiguous" in twice.message and "caseSensitive" not in twice.hint
    assert "alias" in twice.hint


def test_what_makes_a_table_is_shown(engine: Engine, odd_warehouse: str) -> None:
    (row,) = rows(engine, "SHOW CREATE TABLE odd", database="seen")
    assert row["createtab_stmt"].splitlines() == [
        "CREATE TABLE `odd` (",
        "  `day` string NOT NULL,",
        "  `id` bigint NOT NULL,",
        "  `a``b` decimal(10,2) COMMENT 'it\\'s odd')",
        "USING paimon",
        "PARTITIONED BY (`day`)",
        "TBLPROPERTIES (",
        "  'bucket' = '2',",
        "  'file.format' = 'parquet',",
        "  'primary-key' = 'day,id')",
    ]


@pytest.mark.parametrize(
    ("sql", "words", "hint"),
    [
        ("SHOW COLUMNS IN seen.oddd", "no table seen.oddd", "odd"),
        ("SHOW CREATE TABLE seen.`odd$branch_fx`", "no branch fx", "fix"),
        ("SHOW TBLPROPERTIES seen.`odd$tags`", "system table", "SHOW COLUMNS"),
        ("SHOW PARTITIONS shop.orders", "no partitions", ""),
        ("SHOW PARTITIONS seen.odd PARTITION (day = 'c')", "PARTITION follow", ""),
        ("SHOW TABLE EXTENDED IN seen LIKE '*'", "SHOW TABLE EXTENDED", "PARTITIONS"),
        ("DESCRIBE DATABASE sen", "no database sen", "seen"),
        ("SELECT * FROM odd", "cannot found", "seen.odd"),
        ("SELECT 1 FROM seen.odd AS o JOIN\n odd USING (id)", "cannot found", "seen.odd"),
        ("SELECT * FROM oddest", "cannot found", "SHOW TABLES"),
        ("SELECT * FROM odd VERSION AS OF 1", "no database odd", "seen.odd"),
        ("SELECT * FROM odd TIMESTAMP AS OF now()", "no database odd", "seen.odd"),
        (
            "SELECT * FROM seen.odd VERSION AS OF 'fix'",
            "no version 'fix'",
            "`odd$branch_fix`",
        ),
        ("SELECT * FROM seen.odd VERSION AS OF 'main'", "no version 'main'", "`odd`"),
    ],
)
def test_what_can_not_be_answered_is_said_plainly(
    engine: Engine, odd_warehouse: str, sql: str, words: str, hint: str
) -> None:
    failure = ask(engine, sql).failure
    assert about(*words.split()).search(failure.message) and hint in failure.hint, failure


def test_columns_with_backticks_are_written(engine: Engine, odd_warehouse: str) -> None:
    """Where rows are sorted by their bucket first, too."""
    sql = "INSERT INTO seen.odd (`a``b`, id, day) SELECT 1.5, 7, 'c'"
    *_, end = run_statement(context_for(engine), sql, call=CallMode(lambda action, plan: None))
    assert isinstance(end, Finished), end
    assert len(rows(engine, "SELECT * FROM seen.odd WHERE `a``b` = 1.5 AND id = 7")) == 1


def test_a_view_says_what_it_reads(engine: Engine) -> None:
    before = {row["viewName"] for row in rows(engine, "SHOW VIEWS")}
    assert rows(engine, "CREATE TEMPORARY VIEW old AS SELECT * FROM shop.orders VERSION AS OF 2") == []
    rows(engine, "CREATE OR REPLACE TEMP VIEW older AS SELECT * FROM old JOIN shop.events ON true")
    try:
        answer = ask(engine, "SELECT count(*) AS n FROM OLD")
        assert [(each.table, each.version[:11]) for each in answer.readings] == [
            ("shop.orders", "snapshot.2,")
        ]
        answer = ask(engine, "SELECT 1 FROM older JOIN shop.orders ON true")
        assert [each.table for each in answer.readings] == ["shop.orders", "shop.events", "shop.orders"]
        explained = ask(engine, "EXPLAIN SELECT * FROM old").explained
        assert explained.startswith("scan: native shop.orders at snapshot.2, ")
        rows(engine, "CREATE OR REPLACE TEMPORARY VIEW old AS SELECT 1 AS one")
        assert ask(engine, "SELECT * FROM old").readings == []
        assert {row["viewName"] for row in rows(engine, "SHOW VIEWS")} - before == {"old", "older"}
        assert {row["viewName"] for row in rows(engine, "SHOW VIEWS IN shop 'old*'")} == {"old", "older"}
        assert [row["viewName"] for row in rows(engine, "SHOW VIEWS FROM shop LIKE 'OLDER'")] == ["older"]
        assert "nowhere" in ask(engine, "SHOW VIEWS IN nowhere").failure.message
    finally:
        rows(engine, "DROP VIEW older")
        rows(engine, "DROP VIEW old")


@pytest.mark.parametrize("clause", ["VERSION AS OF 1", "TIMESTAMP AS OF now()"])
def test_a_view_has_no_past(engine: Engine, clause: str) -> None:
    rows(engine, "CREATE TEMPORARY VIEW pastless AS SELECT 1 AS one")
    try:
        sql = f"SELECT * FROM pastless {clause}"
        failure = ask(engine, sql, database="shop").failure
        assert about("pastless", "temporary view", "past").search(failure.message)
        assert failure.position == sql.index(clause)
    finally:
        rows(engine, "DROP VIEW pastless")


def test_a_view_of_all_sessions_says_what_it_reads_and_has_no_past(engine: Engine) -> None:
    rows(engine, "CREATE OR REPLACE GLOBAL TEMP VIEW gv AS SELECT * FROM shop.orders VERSION AS OF 2")
    try:
        answer = ask(engine, "SELECT count(*) AS n FROM global_temp.GV")
        assert [(each.table, each.version[:11]) for each in answer.readings] == [
            ("shop.orders", "snapshot.2,")
        ]
        failure = ask(engine, "SELECT * FROM global_temp.gv VERSION AS OF 1").failure
        assert about("global_temp.gv", "temporary view", "past").search(failure.message)
        rows(engine, "CREATE OR REPLACE TEMP VIEW of_this AS SELECT * FROM shop.events")
        listed = {(row["namespace"], row["viewName"]) for row in rows(engine, "SHOW VIEWS IN global_temp")}
        assert listed >= {("global_temp", "gv"), ("", "of_this")}
        assert not [name for _, name in listed if name.startswith("__paimark")]
        assert rows(engine, "SHOW VIEWS FROM `GLOBAL_TEMP` LIKE 'g*'") == [
            {"namespace": "global_temp", "viewName": "gv", "isTemporary": True}
        ]
        rows(engine, "DROP VIEW of_this")
    finally:
        rows(engine, "DROP VIEW global_temp.gv")


def test_a_view_that_is_not_there_is_dropped_if_it_exists(engine: Engine) -> None:
    rows(engine, "CREATE TEMPORARY VIEW of_that AS SELECT 1 AS one")
    assert rows(engine, "DROP VIEW IF EXISTS of_that") == []
    assert "nothing was done" in ask(engine, "drop view /* a */ if exists `of_that`").finish.message
    failure = ask(engine, "DROP VIEW of_that").failure
    assert about("no temporary view", "of_that").search(failure.message)
    assert failure.position == len("DROP VIEW ")
    assert "SHOW VIEWS" in failure.hint


def test_tables_are_not_kept_and_views_may_be(engine: Engine) -> None:
    for sql, hint in (
        ("REFRESH TABLE shop.orders", "Leave"),
        ("CACHE LAZY TABLE shop.orders", "CACHE TABLE kept AS SELECT * FROM shop.orders"),
        ("UNCACHE TABLE shop.`orders`;", "Leave"),
    ):
        failure = ask(engine, sql).failure
        assert about("no use", "orders").search(failure.message) and hint in failure.hint
        assert failure.position == sql.index("shop")
    rows(engine, "CREATE TEMPORARY VIEW fresh AS SELECT 1 AS one")
    rows(engine, "CACHE TABLE kept OPTIONS ('storageLevel' 'DISK_ONLY') SELECT * FROM shop.orders")
    assert rows(engine, "UNCACHE TABLE kept") == rows(engine, "DROP VIEW kept") == []
    for sql in ("REFRESH TABLE fresh", "CACHE TABLE fresh", "UNCACHE TABLE fresh", "DROP VIEW fresh"):
        assert rows(engine, sql) == []
    # A view of tables is read as they are then: no rows of it can be kept.
    rows(engine, "CREATE TEMPORARY VIEW of_orders AS SELECT * FROM shop.orders")
    failure = ask(engine, "CACHE TABLE of_orders").failure
    assert about("no use", "of_orders").search(failure.message) and failure.position == len("CACHE TABLE ")
    for sql in ("REFRESH TABLE of_orders", "UNCACHE TABLE of_orders", "DROP VIEW of_orders"):
        assert rows(engine, sql) == []


@pytest.mark.parametrize("sql", [" use ^se;", "USE /* a */ ^se -- se", "DESCRIBE DATABASE\n^`se`"])
def test_a_database_that_is_not_there_is_pointed_at(tmp_path: Path, sql: str) -> None:
    with pytest.raises(StatementFailed, match=about("no database se")) as failed:
        answer(
            read_statement(sql.replace("^", "")),
            LocalFiles(str(tmp_path)),
            None,
            OfSession(list, list, lambda parts: True, lambda name, default: default),
        )
    assert failed.value.position == sql.index("^")


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_setting_of_paimarks_shows_its_value_or_its_default(engine: Engine, name: str) -> None:
    (shown,) = rows(engine, f"SET `{name}`;")
    assert shown["key"] == name and "undefined" not in shown["value"]


def test_a_setting_shows_what_it_was_set_to(engine: Engine) -> None:
    assert rows(engine, f"SET {SCAN}") == [{"key": SCAN, "value": "auto"}]
    rows(engine, f"SET {SCAN} = library")
    try:
        assert rows(engine, f"SET {SCAN}") == [{"key": SCAN, "value": "library"}]
    finally:
        rows(engine, f"RESET {SCAN}")
    assert rows(engine, f"SET {SCAN}") == [{"key": SCAN, "value": "auto"}]
