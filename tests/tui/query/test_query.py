"""Queries from the console, run by the suite's one Spark."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Generator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Event
from paimark.core.travel.parse.statement import Statement
from paimark.tui.panes.query import QueryPane
from tests.paimon import read_rows
from tests.tui.driving import Sitting, querying, run, with_engine
from tests.wording import about


def asking(
    warehouse: Path, engine: Engine, size: tuple[int, int] = (120, 40)
) -> AbstractAsyncContextManager[tuple[Sitting, QueryPane]]:
    return querying(warehouse, size, session=with_engine(warehouse, engine))


async def test_rows_come_with_what_they_were_read_at(engine_warehouse: Path, engine: Engine) -> None:
    async with asking(engine_warehouse, engine, (80, 24)) as (console, pane):
        await run(console, pane, "SELECT * FROM shop.orders VERSION AS OF 'snapshot.2' ORDER BY order_id")
        await console.sees("✓ 5 rows", "read shop.orders at snapshot.2", "customer", "order_id")
        assert [pane.grid.source.row(i)[0] for i in range(5)] == [1, 2, 3, 4, 5]
        # What is typed meanwhile is text, not keys for the rows.
        await console.type(" x2")
        assert pane.editor.text.endswith("ORDER BY order_id x2")
        await console.sees(about("esc", "rows"), "esc leave")
        await console.press("escape")
        assert pane.grid.has_focus
        await console.press("j", "i")
        await console.sees("row 2", "price")


async def test_values_that_python_has_no_type_for_are_shown(engine_warehouse: Path, engine: Engine) -> None:
    """A sentinel of many tables is one: the end of year 9999 in a zone east of where it was written."""
    async with asking(engine_warehouse, engine) as (console, pane):
        sql = "SELECT DATE '9999-12-31' + INTERVAL 1 DAY AS day, CAST(X'61FF' AS STRING) AS text"
        await run(console, pane, sql)
        await console.sees("✓ 1 row", "10000-01-01", "a\N{REPLACEMENT CHARACTER}")
        await console.press("escape", "o", "i")
        await console.sees("row 1", "10000-01-01")


async def test_a_limit_is_said_honestly(engine_warehouse: Path, engine: Engine) -> None:
    async with asking(engine_warehouse, engine) as (
        console,
        pane,
    ):
        await run(console, pane, "SELECT id FROM range(10000)")
        await console.sees("first 500 rows of more", "1 of 500")
        await console.press("escape", "G")
        await console.sees("500 of 500", "row 500")


async def test_rows_are_sorted_by_the_column_under_the_cursor(engine_warehouse: Path, engine: Engine) -> None:
    async with asking(engine_warehouse, engine) as (console, pane):
        await run(console, pane, "SELECT id, id % 5 AS fifth, 9 - id AS back FROM range(9)")
        await console.sees("✓ 9 rows")
        await console.press("escape", "l", "o")
        await console.sees("▼fifth")
        assert pane.grid.order.column == 1
        await console.press("l", "o")
        assert pane.grid.order.column == 2
        await console.press("o")
        assert pane.grid.order.column is None


async def test_the_keys_of_a_query_work_from_the_tables_beside_it(
    engine_warehouse: Path, engine: Engine
) -> None:
    async with asking(engine_warehouse, engine) as (console, pane):
        await run(console, pane, "SELECT 41 + 1 AS answer")
        await console.sees("✓ 1 row", "42")
        first = pane.result
        await console.press("escape", "escape")
        assert not pane.has_focus_within
        await console.press("ctrl+r")
        await console.until(lambda: pane.result is not first and not pane.running, "a second answer")
        # What is typed next is text, not keys for the tables.
        await console.burst("ctrl+t", "s", "x")
        assert (len(pane.sheets), pane.editor.text) == (2, "sx")


async def test_an_error_points_at_its_place(engine_warehouse: Path, engine: Engine) -> None:
    async with asking(engine_warehouse, engine) as (
        console,
        pane,
    ):
        await run(console, pane, "SELECT 1;\nSELECT order_id,\n  nothing\nFROM shop.orders")
        await console.sees("✗", "nothing")
        assert pane.editor.cursor_location == (2, 2)
        await run(console, pane, "SELECT 1;\nSELECT *\nFROM shop.orders\nWHER price > 1")
        await console.sees("✗ Statement 2 of 2: Syntax error at or near 'price'")
        lines = console.text.splitlines()
        (caret,) = (place for place, line in enumerate(lines) if line.strip("│║ ").split()[-1:] == ["^"])
        assert lines[caret - 1][lines[caret].index("^") :].startswith("price > 1")
        await run(console, pane, "SELECT * FROM shop.orders FOR SYSTEM_TIME BETWEEN 1 AND 2")
        await console.sees("✗", "period")
        await run(console, pane, "SELECT 1 / (id - 3) AS share FROM range(5)")
        await console.sees("✗ Division by zero", "share")
        # Nobody knows whether there are any.
        assert "No rows" not in console.text


async def test_values_of_all_kinds_are_told_apart(engine_warehouse: Path, engine: Engine) -> None:
    async with asking(engine_warehouse, engine) as (
        console,
        pane,
    ):
        sql = "SELECT NULL AS n, '' AS b, array(1, NULL) AS l, '[red]' || char(27) AS evil, true AS y"
        await run(console, pane, sql)
        await console.sees("✓ 1 row", "null", "[1,null]", "[red]�", "true")


async def test_explain_shows_its_lines(engine_warehouse: Path, engine: Engine) -> None:
    async with asking(engine_warehouse, engine) as (
        console,
        pane,
    ):
        await run(console, pane, "EXPLAIN SELECT * FROM shop.orders")
        await console.sees("✓ the plan", "scan:", "Physical Plan")


async def test_a_running_statement_is_cancelled_and_the_next_one_runs(
    engine_warehouse: Path, engine: Engine
) -> None:
    async with asking(engine_warehouse, engine) as (
        console,
        pane,
    ):
        await run(console, pane, "SELECT count(*) FROM range(100000000000) a CROSS JOIN range(10) b")
        await console.sees("running")
        await console.press("ctrl+r")
        await console.sees("still running")
        await console.press("ctrl+c")
        await console.until(lambda: not pane.running, "cancel")
        await console.sees(about("! ", "statement", "cancelled"))
        await run(console, pane, "SELECT 41 + 1 AS answer")
        await console.sees("✓ 1 row", "42")


async def test_a_statement_is_cancelled_before_its_thread_has_come_to_spark(
    engine_warehouse: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asking(engine_warehouse, engine) as (console, pane):
        may_go_on = threading.Event()
        run_now = pane.sheet.room.run

        def run_late(asked: str | Statement, database: str | None, limit: int | None) -> Generator[Event]:
            may_go_on.wait(30)
            yield from run_now(asked, database, limit)

        monkeypatch.setattr(pane.sheet.room, "run", run_late)
        await run(console, pane, "SELECT count(*) FROM range(100000000000) a CROSS JOIN range(10) b")
        await console.press("ctrl+c")
        await console.sees("cancelling")
        may_go_on.set()
        await console.sees(about("! ", "statement", "cancelled"))


@pytest.mark.long
async def test_a_dead_engine_leaves_the_console_and_the_next_statement_works(
    engine_warehouse: Path, mortal: Engine, is_long: bool
) -> None:
    """Without `--long` no engine starts again: `tests.spark.client.test_engine` waits for that."""
    mortal.start()
    mortal.wait_ready()
    async with asking(engine_warehouse, mortal) as (
        console,
        pane,
    ):
        await run(console, pane, "SELECT count(*) FROM range(100000000000) a CROSS JOIN range(10) b")
        await console.sees("running")
        # Else the statement starts another engine.
        await console.until(lambda: mortal._sent is not None, "be sent")
        process = mortal._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        await console.sees(about("✗", "Spark engine", "died", "SIGKILL"), "Spark failed")
        await console.press("escape", "1")
        await console.sees("[1 Snapshots", "═ snapshot ")
        await console.press("6")
        if is_long:
            await run(console, pane, "SELECT 41 + 1 AS answer")
            await console.sees("✓ 1 row", "42")


async def test_statements_that_remove_rows_are_asked_about(engine_warehouse: Path, engine: Engine) -> None:
    async with asking(engine_warehouse, engine) as (
        console,
        pane,
    ):
        await run(console, pane, "INSERT OVERWRITE shop.orders SELECT * FROM shop.orders WHERE false")
        await console.sees("insert-overwrite · shop.orders", "type shop.orders to go on", "! loses")
        await console.press("escape")
        await console.loses("insert-overwrite · shop.orders")
        assert pane.result is None


async def test_rows_are_inserted_at_once_and_replaced_by_a_plan(
    engine_warehouse: Path, engine: Engine
) -> None:
    shutil.copytree(engine_warehouse / "shop.db" / "orders", engine_warehouse / "typed.db" / "orders")
    name = "typed.orders"
    async with asking(engine_warehouse, engine) as (
        console,
        pane,
    ):
        await run(console, pane, f"INSERT INTO {name} VALUES (77, 'typed', 1)")
        await console.sees("✓ Committed snapshot 6 of typed.orders, with 1 row", "insert-into")
        await run(console, pane, f"INSERT OVERWRITE {name} SELECT * FROM {name} WHERE order_id = 77")
        await console.sees(f"insert-overwrite · {name}", "Replace all rows", f"type {name} to go on")
        await console.press("c")
        await console.type(name)
        await console.press("enter", "a")
        await console.sees("Committed snapshot 7 of typed.orders, with 1 row")
    assert [row["customer"] for row in read_rows(engine_warehouse, name)] == ["typed"]


async def test_history_brings_a_statement_back(engine_warehouse: Path, engine: Engine) -> None:
    async with asking(engine_warehouse, engine) as (
        console,
        pane,
    ):
        await run(console, pane, "SELECT 'first'")
        await console.sees("✓ 1 row")
        await run(console, pane, "SELECT 'second'")
        await console.sees("second", "✓ 1 row")
        await console.press("ctrl+o")
        await console.sees("Statements run before", "SELECT 'second'")
        await console.type("first")
        await console.press("enter")
        await console.until(lambda: pane.editor.text == "SELECT 'first'")


async def test_a_filter_shows_and_a_completion_does_not_hide_the_result(warehouse: Path) -> None:
    """At 80x24 there is no line of details, and a system table needs no Spark."""
    async with querying(warehouse) as (console, pane):
        pane.editor.set_statement("SELECT snapshot_id, commit_kind FROM shop.orders$snapshots")
        await console.press("ctrl+r")
        await console.sees("✓ 5 rows")
        await console.press("ctrl+end", *" zz", "tab")
        nothing = about("nothing", "begins")
        await console.sees(nothing)
        await console.press("escape")
        await console.sees("✓ 5 rows")
        assert not console.shows(nothing)
        await console.press("slash", "4", "enter")
        await console.sees("✓ 5 rows", "filtered: 1 of them")
        await console.press("escape")
        await console.loses("filtered")
