"""Keys do what they were typed for, however fast they come and however slow the store answers."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from paimark.core.actions.context import Context
from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.storage.files import Files
from paimark.core.table.catalog import tables
from paimark.core.table.layout import TablePath
from paimark.core.travel.diff.diff import Difference, make_difference
from paimark.tui.console import Console
from paimark.tui.dialogs import plan_dialog
from paimark.tui.dialogs.palette import PaletteEntry, PaletteScreen
from paimark.tui.dialogs.peek import Peeking
from paimark.tui.dialogs.plan_dialog import PlanDialog
from paimark.tui.opening import Opening
from paimark.tui.panes.query import QueryPane
from paimark.tui.panes.timeline.timeline_pane import Jump, TimelinePane, _look_up
from paimark.tui.query.sql_files import SqlFile, read_sql
from paimark.tui.session import Opened, Session, Target
from paimark.tui.widgets.clean_input import FilterLine
from tests.conftest import ORDERS
from tests.paimon import create_table
from tests.table.branches import create_branch
from tests.tui.driving import Sitting, at_events, at_orders, sitting, with_engine
from tests.wording import about


class SlowSession(Session):
    """Its store gives no table's root before it is let go."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def open(self, target: Target) -> Opened:
        assert self.may_go_on.wait(60)
        return super().open(target)


@pytest.fixture
def slow(warehouse: Path) -> Iterator[SlowSession]:
    session = SlowSession(Settings(str(warehouse)))
    yield session
    session.may_go_on.set()


@asynccontextmanager
async def waiting_for_orders(warehouse: Path, slow: SlowSession) -> AsyncIterator[Sitting]:
    """The keys are in the snapshots of shop.orders, which are still being read."""
    async with sitting(warehouse, session=slow) as console:
        await console.sees("● events", "snapshot 2")
        slow.may_go_on.clear()
        await console.press("j", "enter")
        await console.sees("● orders", "Reading snapshots")
        yield console
        slow.may_go_on.set()


async def test_a_key_after_the_palettes_enter_finds_the_palette_done(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.burst("colon", *"schema", "enter", "4")
        await console.sees("[4 Tags]")
        # There are rows here: without any, a key that was kept for them is forgotten.
        await console.burst("1", "colon", *"refresh", "enter", "s")
        await console.sees("create-savepoint · shop.events")


async def test_no_key_is_lost_while_a_dialog_opens(warehouse: Path) -> None:
    async with sitting(warehouse) as console:
        await console.sees("● events", "snapshot 2")
        for keys in (("colon", *"create-tag", "enter"), ("l", "t")):
            await console.burst(*keys, *"abcd", "enter")
            await console.sees("Tag snapshot 2 of main of shop.events as abcd")
            await console.press("escape")
            await console.loses("create-tag")


async def test_a_key_pressed_twice_is_no_text_of_what_it_opens_and_a_word_is(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.burst("t", "t", "t", "enter")
        await console.sees("create-tag · shop.orders", "Fill in: name")
        await console.press("escape")
        await console.loses("create-tag")
        await console.burst("t", *"tt1", "enter")
        await console.sees("Tag snapshot 5 of main of shop.orders as tt1")
        await console.press("escape")
        await console.burst("slash", "slash", "enter")
        await console.until(lambda: not console.app.screen.query(FilterLine))
        assert console.app.browse.snapshots.grid.order.text == ""


async def test_keys_after_a_filters_enter_are_keys_and_before_it_text(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.burst("slash", "2", "enter", "4")
        await console.sees("[4 Tags]")
        assert console.app.browse.snapshots.grid.order.text == "2"
        assert not console.app.screen.query(FilterLine)


async def test_two_keys_in_a_field_and_at_its_plan(warehouse: Path) -> None:
    """Enter leaves the field before the next key is looked at."""
    async with at_events(warehouse) as console:
        await console.press("s")
        await console.sees("[ Apply ]")
        await console.burst("e", "tab", "tab", *"why", "enter", "escape")
        await console.loses("create-savepoint")
        assert console.app.screen is console.app.browse


async def test_keys_for_rows_wait_until_the_rows_are_there(warehouse: Path, slow: SlowSession) -> None:
    async with waiting_for_orders(warehouse, slow) as console:
        await console.press("j", "j")
        await console.sees(about("2 keys", "rows"))
        await console.press("t")
        await console.sees("3 keys kept until the rows")
        slow.may_go_on.set()
        await console.sees("create-tag · shop.orders")
        await console.type("third")
        await console.press("enter")
        await console.sees("Tag snapshot 3 of main of shop.orders as third")


async def test_a_store_that_does_not_answer_is_named(
    warehouse: Path, slow: SlowSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paimark.tui.panes.record_pane._PATIENCE", 1)
    async with waiting_for_orders(warehouse, slow) as console:
        await console.sees(f"No answer from {slow.name} for 1 s.")
        slow.may_go_on.set()
        await console.sees("1 of 5")
        assert "No answer" not in console.text


async def test_text_behind_a_key_that_waits_is_for_what_the_key_opens(
    warehouse: Path, slow: SlowSession
) -> None:
    """`h` alone goes to the tables, and 2 to the second tab."""
    async with waiting_for_orders(warehouse, slow) as console:
        await console.press("t", *"h2", "enter")
        await console.sees("4 keys kept until the rows")
        slow.may_go_on.set()
        await console.sees("Tag snapshot 5 of main of shop.orders as h2")


async def test_keys_that_another_did_not_wait_for_are_forgotten_aloud(
    warehouse: Path, slow: SlowSession
) -> None:
    async with waiting_for_orders(warehouse, slow) as console:
        await console.press("j", "j", "5")
        await console.sees("[5 Schema]", "You went elsewhere: 2 keys forgotten")
        slow.may_go_on.set()
        await console.sees("order_id")
        await console.press("1", "escape")
        await console.loses("You went elsewhere")


async def test_a_tab_behind_the_key_for_a_branch_is_the_branchs(warehouse: Path, slow: SlowSession) -> None:
    """Else the tab would be opened at once, on main, and the branch be forgotten."""
    create_branch(warehouse, "shop.orders", "fix", "v2")
    async with at_orders(warehouse, session=slow) as console:
        slow.may_go_on.clear()
        await console.press("3", "j", "v", "4")
        await console.sees("3 keys kept until the rows")
        slow.may_go_on.set()
        await console.sees("orders › fix", "[4 Tags")


async def test_a_filter_typed_into_a_peek_too_early_is_a_filter(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`p` alone closes it."""
    may_read, read = threading.Event(), Peeking.read

    def read_later(*asked: Any) -> None:
        assert may_read.wait(60)
        read(*asked)

    monkeypatch.setattr(Peeking, "read", read_later)
    async with at_orders(warehouse) as console:
        await console.press("p")
        await console.sees("Reading without Spark")
        await console.press("slash", *"price", "enter")
        await console.sees("7 keys kept until the rows")
        may_read.set()
        await console.sees("No row matches /price")


async def test_that_keys_wait_is_said_as_long_as_they_do(
    warehouse: Path, slow: SlowSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paimark.tui.widgets.key_bar._SHOWN_FOR", 0.1)
    async with waiting_for_orders(warehouse, slow) as console:
        await console.press("j")
        await console.sees("1 key kept until the rows")
        await console.pilot.pause(0.4)
        assert "1 key kept until the rows" in console.text
        slow.may_go_on.set()
        await console.sees("2 of 5")
        assert "kept until the rows" not in console.text


async def test_keys_for_rows_that_do_not_come_are_forgotten(warehouse: Path, slow: SlowSession) -> None:
    """Else the second row's tag would be one of the newest."""
    async with waiting_for_orders(warehouse, slow) as console:
        await console.press("j", "t")
        await console.sees(about("2 keys", "rows"))
        (warehouse / "shop.db/orders").rename(warehouse / "shop.db/elsewhere")
        slow.may_go_on.set()
        await console.sees(about("no rows", "2 keys"))
        assert console.app.screen is console.app.browse


async def test_escape_and_any_other_key_forget_those_that_wait(warehouse: Path, slow: SlowSession) -> None:
    async with waiting_for_orders(warehouse, slow) as console:
        await console.press("j", "t")
        await console.sees(about("2 keys", "rows"))
        await console.press("escape")
        await console.loses("kept until the rows")
        assert console.app.browse.snapshots.grid.has_focus
        await console.press("j", "5")
        await console.sees("[5 Schema]")
        slow.may_go_on.set()
        await console.sees("order_id")
        await console.press("1")
        await console.sees("1 of 5")
        assert console.app.screen is console.app.browse


async def test_a_screen_that_opens_meanwhile_never_gets_the_keys_that_wait(
    warehouse: Path, slow: SlowSession
) -> None:
    async with waiting_for_orders(warehouse, slow) as console:
        await console.press("j", "t")
        await console.sees(about("2 keys", "rows"))
        # As where its key came before these, and it took a while to open.
        await console.app.action_palette()
        await console.opens(PaletteScreen)
        await console.type("s")
        slow.may_go_on.set()
        await console.type("ch")
        await console.sees("▏ schema")
        await console.press("escape")
        await console.sees("1 of 5")
        assert console.app.screen is console.app.browse


async def type_unsaved(console: Sitting) -> None:
    """A query that would be lost."""
    await console.press("6")
    await console.sees("[6 ")
    await console.type(" + 1")
    await console.sees("+ 1")


async def test_leaving_from_the_palette_tells_of_text_that_would_be_lost(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await type_unsaved(console)
        await console.press("ctrl+p")
        await console.opens(PaletteScreen)
        await console.press("ctrl+q")
        await console.sees(about("1 query", "not saved"), about("ctrl+q", "quits"))


async def test_who_was_asked_whether_to_leave_and_stayed_is_asked_again(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await type_unsaved(console)
        await console.press("ctrl+q")
        await console.sees("ctrl+q again quits")
        await console.press("2", "ctrl+q")
        await console.sees("ctrl+q again quits")
        assert console.app.is_running
        await console.press("ctrl+q")
        await console.until(lambda: not console.app.is_running, "leave")


async def test_a_key_typed_before_there_is_a_screen_waits_for_it(warehouse: Path) -> None:
    """`4` ended the console: there was no screen yet on which to open a tab. Keys that leave never wait."""
    session = Session(Settings(str(warehouse)))
    browse = Console(session, Opening(session), start_engine=False).browse
    for binding in ("tab.tags", "app.palette", "app.help", "act.tag", "tables.open", ""):
        assert about("screen").search(browse.waits_for(binding))
    assert browse.waits_for("app.quit") == ""
    async with sitting(warehouse) as console:
        await console.sees("● events")
        assert console.app.browse.waits_for("tab.tags") == ""


async def test_keys_wait_for_the_first_tables_too(warehouse: Path, slow: SlowSession) -> None:
    slow.may_go_on.clear()
    async with at_events(warehouse, session=slow) as console:
        await console.press("l", "j", "t")
        await console.sees(about("2 keys", "rows"))
        slow.may_go_on.set()
        await console.sees("create-tag · shop.events")
        await console.type("first")
        await console.press("enter")
        await console.sees("Tag snapshot 1 of main of shop.events as first")


async def test_enter_in_the_palette_waits_for_the_table_that_is_not_listed_yet(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_table(warehouse, "zoo.animals", ORDERS)
    may_list = threading.Event()

    def list_later(files: Files, database: str) -> list[TablePath]:
        assert may_list.wait(60)
        return tables(files, database)

    monkeypatch.setattr("paimark.tui.panes.tables.tables", list_later)
    async with sitting(warehouse, (120, 40)) as console:
        await console.sees("● events", "▸ zoo")
        await console.burst("colon", *"animals", "enter")
        await console.sees("still being listed")
        may_list.set()
        await console.sees("▾ zoo", "● animals")
        await console.burst("colon", *"no such name", "enter")
        await console.sees("No row matches")
        assert isinstance(console.app.screen, PaletteScreen)


async def test_the_palette_keeps_the_row_that_was_gone_to_while_more_is_listed(warehouse: Path) -> None:
    offered = [PaletteEntry(f"table {number}", "", "", int) for number in range(3)]
    async with at_events(warehouse) as console:
        chosen: list[PaletteEntry | None] = []
        await console.app.push_screen(PaletteScreen(lambda: list(offered)), chosen.append)
        await console.type("table")
        await console.press("down")
        wanted = offered[1]
        offered.insert(0, PaletteEntry("table of another", "", "", int))
        await console.sees("table of another")
        await console.press("enter")
        await console.until(lambda: bool(chosen))
        assert chosen == [wanted]


async def test_enter_in_a_long_palette_runs_what_was_typed(warehouse: Path) -> None:
    """So many entries are put in order in a thread."""
    entries = [PaletteEntry(f"table {number}", "", "", int) for number in range(5000)]
    async with at_events(warehouse) as console:
        chosen: list[PaletteEntry | None] = []
        await console.app.push_screen(PaletteScreen(lambda: entries), chosen.append)
        await console.burst(*"4321", "enter")
        await console.until(lambda: bool(chosen))
        assert chosen == [entries[4321]]


async def test_the_footer_offers_no_key_that_types(warehouse: Path) -> None:
    async with at_events(warehouse, (120, 40)) as console:
        await console.press("6")
        await console.sees("SELECT *", "^p actions")
        assert ": actions" not in console.text
        assert console.text.index("^r run") < console.text.index("^e export")
        await console.press("ctrl+p")
        await console.opens(PaletteScreen)
        await console.press("escape")
        await console.type(":")
        assert console.app.query_one(QueryPane).editor.text.endswith(":")


@pytest.fixture
def slow_versions(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """The versions of a difference are looked up once this is set."""
    may_go_on = threading.Event()

    def look_up_later(*asked: Any) -> Difference:
        assert may_go_on.wait(60)
        return make_difference(*asked)

    monkeypatch.setattr("paimark.core.travel.diff.diff.make_difference", look_up_later)
    yield may_go_on
    may_go_on.set()


async def test_keys_after_a_difference_are_for_it_before_its_versions_are_looked_up(
    warehouse: Path, engine: Engine, slow_versions: threading.Event
) -> None:
    async with at_orders(warehouse, session=with_engine(warehouse, engine)) as console:
        await console.burst("j", "D", "s")
        await console.sees(about("looking", "two versions"), about("1 key", "versions"))
        slow_versions.set()
        await console.sees("[6 ")
        editor, title = console.app.query_one(QueryPane).editor, "-- shop.orders: from snapshot.4 to main\n"
        await console.until(lambda: editor.text.startswith(title), "the statement")


async def test_a_difference_that_is_left_while_its_versions_are_looked_up_leaves_the_marks(
    warehouse: Path, slow_versions: threading.Event
) -> None:
    async with at_orders(warehouse) as console:
        await console.press("space", "j", "space", "D")
        await console.sees(about("looking", "two versions"))
        await console.press("ctrl+c")
        await console.sees("✗ cancelled")
        await console.press("escape")
        slow_versions.set()
        await console.sees("2 of 5, 2 marked")


@pytest.fixture
def slow_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """kept.sql there holds 7, and is read once this is set."""
    may_read = threading.Event()
    (tmp_path / "kept.sql").write_text("7")

    def read_later(path: Path) -> SqlFile:
        may_read.wait()
        return read_sql(path)

    monkeypatch.setattr("paimark.tui.panes.sheets.files.read_sql", read_later)
    yield may_read
    may_read.set()


@asynccontextmanager
async def opening(warehouse: Path, path: Path, *behind: str) -> AsyncIterator[Sitting]:
    """Somebody opens a file, with keys typed right behind its name."""
    async with at_events(warehouse) as console:
        await console.press("6")
        await console.sees("SELECT *")
        await console.press("ctrl+f")
        await console.sees(about("open", ".sql file"))
        await console.burst(*str(path), "enter", *behind)
        yield console


async def test_text_typed_while_a_file_is_read_is_for_the_file(
    warehouse: Path, tmp_path: Path, slow_file: threading.Event
) -> None:
    async with opening(warehouse, tmp_path / "kept.sql", *"1 + ") as console:
        await console.sees(about("4 keys", "file"))
        slow_file.set()
        await console.sees("1 + 7")


async def test_a_file_that_is_never_read_holds_nobody(
    warehouse: Path, tmp_path: Path, slow_file: threading.Event
) -> None:
    async with opening(warehouse, tmp_path / "kept.sql", "x") as console:
        await console.sees(about("1 key", "file"))
        # Forgotten, then to the tables.
        await console.press("escape", "escape", "4")
        await console.sees("[4 Tags]")


async def test_no_key_typed_before_it_answers_whether_a_file_is_overwritten(
    warehouse: Path, tmp_path: Path
) -> None:
    (tmp_path / "kept.sql").write_text("something else")
    async with at_events(warehouse) as console:
        await console.press("6")
        await console.sees("SELECT *")
        await console.press("ctrl+s")
        await console.sees("Save the query")
        # `a` agrees, once somebody has read to what.
        await console.burst(*str(tmp_path / "kept.sql"), "enter", "a")
        await console.sees("Overwrite the file", "This opened meanwhile: 1 key forgotten")
        await console.press("escape")
        assert (tmp_path / "kept.sql").read_text() == "something else"


async def test_keys_after_a_time_are_for_the_commit_that_it_leads_to(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_look = threading.Event()

    def look_later(*asked: Any) -> Jump:
        assert may_look.wait(60)
        return _look_up(*asked)

    monkeypatch.setattr("paimark.tui.panes.timeline.timeline_pane._look_up", look_later)
    async with at_orders(warehouse) as console:
        await console.press("7")
        await console.sees("1 of 5")
        loaded = console.app.query_one(TimelinePane)
        await console.until(lambda: loaded.loaded is not None and loaded.loaded.fingerprint is not None)
        await console.press("G", "at")
        await console.burst(*"1 s ago", "enter", "t")
        await console.sees(about("1 key", "rows"))
        may_look.set()
        await console.sees("create-tag · shop.orders")
        await console.type("newest")
        await console.press("enter")
        await console.sees("Tag snapshot 5 of main of shop.orders as newest")


async def test_nothing_is_said_of_what_is_read_when_the_console_has_been_left(
    warehouse: Path, slow: SlowSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow.may_go_on.clear()
    raised: list[object] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    async with at_events(warehouse, session=slow):
        [reading] = [each for each in threading.enumerate() if each.name == "paimark-opening"]
    slow.may_go_on.set()
    reading.join(30)
    assert not reading.is_alive() and not raised


class SlowPlans(SlowSession):
    """Its store gives no plan before it is let go."""

    @property
    def context(self) -> Context:
        assert self.may_go_on.wait(60)
        return super().context


async def test_a_plan_that_comes_after_more_was_typed_is_never_offered(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = SlowPlans(Settings(str(warehouse)))
    async with at_events(warehouse, session=session) as console:
        await console.press("l", "t")
        await console.sees("create-tag")
        session.may_go_on.clear()
        await console.type("m")
        dialog = console.app.screen
        assert isinstance(dialog, PlanDialog)
        await console.until(lambda: dialog._state == "planning")
        # The next plan is begun later than the first one comes.
        monkeypatch.setattr(plan_dialog, "_PAUSE", 2.0)
        await console.type("ine")
        session.may_go_on.set()
        await console.pilot.pause(0.5)
        assert "[ Apply ]" not in console.text and "as m" not in console.text
        await console.sees("Tag snapshot 2 of main of shop.events as mine", "[ Apply ]")
