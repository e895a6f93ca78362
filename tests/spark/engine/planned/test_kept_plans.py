"""A kept plan answers for the very tables, snapshots and session that it was made of, and for no others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.actions.context import open_context
from paimark.core.actions.registry import action
from paimark.core.spark.client.client import Engine
from paimark.core.spark.engine.planned.kept_plans import KeptPlan, KeptPlans, PlanKey
from paimark.core.spark.protocol import Columns, Failed
from paimark.core.table.catalog import find_table
from tests.paimon import commit, create_table
from tests.spark.engine_fixture import ask, rows

SCHEMA = pa.schema([("id", pa.int64())])
FAILED = "failed"
# What is asked; then what is said to the session, and what is answered after it.
SESSION: dict[str, tuple[tuple[str, Any], tuple[str, Any]]] = {
    "CAST(timestamp_seconds(0) AS STRING)": (
        ("SET TIME ZONE 'UTC'", "1970-01-01 00:00:00"),
        ("SET TIME ZONE 'Asia/Tokyo'", "1970-01-01 09:00:00"),
    ),
    "CAST('x' AS INT)": (
        ("SET spark.sql.ansi.enabled = false", None),
        ("SET spark.sql.ansi.enabled = true", FAILED),
    ),
    "ID FROM (SELECT 1 AS id, 2 AS ID)": (
        ("SET spark.sql.caseSensitive = true", 2),
        ("SET spark.sql.caseSensitive = false", FAILED),
    ),
    "n FROM kept_view": (
        ("CREATE OR REPLACE TEMPORARY VIEW kept_view AS SELECT 1 AS n", 1),
        ("CREATE OR REPLACE TEMPORARY VIEW kept_view AS SELECT 2 AS n", 2),
    ),
    "max(id) FROM t": (
        ("USE kept", 1),
        ("CREATE TEMPORARY VIEW t AS SELECT 2 AS id", 2),
    ),
    "kept_variable": (
        ("DECLARE OR REPLACE VARIABLE kept_variable INT DEFAULT 1", 1),
        ("SET VARIABLE kept_variable = 2", 2),
    ),
}
OVER = (
    "RESET spark.sql.session.timeZone",
    "RESET spark.sql.ansi.enabled",
    "RESET spark.sql.caseSensitive",
    "DROP VIEW kept_view",
    "DROP VIEW t",
    "DROP TEMPORARY VARIABLE kept_variable",
)
# Of chance or of the clock.
ANOTHER_EACH_TIME = (
    "now() AS x",
    "unix_micros(current_timestamp()) AS x",
    "rand() AS x",
    "uuid() AS x",
    "(SELECT max(u) FROM (SELECT uuid() AS u FROM {table})) AS x",
    "id, rand() AS x FROM {table} ORDER BY x",
    "randstr(9) AS x",
    "uniform(0, 1000000000000) AS x",
    # In words, which Spark has put into the plan, or does where a time is wanted.
    "unix_micros(TIMESTAMP'now') AS x",
    "unix_micros(TIMESTAMP /* */ '\\u004eow') AS x",
    "unix_micros(CAST('now' AS TIMESTAMP)) AS x",
    "unix_micros(to_timestamp('n' || 'ow')) AS x",
)


def write(warehouse: Path, table: str, *ids: int) -> None:
    commit(warehouse, table, pa.table({"id": list(ids)}, SCHEMA))


def act(warehouse: Path, do: str, table: str, **arguments: object) -> None:
    context = open_context(str(warehouse), {}, False)
    found = find_table(context.files, table)
    done = action(do)
    plan = done.plan(context, found, arguments)
    assert not plan.refusals, plan.refusals
    done.apply(context, plan, lambda _: None)


def leave_database(engine: Engine) -> None:
    """Nobody has said USE."""
    rows(engine, "SELECT 1", database="shop")


@contextmanager
def answering(engine: Engine, sql: str, before: Any, after: Any, **options: Any) -> Iterator[None]:
    """Inside something happens on which the answer, a single value, becomes another."""
    for _ in range(2):
        assert value(engine, sql, **options) == before
    yield
    assert value(engine, sql, **options) == after, sql


def value(engine: Engine, sql: str, **options: Any) -> Any:
    """The one cell of an answer."""
    answer = ask(engine, sql, **options)
    if isinstance(answer.end, Failed):
        return FAILED
    (row,) = answer.rows
    return list(row.values())[-1]


@pytest.fixture
def table(engine_warehouse: Path) -> Iterator[str]:
    """A table with one row, of a database of its own."""
    create_table(engine_warehouse, "kept.t", SCHEMA)
    write(engine_warehouse, "kept.t", 1)
    yield "kept.t"
    shutil.rmtree(engine_warehouse / "kept.db")


@pytest.fixture(autouse=True)
def state_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_it_is_of_the_snapshot_that_is_there_now(engine: Engine, engine_warehouse: Path, table: str) -> None:
    with (
        answering(engine, f"SELECT sum(id) AS s FROM {table}", 1, 3),
        answering(engine, f"SELECT count(*) AS n FROM {table}", 1, 2),
        answering(engine, f"SELECT id FROM {table} WHERE id <> 1 UNION ALL SELECT NULL LIMIT 1", None, 2),
    ):
        write(engine_warehouse, table, 2)


def test_it_is_of_the_table_that_has_the_name_now(engine: Engine, engine_warehouse: Path, table: str) -> None:
    with answering(engine, f"SELECT max(id) AS m FROM {table}", 1, 7):
        shutil.rmtree(engine_warehouse / "kept.db" / "t")
        create_table(engine_warehouse, table, SCHEMA)
        write(engine_warehouse, table, 7)
    widened = SCHEMA.append(pa.field("more", pa.int64()))
    with answering(engine, f"SELECT count(*) AS n FROM (SELECT * FROM {table})", 1, 0):
        shutil.rmtree(engine_warehouse / "kept.db" / "t")
        create_table(engine_warehouse, table, widened)
    assert ask(engine, f"SELECT * FROM {table}").columns.names == ("id", "more")


def test_it_is_of_the_branch_that_is_meant_now(engine: Engine, engine_warehouse: Path, table: str) -> None:
    act(engine_warehouse, "create-tag", table, name="fork")
    for name in ("one", "other"):
        act(engine_warehouse, "create-branch", table, name=name, tag="fork")
    write(engine_warehouse, f"{table}$branch_one", 10)
    write(engine_warehouse, f"{table}$branch_other", 20)
    branches = engine_warehouse / "kept.db/t/branch"
    with answering(engine, f"SELECT max(id) AS m FROM {table}$branch_one", 10, 20):
        (branches / "branch-one").rename(branches / "branch-away")
        (branches / "branch-other").rename(branches / "branch-one")
        (branches / "branch-away").rename(branches / "branch-other")
    with answering(engine, f"SELECT max(id) AS m FROM {table}", 1, 10):
        act(engine_warehouse, "replace-main-branch", table, name="other")


def test_it_is_of_the_version_that_is_named_so(engine: Engine, engine_warehouse: Path, table: str) -> None:
    act(engine_warehouse, "create-tag", table, name="v")
    with answering(engine, f"SELECT max(id) AS m FROM {table} VERSION AS OF 'v'", 1, 5):
        write(engine_warehouse, table, 5)
        act(engine_warehouse, "delete-tag", table, name="v")
        act(engine_warehouse, "create-tag", table, name="v")


@pytest.mark.usefixtures("table")
def test_it_is_of_the_session_as_it_is_now(engine: Engine) -> None:
    try:
        for asked, ((first, before), (then, after)) in SESSION.items():
            rows(engine, first)
            with answering(engine, f"SELECT {asked}", before, after):
                rows(engine, then)
    finally:
        for statement in OVER:
            ask(engine, statement)
        leave_database(engine)


def test_chance_and_the_clock_are_asked_each_time(engine: Engine, table: str) -> None:
    for asked in ANOTHER_EACH_TIME:
        sql = f"SELECT {asked.format(table=table)}"
        assert len({value(engine, sql) for _ in range(3)}) == 3, sql


def test_other_statements_leave_it_there(engine: Engine, table: str) -> None:
    """Of which Spark makes plans as well."""
    sql = f"SELECT max(id) AS m FROM {table}"
    with answering(engine, sql, 1, 1):
        assert ask(engine, f"EXPLAIN {sql}").finish


def test_as_many_rows_come_as_are_to_be_shown(engine: Engine, engine_warehouse: Path, table: str) -> None:
    write(engine_warehouse, table, 2, 3)
    for order in ("", " ORDER BY id"):
        found = [
            len(ask(engine, f"SELECT * FROM {table}{order}", limit=limit).rows) for limit in (1, None, 2, 1)
        ]
        assert found == [1, 3, 2, 1]


def test_no_rows_are_kept(engine: Engine, engine_warehouse: Path, table: str) -> None:
    grouped = f"SELECT id % 2 AS odd, count(*) AS n FROM {table} GROUP BY id % 2"
    with answering(engine, grouped, 1, FAILED):
        for path in (engine_warehouse / "kept.db/t").rglob("*.parquet"):
            path.unlink()


def test_it_is_of_the_database_that_is_chosen(engine: Engine, engine_warehouse: Path, table: str) -> None:
    create_table(engine_warehouse, "kept_too.t", SCHEMA)
    write(engine_warehouse, "kept_too.t", 9)
    rows(engine, "USE kept")
    with answering(engine, "SELECT max(id) AS m FROM t", 1, 9):
        rows(engine, "USE kept_too")
    shutil.rmtree(engine_warehouse / "kept_too.db")
    leave_database(engine)


def test_so_many_are_kept() -> None:
    plans = KeptPlans()
    for number in range(70):
        plans.put(PlanKey(f"SELECT {number}", None, None, ()), _plan(number))
    assert plans.numbers == list(range(6, 70))
    assert plans.get(PlanKey("SELECT 6", None, None, ())) == _plan(6)
    plans.put(PlanKey("SELECT 'large'", None, None, ()), _plan(70, 40 << 20))
    plans.put(PlanKey("SELECT 'larger'", None, None, ()), _plan(71, 30 << 20))
    assert plans.numbers == [71]
    plans.clear()
    assert plans.numbers == []


def _plan(number: int, size: int = 0) -> KeptPlan:
    return KeptPlan(number, Columns((), ()), b"", None, (), True, size)
