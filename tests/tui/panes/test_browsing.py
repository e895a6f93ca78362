"""Looking around with the keyboard: tree, tabs, filter, sort."""

from __future__ import annotations

import shutil
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.config import Settings
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.read_tags import read_tag_name
from paimark.core.table.rows import SnapshotRow
from paimark.core.travel.times import HINT
from paimark.tui.console import Console
from paimark.tui.opening import Opening
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.session import Session, Target
from paimark.tui.widgets.key_bar import KeyBar
from tests.actions.acting import context_on, done
from tests.conftest import ORDERS
from tests.faults.fault_files import Death, DiesAfter
from tests.paimon import commit, create_table
from tests.table.branches import create_branch
from tests.tui.driving import Sitting, at_events, at_orders, sitting
from tests.tui.settling import settled
from tests.wording import about


async def test_the_first_table_is_there_without_a_key(warehouse: Path) -> None:
    async with sitting(warehouse) as console:
        await console.sees("▾ shop", "● events", "orders", "snapshot 2", "1 of 2", "MAIN = main")


async def test_resting_on_a_table_shows_it_and_enter_goes_to_its_rows(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.press("j")
        await console.sees("● orders", "1 of 5")
        await console.press("enter", "j")
        await console.sees("snapshot 4", "2 of 5")


async def test_numbers_open_the_tabs_and_each_fills_itself(warehouse: Path) -> None:
    async with at_orders(warehouse, (120, 40)) as console:
        await console.press("4")
        await console.sees("Tags 1", "tag v2")
        await console.press("5")
        await console.sees("Schema 1 version", "order_id", "BIGINT NOT NULL", "bucket")
        await console.press("3")
        await console.sees("Branches 1", "MAIN")
        await console.press("2")
        await console.sees("No savepoints. s makes one")
        await console.press("1")
        await console.sees("Snapshots 5", "snapshot 5")


async def test_tags_of_reads_are_neither_counted_nor_listed_as_tags(warehouse: Path) -> None:
    """Nobody made them: they come and go with statements. That they are there is said."""
    tags = warehouse / "shop.db/orders/tag"
    for name in (read_tag_name(4), read_tag_name(5)):
        shutil.copy(tags / "tag-v2", tags / f"tag-{name}")
    async with at_orders(warehouse, (120, 24)) as console:
        await console.sees(" 1 tag ")
        await console.press("4")
        await console.sees("Tags 1", "tag v2", "1 of 1  + 2 tags of reads")
        assert "paimark.read" not in console.text


async def test_numbers_and_letters_are_text_while_one_types(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.press("j", "enter", "slash")
        await console.type("2s")
        assert console.app.browse.tabs.current == 0
        assert console.app.browse.snapshots.grid.order.text == "2s"
        await console.press("escape", "6")
        await console.until(lambda: console.app.browse.tabs.current == 5)
        await console.type("5sbt?:")
        assert console.app.browse.tabs.current == 5
        assert console.app.screen is console.app.browse
        await console.sees("5sbt?:")


async def test_a_filter_keeps_what_matches_and_its_opposite(warehouse: Path) -> None:
    async with at_events(warehouse, (120, 40)) as console:
        await console.press("j", "enter", "4")
        await console.sees("tag v2")
        await console.press("1", "slash")
        await console.type("v2")
        await console.sees("snapshot 2", "/v2  1 of 1 (5 in all)")
        await console.press("enter", "slash", "home", "!")
        await console.sees("/!v2  1 of 4 (5 in all)")
        await console.press("escape")
        await console.sees("of 5")


async def test_a_filter_without_a_match_says_so(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.press("l", "slash")
        await console.type("nothing")
        await console.sees("No row matches /nothing")


async def test_sorting_goes_from_column_to_column_and_turns_round(warehouse: Path) -> None:
    async with at_orders(warehouse, (120, 40)) as console:
        grid = console.app.browse.snapshots.grid
        await console.press("o")
        assert grid.index == 0
        await console.press("O", "g")
        assert [grid.source.row(i)[0] for i in (grid.index or 0,)] == [1]
        await console.sees("▲id")


async def test_nested_types_read_as_in_sql(warehouse: Path) -> None:
    address = pa.struct([pa.field("city", pa.string()), pa.field("lines", pa.list_(pa.string()))])
    create_table(warehouse, "shop.addresses", pa.schema([pa.field("at", address)]))
    async with sitting(warehouse, (120, 40)) as console:
        await console.sees("● addresses")
        await console.press("5")
        await console.sees("ROW<city STRING, lines ARRAY<STRING>>")


async def test_zoom_hides_the_tables_and_brings_them_back(warehouse: Path) -> None:
    async with sitting(warehouse) as console:
        await console.sees("▾ shop")
        await console.press("z")
        await console.loses("▾ shop")
        await console.press("escape")
        await console.sees("▾ shop")


async def test_the_whole_record_opens_and_says_what_the_strip_could_not(warehouse: Path) -> None:
    async with sitting(warehouse) as console:
        await console.sees("snapshot 2", "committed")
        await console.press("l", "i")
        await console.sees("delta manifest list", "manifest-list-", "y copy")
        # Said where the keys are: a dialog may hide the line below it.
        await console.press("y")
        await console.sees("Sent to terminal")
        [line] = console.app.screen.query_one(KeyBar).lines(80)
        assert "Sent to terminal" in line[0][0]
        await console.press("escape")
        await console.sees("▾ shop")


async def test_a_new_commit_shows_without_a_key(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.press("j")
        await console.sees("1 of 5")
        row = pa.table({"order_id": [99], "customer": ["c9"], "price": [1.0]}, schema=ORDERS)
        commit(warehouse, "shop.orders", row)
        await console.sees("2 of 6")


async def test_a_table_dropped_while_open_is_said_in_a_sentence(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.press("j")
        await console.sees("1 of 5")
        shutil.rmtree(warehouse / "shop.db" / "orders")
        await console.sees(about("table shop.orders", "not exist"), about("dropped"))
        await console.press("k")
        await console.sees("● events", "snapshot 2")


async def test_a_warehouse_that_goes_away_is_said_and_comes_back(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody should think that somebody dropped the table."""
    monkeypatch.setattr("paimark.tui.screens.browse.FOLLOW_SECONDS", 0.3)
    async with at_orders(warehouse, (120, 30)) as console:
        await console.press("j")
        await console.sees("2 of 5")
        away = warehouse.rename(warehouse.with_name("away"))
        await console.until(lambda: console.text.lower().count("no warehouse") == 2, "be said of both")
        await console.pilot.pause(0.5)
        assert console.text.lower().count("no warehouse") == 2
        assert "dropped" not in console.text
        away.rename(warehouse)
        await console.sees("● orders", "snapshot 4", "2 of 5")


async def test_an_error_in_one_pane_leaves_the_others(warehouse: Path) -> None:
    schema = warehouse / "shop.db" / "orders" / "schema" / "schema-0"
    schema.write_text("{")
    async with at_orders(warehouse) as console:
        await console.press("5")
        await console.sees(about("schema-0", "not"))
        await console.press("4")
        await console.sees("tag v2")


async def test_a_pointer_to_a_missing_main_is_an_error_never_main(warehouse: Path) -> None:
    pointer = warehouse / "shop.db" / "orders" / "branch" / "MAIN-BRANCH"
    pointer.parent.mkdir(exist_ok=True)
    pointer.write_text("gone")
    async with at_events(warehouse, (120, 40)) as console:
        await console.press("j")
        await console.sees("says that gone is main")
        assert "1 of 5" not in console.text


async def test_no_warehouse_and_an_empty_one_are_sentences(tmp_path: Path) -> None:
    # The end of a path of many lines is cut, so that the hint is in sight.
    async with sitting(tmp_path / ("a-long-name-" * 10) / "nowhere") as console:
        await console.sees("There is no", "warehouse at", "make one:")
        # The names are listed every few seconds, and there are none.
        console.app.browse.tables.follow()
        await console.until(lambda: console.app.browse.tables._listings == {"": frozenset()}, "it is listed")
        await settled(console.app)
        assert console.shows("There is no", "warehouse at", "make one:")
    (tmp_path / "empty").mkdir()
    async with sitting(tmp_path / "empty") as console:
        await console.sees("No databases", "in this", "warehouse", "What Spark,")


@pytest.mark.parametrize(
    ("at", "action", "arguments", "words"),
    [
        (r"STEP-\w+-1$", "rollback", {"to": "snapshot.3", "truncate": True}, "rollback"),
        (r"tag-savepoint.1$", "create-savepoint", {}, "savepoint 1"),
    ],
)
async def test_a_change_that_died_is_told_where_its_table_is_opened(
    warehouse: Path, at: str, action: str, arguments: dict[str, Any], words: str
) -> None:
    dying = context_on(warehouse, DiesAfter(LocalFiles(str(warehouse)), at))
    with pytest.raises(Death):
        done(dying, action, **arguments)
    async with at_events(warehouse, (100, 30)) as console:
        assert "INTERRUPTED" not in console.text
        await console.press("j", "enter")
        await console.sees(
            "INTERRUPTED", f"{words} of shop.orders was interrupted: `ctrl+p` recover mends it"
        )
        await console.press("escape", "k")
        await console.sees("● events")
        await console.loses("INTERRUPTED")


async def test_a_savepoint_that_is_not_whole_yet_is_no_tag_of_another_engine(warehouse: Path) -> None:
    dying = context_on(warehouse, DiesAfter(LocalFiles(str(warehouse)), r"tag-savepoint.1$"))
    with pytest.raises(Death):
        done(dying, "create-savepoint")
    async with at_events(warehouse, (130, 30)) as console:
        await console.press("j", "enter", "2")
        await console.sees("! unfinished", about("savepoint", "being made"))
        assert "foreign" not in console.text


async def test_a_sentence_is_whole_in_eighty_columns_and_the_keys_have_one_line(warehouse: Path) -> None:
    """Its end says what to do."""
    async with at_events(warehouse) as console:
        await console.press("enter")
        await console.press("colon", *"timeline", "enter")
        await console.sees("[7 Timeline")
        await console.press("at", *"tomorrow", "enter")
        await console.sees(about("'tomorrow'", "not", "time"), HINT.split()[-1])
        bar = console.app.browse.key_bar
        assert bar.size.height == 2 and bar.region.bottom == 24
        await console.press("escape")
        bar.hush()
        await console.until(lambda: bar.size.height == 1)
        assert "@ jump" in console.text.splitlines()[-1]


async def test_the_keys_of_a_tab_work_from_the_tables_beside_it(warehouse: Path) -> None:
    """As those do that all tabs have: words typed behind one that does nothing would be keys."""
    create_branch(warehouse, "shop.orders", "fix", "v2")
    async with at_events(warehouse, (120, 30)) as console:
        await console.press("j", "3")
        await console.sees("branch main")
        await console.press("j", "h", "h", "h")
        await console.until(lambda: console.app.browse.tables.has_focus_within)
        await console.press("v")
        await console.sees("orders › fix")
        await console.press("5")
        await console.sees("[5 Schema", "schema 0, ")
        await console.press("escape", "less_than_sign")
        await console.sees("There is no older schema")
        await console.press("7")
        await console.sees("[7 Timeline")
        await console.press("escape", "at", "x")
        await console.sees(" @ x")


async def test_the_cursor_stays_on_a_branch_that_is_viewed(warehouse: Path) -> None:
    """Also with a filter, and back on main: the branches are the same for every branch in view."""
    for name in ("fix", "later"):
        create_branch(warehouse, "shop.orders", name, "v2")
    async with at_orders(warehouse) as console:
        await console.press("3")
        await console.sees("branch main")
        await console.press("j", "j")
        await console.sees("branch later", "3 of 3")
        await console.press("v")
        await console.sees("orders › later", "[1 Snapshots]")
        await console.press("3")
        await console.sees("[3 Branches]", "branch later", "3 of 3")
        await console.press("left_square_bracket", "left_square_bracket")
        await console.sees("orders › main", "[3 Branches]", "branch later", "3 of 3")


async def test_a_key_pressed_twice_on_a_row_without_its_object_opens_no_empty_dialog(warehouse: Path) -> None:
    """The second press would be the name of a branch or tag."""
    async with at_orders(warehouse, (100, 24)) as console:
        for tab, key, reason in (
            ("2", "x", about("savepoint", "none", "delete")),
            ("3", "R", about("branch", "main", "already")),
            ("3", "m", about("branch", "main", "merged")),
            ("3", "x", about("branch", "main", "can't", "deleted")),
            ("7", "R", about("branch", "main", "already")),
            ("7", "T", about("tag", "none", "rename")),
            ("8", "m", about("branch", "main", "merged")),
        ):
            await console.press(tab)
            await console.sees(f"[{tab} ")
            await console.until(partial(_is_read, console, key))
            await console.press(key, key)
            await console.sees(reason)
            assert console.app.screen is console.app.browse
            console.app.browse.key_bar.hush()
            await console.loses(reason)


def _is_read(console: Sitting, key: str) -> bool:
    pane = console.app.browse.pane
    assert isinstance(pane, RecordPane)
    return not pane.key_waits_for(f"act.{key}") and pane.is_of(console.app.browse.target)


async def test_the_key_bar_offers_no_comparison_where_no_row_is(warehouse: Path) -> None:
    def bar(console: Sitting) -> str:
        return console.text.splitlines()[-1]

    async with at_events(warehouse, (120, 24)) as console:
        await console.until(lambda: "s savepoint" in bar(console))
        assert "D diff" not in bar(console) and "= changes" not in bar(console)
        await console.press("space")
        await console.sees(about("snapshot", "savepoint", "branch or tag"))
        await console.press("j", "enter")
        await console.until(lambda: "D diff  = changes" in bar(console))
        await console.press("space", "j", "space", "h", "h")
        await console.until(lambda: console.app.browse.tables.has_focus_within)
        console.app.browse.key_bar.hush()
        await console.until(lambda: "D diff" in bar(console) and "= changes" not in bar(console))
        await console.press("escape", "3")
        await console.sees("branch main")
        assert "= changes" not in bar(console)
        await console.press("equals_sign")
        await console.sees(about("=", "changed", "3 Branches"))


async def test_what_is_unreadable_from_the_start_is_in_the_log(warehouse: Path) -> None:
    """Also where it was read before there was a screen."""
    (warehouse / "shop.db/events/snapshot/snapshot-1").write_text("{")
    session = Session(Settings(str(warehouse)))
    opening = Opening(session)
    opening._read()
    app = Console(session, opening, start_engine=False)
    async with app.run_test(size=(120, 30)) as pilot:
        console = Sitting(app, pilot)
        await console.sees("! 1 file unreadable: L says which")
        await console.press("L")
        await console.sees("snapshot-1")


async def test_a_table_without_snapshots_says_what_comes_next(warehouse: Path) -> None:
    create_table(warehouse, "shop.a_new_one", ORDERS)
    async with sitting(warehouse, (140, 30)) as console:
        await console.sees(about("no snapshots", "6", "INSERT"))


async def test_a_journal_that_can_not_be_read_is_told_and_hides_no_counts(warehouse: Path) -> None:
    (warehouse / "shop.db/orders/branch").mkdir(exist_ok=True)
    (warehouse / "shop.db/orders/branch/ACTION").write_text("{")
    async with at_events(warehouse, (130, 30)) as console:
        await console.press("j", "enter")
        await console.sees("INTERRUPTED", "ACTION", "1 branch")


async def test_a_database_opened_as_a_warehouse_says_what_it_is(warehouse: Path) -> None:
    async with sitting(warehouse / "shop.db", (120, 24)) as console:
        await console.sees("No databases", about("shop.db", "database"))


async def test_all_of_many_snapshots_are_read_once_the_rows_have_the_keys(many: Path) -> None:
    async with sitting(many, (120, 40)) as console:
        await console.sees("1 of 100, 250 in all")
        await console.press("enter")
        await console.sees("1 of 250")
        await console.press("G")
        await console.sees("snapshot 1 ", "250 of 250")


@pytest.fixture
def go_on(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The rows behind the first page are read only after this is set."""
    go_on = threading.Event()
    newest = Lineage.newest

    def slowly(lineage: Lineage, count: int, before: int | None = None) -> list[SnapshotRow]:
        if before is not None:
            go_on.wait(20)
        return newest(lineage, count, before)

    monkeypatch.setattr(Lineage, "newest", slowly)
    return go_on


async def test_the_end_of_many_is_where_g_goes_once_it_is_read(
    many: Path, go_on: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No key acts on the row that is the last one meanwhile."""
    monkeypatch.setattr("paimark.tui.panes.snapshots._CHUNK", 60)
    async with sitting(many, (120, 40)) as console:
        await console.sees("1 of 100, 250 in all")
        await console.press("enter", "G", "s")
        await console.sees(about("last row", "still"), "– of 100, 250 in all")
        assert console.app.screen is console.app.browse
        go_on.set()
        await console.sees("snapshot 1 ", "250 of 250")
        await console.press("s")
        await console.sees("(snapshot 1")


async def test_another_key_gives_up_the_end_of_many(many: Path, go_on: threading.Event) -> None:
    async with sitting(many, (120, 40)) as console:
        await console.sees("1 of 100, 250 in all")
        await console.press("enter", "G", "k")
        await console.sees("99 of 100, 250 in all", "snapshot 152 ")
        go_on.set()
        await console.sees("99 of 250", "snapshot 152 ")


async def test_another_table_is_shown_as_it_comes_neither_sorted_nor_filtered(warehouse: Path) -> None:
    async with sitting(warehouse, (120, 40)) as console:
        await console.sees("● events", "1 of 2")
        await console.press("j", "enter")
        await console.sees("● orders", "1 of 5")
        await console.press("o", "O", "slash")
        await console.type("APP")
        await console.press("enter")
        await console.sees("▲id", "/APP ")
        await console.press("h", "k")
        await console.sees("● events", "1 of 2", "  id  ")
        assert "▲" not in console.text


async def test_the_log_opens_and_closes(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.press("y")
        await console.sees("Sent to terminal: shop.events")
        await console.press("L")
        await console.sees("log", "done")
        # What happens from now on comes below what is there.
        console.app.note("Spark is ready after 4 s", "good")
        await console.sees("Spark is ready after 4 s")
        await console.press("L")
        await console.loses("done")


async def test_a_half_written_file_is_left_out_and_said(warehouse: Path) -> None:
    tag = warehouse / "shop.db/orders/tag/tag-broken"
    tag.write_text('{"version": 3, "id"')
    async with at_events(warehouse) as console:
        await console.press("j", "4")
        await console.sees("tag v2", "1 of 1", "! 1 file unreadable: L says which")
        await console.press("L")
        await console.sees("tag-broken")


async def test_what_can_not_be_read_is_not_said_to_be_missing(warehouse: Path) -> None:
    for snapshot in (warehouse / "shop.db" / "events" / "snapshot").glob("snapshot-*"):
        snapshot.write_text('{"version": 3')
    async with at_events(warehouse) as console:
        await console.press("enter")
        await console.sees(about("none", "can be read", "L"), "2 files unreadable")
        assert not console.shows(about("no snapshots")) and "INSERT" not in console.text


async def test_the_table_that_the_cursor_rests_on_is_shown_at_once(warehouse: Path) -> None:
    """A message on its way could show it after a key that was for another one."""
    async with at_events(warehouse) as console:
        tables = console.app.browse.tables
        tables.grid.move_to(2)
        tables._rested()
        assert console.app.browse.target == Target(TablePath("shop", "orders"))


async def test_the_key_of_the_record_says_that_none_is_there(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("6")
        await console.sees("[6 ")
        await console.press("escape")
        await console.until(lambda: console.app.browse.tables.grid.has_focus, "the keys in the tables")
        await console.press("i")
        await console.sees(about("no record", "row"))
