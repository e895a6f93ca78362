"""Several statements in the query pane run in order, up to the first that fails."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Generator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Event
from paimark.core.travel.parse.statement import Statement
from paimark.tui.panes.query import QueryPane
from paimark.tui.query.drafts import history_path, read_history
from tests.paimon import read_rows
from tests.tui.driving import Sitting, querying, run, with_engine
from tests.wording import about

MINE = "several.orders"
INSERT = f"INSERT INTO {MINE} VALUES (%s, 'typed', 1)"


@pytest.fixture
def place(engine_warehouse: Path) -> Path:
    """With a table that may change."""
    mine = engine_warehouse / "several.db" / "orders"
    shutil.rmtree(mine, ignore_errors=True)
    shutil.copytree(engine_warehouse / "shop.db" / "orders", mine)
    return engine_warehouse


def asking(
    warehouse: Path, engine: Engine, size: tuple[int, int] = (120, 40)
) -> AbstractAsyncContextManager[tuple[Sitting, QueryPane]]:
    return querying(warehouse, size, session=with_engine(warehouse, engine))


def typed(warehouse: Path) -> list[object]:
    return sorted(row["order_id"] for row in read_rows(warehouse, MINE) if row["customer"] == "typed")


async def test_all_run_in_order_and_the_last_rows_show(place: Path, engine: Engine) -> None:
    async with asking(place, engine, (80, 24)) as (console, pane):
        count = f"SELECT count(*) AS n FROM {MINE} WHERE customer = 'typed'"
        text = f"{INSERT % 901};\n{count};\n{INSERT % 902};"
        await run(console, pane, text)
        await console.sees(
            "✓ 3 statements",
            f"✓ 1  Committed snapshot 6 of {MINE}, with 1 row",
            "✓ 2  1 row",
            f"✓ 3  Committed snapshot 7 of {MINE}, with 1 row",
        )
        # The row of the query, and not the one that says what the last INSERT did.
        assert [pane.grid.source.row(0)[0], pane.grid.count] == [1, 1]
        assert not pane.sheet.has_unsaved
        ran = read_history(history_path())[0]
        assert (ran.sql, ran.outcome[:12]) == (text, "3 statements")
        logged = [line.text for line in console.app.log_lines if line.text.startswith("statement ")]
        assert [line[:16] for line in logged] == [f"statement {number} of 3" for number in (1, 2, 3)]
        await console.press("ctrl+e")
        await console.sees(about("1 row", "result"))
    assert typed(place) == [901, 902]


async def test_the_statement_that_runs_is_marked(place: Path, engine: Engine) -> None:
    async with asking(place, engine) as (console, pane):
        slow = "SELECT count(*) FROM range(4000000000) WHERE sha2(CAST(id AS STRING), 512) = 'x'"
        await run(console, pane, f"SELECT 1;\n{slow};\n{INSERT % 901}")
        await console.sees("running  statement 2 of 3", "✓ 1  1 row")
        await console.press("ctrl+c")
        await console.sees(about("! Statement 2 of 3", "cancelled"))
        await console.sees(about("statement 1", "statement 3", "not run"))
        assert not pane.running
    assert typed(place) == []


async def test_the_first_failure_stops_and_is_pointed_at(place: Path, engine: Engine) -> None:
    async with asking(place, engine, (180, 40)) as (console, pane):
        await run(
            console, pane, f"{INSERT % 901};\nSELECT 1,\n  nothing FROM {MINE};\n{INSERT % 902};\nSELECT 2"
        )
        await console.sees(
            "✗ Statement 2 of 4: ", "nothing", "Statement 1 was run; statements 3 and 4 were not run."
        )
        assert pane.editor.cursor_location == (2, 2)
        assert read_history(history_path())[0].outcome == "failed at statement 2 of 4"
    assert typed(place) == [901]


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("SELECT * FROM shop.`orders", ("`", "not closed")),
        ("DROP DATABASE shop CASCADE", ("DROP DATABASE", "CASCADE", "not done")),
        ("CALL sys.crate_tag(table => 'a.b')", ("no procedure sys.crate_tag",)),
        ("BEGIN SELECT 1; END", ("BEGIN", "END", "not supported")),
    ],
)
async def test_what_can_not_run_is_refused_before_anything_runs(
    place: Path, engine: Engine, last: str, said: tuple[str, ...]
) -> None:
    async with asking(place, engine, (180, 40)) as (console, pane):
        await run(console, pane, f"{INSERT % 901};\n{last}")
        await console.sees(about("✗ Statement 2 of 2", *said), about("no statement", "run"))
        assert not pane.running
    assert typed(place) == []


async def test_nothing_runs_in_read_only_mode_if_a_statement_writes(warehouse: Path) -> None:
    async with querying(warehouse, (180, 40), read_only=True) as (console, pane):
        await run(console, pane, "SELECT 1; INSERT INTO shop.orders VALUES (1, 'a', 1)")
        await console.sees(about("✗ Statement 2 of 2", "read-only mode"), about("no statement", "run"))
        assert not pane.running


async def test_a_plan_is_shown_in_its_turn(place: Path, engine: Engine) -> None:
    async with asking(place, engine) as (console, pane):
        overwrite = f"INSERT OVERWRITE {MINE} SELECT * FROM {MINE} WHERE customer = 'typed'"
        await run(console, pane, f"{INSERT % 901};\n{overwrite};\nSELECT count(*) AS n FROM {MINE}")
        await console.sees(f"insert-overwrite · {MINE}", f"type {MINE} to go on")
        await console.press("c")
        await console.type(MINE)
        await console.press("enter", "a")
        await console.sees("✓ done")
        assert pane.running
        await console.press("enter")
        await console.sees("✓ 3 statements", f"✓ 2  Committed snapshot 7 of {MINE}", "✓ 3  1 row")
        assert pane.grid.source.row(0)[0] == 1


async def test_a_plan_that_is_closed_stops_the_rest(place: Path, engine: Engine) -> None:
    async with asking(place, engine) as (console, pane):
        tag = "CALL sys.create_tag(table => 'several.orders', name => 'x')"
        await run(console, pane, f"SELECT 7 AS n; {tag}; {INSERT % 901}")
        await console.sees("create-tag · several.orders", "[ Apply ]")
        await console.press("escape")
        await console.sees(about("! Statement 2 of 3", "plan", "closed"), about("statement 3", "not run"))
        assert pane.grid.source.row(0)[0] == 7
        assert not pane.running
    assert typed(place) == []


class _Held:
    """Lets the first statement of a room wait."""

    def __init__(self, pane: QueryPane, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go = threading.Event()
        goes_on = pane.session.room.run

        def held(asked: str | Statement, database: str | None, limit: int | None) -> Generator[Event]:
            self.go.wait(60)
            yield from goes_on(asked, database, limit)

        monkeypatch.setattr(pane.session.room, "run", held)


async def test_a_plan_opens_over_nothing_else(
    place: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys that are meant for another place must not go to it."""
    async with asking(place, engine) as (console, pane):
        held = _Held(pane, monkeypatch)
        tag = "CALL sys.create_tag(table => 'several.orders', name => 'x')"
        await run(console, pane, f"SELECT 1; {tag}; SELECT 2 AS two")
        await console.press("escape", "1")
        held.go.set()
        await console.sees(about("statement 2 of 3", "waits", "plan"))
        assert console.app.screen is console.app.browse
        await console.press("6")
        await console.sees(about("! statement 2 of 3", "plan", "ctrl+r", "ctrl+c"))
        assert pane.running
        await console.press("ctrl+r")
        await console.sees("create-tag · several.orders", "[ Apply ]")
        await console.press("a")
        await console.sees("✓ done")
        await console.press("enter")
        await console.sees("✓ 3 statements", "✓ 3  1 row")


async def test_a_plan_waits_while_somebody_types_and_can_be_left_out(
    place: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asking(place, engine) as (console, pane):
        held = _Held(pane, monkeypatch)
        tag = "CALL sys.create_tag(table => 'several.orders', name => 'x')"
        await run(console, pane, f"SELECT 1; {tag}; SELECT 2 AS two")
        await console.type(" a")
        held.go.set()
        await console.sees(about("! statement 2 of 3", "plan"))
        await console.press("ctrl+c")
        await console.sees(
            about("! Statement 2 of 3", "plan", "closed"), about("statement 1", "statement 3", "not run")
        )
        assert not pane.running


async def test_a_selection_runs_alone_and_says_so(place: Path, engine: Engine) -> None:
    async with asking(place, engine) as (console, pane):
        await pane.prepare("SELECT 1 AS one;\nSELECT 2 AS two;\nSELECT 3 AS three")
        pane.editor.move_cursor((1, 0))
        pane.editor.move_cursor((1, 16), select=True)
        await console.press("ctrl+r")
        await console.sees("✓ 1 row", "selected")
        assert pane.grid.source.row(0)[0] == 2
        pane.editor.move_cursor((2, 0))
        pane.editor.move_cursor((2, 17), select=True)
        await console.type("SELECT nothing")
        pane.editor.move_cursor((1, 0))
        pane.editor.move_cursor((2, 14), select=True)
        await console.press("ctrl+r")
        await console.sees("✗ Statement 2 of 2: ", "nothing")
        assert pane.editor.cursor_location == (2, 7)


async def test_a_long_error_shows_its_hint_where_lines_are_free(place: Path, engine: Engine) -> None:
    async with asking(place, engine, (80, 24)) as (console, pane):
        await run(console, pane, f"SELECT 1; SELECT nothing_of_the_kind_{'x' * 90} FROM shop.orders")
        await console.sees("✗ Statement 2 of 2", "Did you mean", "Statement 1 was run.")
