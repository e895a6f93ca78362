"""Making savepoints, branches and tags: nothing without a plan, nothing by a careless Enter."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from textual.strip import Strip

from paimark.core.config import Settings
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.tui.dialogs.argument_fields import known_lines
from paimark.tui.dialogs.confirm import ConfirmScreen
from paimark.tui.dialogs.palette import PaletteEntry, PaletteScreen
from paimark.tui.session import Session
from paimark.tui.widgets.grid.scroll_lines import ScrollLines
from paimark.tui.widgets.key_bar import KeyBar
from tests.actions.acting import contents
from tests.conftest import ORDERS
from tests.paimon import create_table
from tests.table.branches import create_branch
from tests.tui.conftest import act
from tests.tui.driving import at_events, at_orders, sitting
from tests.wording import about


async def test_s_shows_the_plan_and_enter_cancels_it(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("s")
        await console.sees("Save main of shop.orders as savepoint 1 (snapshot 5", "▸[ Cancel ]", "(i)")
        assert "copy" not in console.text
        await console.press("i")
        await console.sees("copy tag/tag-savepoint.1")
        await console.press("enter")
        await console.loses("(snapshot 5")
        assert not (warehouse / "shop.db/orders/savepoint").exists()


async def test_a_savepoint_is_made_and_shows(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("s")
        await console.sees("[ Apply ]", "a apply")
        await console.press("a")
        await console.sees(
            "✓ done", "Saved snapshot 5 of shop.orders as savepoint 1", "[ Close ]", "esc close"
        )
        saved = json.loads((warehouse / "shop.db/orders/savepoint/savepoint-1").read_bytes())
        assert saved["savedSnapshotId"] == 5
        await console.press("enter", "2")
        await console.sees("savepoint 1", "[2 Savepoints", "of snapshot 5")
        ends = [line for line in console.app.log_lines if line.text.startswith("Saved snapshot 5 of")]
        assert len(ends) == 1, "it is logged when it ends, and shown once more when the dialog closes"
        await console.press("1")
        await console.sees("kept by savepoint.1", "◆")


async def test_a_long_message_is_shown_whole_in_a_dialog_and_a_cut_one_says_where_it_is(
    warehouse: Path,
) -> None:
    words = "This sentence is much too long for one line of a dialog, and its end is the hint: do that"
    async with at_orders(warehouse) as console:
        await console.press("s")
        await console.sees("[ Apply ]", "a apply")
        before = console.text
        console.app.say(words, "warn")
        await console.sees("! This sentence", "the hint: do that", "▸[ Cancel ]", "╰──")
        console.app.screen.query_one(KeyBar).hush()
        await console.until(lambda: console.text == before, "the dialog is as before")
        await console.press("escape")
        await console.loses("[ Apply ]")
        console.app.say(4 * words)
        await console.sees("… L: all of it")
        await console.pilot.resize_terminal(40, 10)
        await console.sees("… L: all of it")
        await console.press("6")
        await console.sees("[6 Query]")
        console.app.say(words)
        await console.sees("… in the log")


async def test_a_placeholder_that_is_cut_says_so(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("B")
        await console.sees("rollback · shop.orders", "[ Close ]")
        await console.press("e")
        await console.sees("rollback · shop.orders", re.compile(r"\bmain\b.*… │"))


async def test_an_older_snapshot_is_saved_by_its_number_with_a_comment(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("j", "s")
        await console.sees("(snapshot 4")
        await console.press("e", "tab", "tab")
        await console.type("before a?")
        await console.press("enter")
        await console.sees("▸[ Cancel ]", "before a?", "[ Apply ]")
        await console.press("right", "enter")
        await console.sees("✓ done")
        saved = json.loads((warehouse / "shop.db/orders/savepoint/savepoint-1").read_bytes())
        assert (saved["savedSnapshotId"], saved["comment"]) == (4, "before a?")


async def test_a_branch_is_made_from_a_savepoint(warehouse: Path) -> None:
    act(warehouse, "create-savepoint", comment="kept")
    async with at_orders(warehouse) as console:
        await console.press("2")
        await console.sees("savepoint 1", "kept")
        await console.press("b")
        await console.sees("create-branch · shop.orders", "savepoint.1", "Fill in: name.")
        await console.type("fix")
        await console.press("enter")
        await console.sees("▸[ Cancel ]", "[ Apply ]")
        await console.press("a")
        await console.sees("✓ done")
        assert (warehouse / "shop.db/orders/branch/branch-fix/snapshot/snapshot-5").exists()
        await console.press("escape", "3", "j")
        await console.sees("branch fix", "made from savepoint.1")
        await console.press("v")
        await console.sees("orders › fix", "[1 Snap", "1 of 1")


async def test_what_a_name_may_be_is_told_while_its_field_is_empty(warehouse: Path) -> None:
    """A branch row says nothing of a tag: branches are made from main's alone."""
    act(warehouse, "create-savepoint")
    create_branch(warehouse, "shop.orders", "fix", "v2")
    async with at_orders(warehouse) as console:
        await console.press("3", "j", "b")
        await console.sees(
            "create-branch", "Fill in: name, tag or snapshot.", "tag is one of: savepoint.1, v2"
        )
        await console.type("next")
        await console.press("enter")
        await console.sees("Fill in: tag or snapshot.", "tag is one of: savepoint.1, v2")
        await console.type("v2")
        await console.sees("Create branch next of shop.orders from tag v2", "[ Apply ]")
        await console.press("escape")
        await console.loses("create-branch")
        await console.press("colon")
        await console.type("merge-branch")
        await console.press("enter")
        await console.sees("merge-branch · shop.orders", "fix")


async def test_a_branch_of_a_snapshot_without_a_tag_is_one_change_and_one_undo(warehouse: Path) -> None:
    before = contents(warehouse / "shop.db/orders")
    async with at_orders(warehouse) as console:
        await console.press("j", "b")
        await console.sees("create-branch", "snapshot      4", "Fill in: name.")
        await console.type("fix")
        await console.press("enter")
        await console.sees("Create branch fix of shop.orders from snapshot 4.", "[ Apply ]")
        await console.press("a")
        await console.sees("✓ done", "Created branch fix of shop.orders from snapshot 4")
        assert (warehouse / "shop.db/orders/tag/tag-paimark.merge.fix.4").exists()
        await console.press("escape", "3", "j")
        await console.sees("branch fix", "made from snapshot.4")
        # A pin is no name to begin with: the snapshot is.
        await console.press("1", "b")
        await console.sees("create-branch", "snapshot      4", "Fill in: name.")
        await console.press("escape", "u")
        await console.sees("Take back create-branch", "delete branch fix", "[ Apply ]")
        await console.press("a")
        await console.sees("✓ done")
    assert contents(warehouse / "shop.db/orders") == before


async def test_a_branch_begins_at_the_tag_of_the_snapshot_that_the_cursor_is_on(warehouse: Path) -> None:
    act(warehouse, "create-tag", name="zz-before", snapshot=4)
    async with at_orders(warehouse) as console:
        await console.press("j")
        await console.sees("◇", "kept by zz-before")
        await console.press("b")
        await console.sees("create-branch", "tag           zz-before", "Fill in: name.")
        await console.type("fix")
        await console.press("enter")
        await console.sees("Create branch fix of shop.orders from tag zz-before")


async def test_main_is_not_asked_for_a_version_of_another_branch_by_its_name(warehouse: Path) -> None:
    """Main may have a tag or a snapshot of that name, which is another commit."""
    create_branch(warehouse, "shop.orders", "fix", "v2")
    act(warehouse, "create-tag", name="on-fix", branch="fix")
    async with at_orders(warehouse) as console:
        await console.press("3", "j", "v", "4")
        await console.sees("orders › fix", "tag on-fix")
        await console.press("b")
        await console.sees("create-branch", "Fill in: name, tag or snapshot.", "tag is one of:")
        await console.press("escape", "colon")
        await console.type("rollback")
        await console.press("enter")
        await console.sees("rollback", "Fill in: to.")


def test_the_names_told_are_those_of_the_branch_that_the_dialog_is_for(warehouse: Path) -> None:
    create_branch(warehouse, "shop.orders", "fix", "v2")
    create_branch(warehouse, "shop.orders", "other", "v2")
    act(warehouse, "create-tag", name="on-fix", branch="fix")
    act(warehouse, "create-savepoint", branch="fix")
    files, table = LocalFiles(str(warehouse)), TablePath("shop", "orders")

    def told(name: str, argument: str, branch: str | None = None) -> str:
        line = known_lines(files, table, name, branch)[argument]
        return "".join(text for text, _ in line).replace("\u00a0", " ")

    assert "v2" in told("delete-tag", "name") and "on-fix" not in told("delete-tag", "name")
    assert told("delete-tag", "name", "fix") == "name is one of: on-fix, v2"
    # Pins that a merge and a truncation need.
    for pin in ("paimark.merge.fix.2", "paimark.truncate.fix.2"):
        files.create(table.root().tag(pin), files.read(table.root().tag("v2")))
    assert told("delete-tag", "name") == told("rename-tag", "name") == "name is one of: v2"
    assert "paimark.merge.fix.2" in told("rollback", "to")
    assert told("delete-savepoint", "id") == "id is one of: 1"
    assert told("merge-branch", "name") == "name is one of: fix, other"
    # The newest first, without what can't be undone.
    act(warehouse, "undo")
    assert told("restore", "to") == "to is one of: 2 create-savepoint, 1 create-tag, 0 for before all"
    act(warehouse, "redo")
    act(warehouse, "replace-main-branch", name="fix")
    assert told("merge-branch", "name").startswith("name is one of: main-")
    assert "fix" not in told("merge-branch", "name") and "other" in told("merge-branch", "name")


async def test_a_tag_is_made_on_the_snapshot_under_the_cursor(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("j", "j", "t")
        await console.sees("create-tag · shop.orders")
        await console.type("month-end")
        await console.press("enter")
        await console.applies()
        tag = json.loads((warehouse / "shop.db/orders/tag/tag-month-end").read_bytes())
        assert tag["id"] == 3


async def test_a_tag_is_renamed_where_it_is_listed_and_nowhere_else(warehouse: Path) -> None:
    session = Session(Settings(str(warehouse), options={"paimark.verify-wait": "1 ms"}))
    async with at_orders(warehouse, session=session) as console:
        await console.press("T", "4")
        await console.sees("tag v2", "T rename")
        await console.press("T")
        await console.sees("rename-tag · shop.orders", "Fill in: to.")
        await console.type("month-end")
        await console.press("enter")
        await console.sees(
            "Rename tag v2 of main of shop.orders to month-end", "! loses  the name v2", "type v2 to go on"
        )
        assert "Apply" not in console.text
        await console.press("c")
        await console.type("v2")
        await console.press("enter")
        await console.sees("[ Apply ]")
        await console.press("a")
        await console.sees("✓ done", "Renamed tag v2 of shop.orders to month-end")
        await console.sees("u takes it back (paimark undo shop.orders)")
        await console.press("escape")
        await console.sees("· month-end", "v2 is gone")
        assert not (warehouse / "shop.db/orders/tag/tag-v2").exists()


async def test_a_plan_is_painted_once_as_high_as_it_is(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not cut to the place of what was there before it, for a moment."""
    painted: list[str] = []
    paint = ScrollLines.paint

    def noted(self: ScrollLines, lines: range, width: int) -> Sequence[Strip]:
        strips = paint(self, lines, width)
        painted.extend(strip.text.strip() for strip in strips)
        return strips

    monkeypatch.setattr(ScrollLines, "paint", noted)
    async with at_orders(warehouse, (100, 40)) as console:
        await console.press("t")
        await console.type("good")
        await console.press("enter")
        await console.sees("[ Apply ]", "Tag snapshot 5 of main")
        await console.pilot.pause(0.2)
    assert any("Tag snapshot 5" in line for line in painted)
    assert not [line for line in painted if "more lines below" in line]


async def test_a_word_that_is_neither_yes_nor_no_makes_no_plan(warehouse: Path) -> None:
    """It would be taken for no, and what was to be kept be deleted."""
    create_branch(warehouse, "shop.orders", "fix", "v2")
    async with at_orders(warehouse) as console:
        await console.press("3", "j", "x")
        await console.sees("[ Cancel ]", "Delete branch fix")
        await console.press("e", "down")
        await console.sees(about("yes or no", "retire"))
        await console.type("yep")
        await console.sees(about("keep", "yes or no", "'yep'"))
        await console.press("ctrl+u", "y")
        await console.sees("Retire branch fix")


async def test_a_refusal_is_said_in_words_and_can_not_be_applied(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("t")
        await console.type("savepoint.9")
        await console.press("enter")
        await console.sees("Refused:")
        assert "Apply" not in console.text
        await console.press("a")
        await console.press("escape")
        await console.sees("1 of 5")
        assert not (warehouse / "shop.db/orders/tag/tag-savepoint.9").exists()


async def test_read_only_refuses_every_action(warehouse: Path) -> None:
    async with at_orders(warehouse, read_only=True) as console:
        await console.sees("READ-ONLY")
        await console.press("s")
        await console.sees("Refused:", "read-only mode")
        await console.press("a", "enter")
        await console.sees("1 of 5")
        assert not (warehouse / "shop.db/orders/savepoint").exists()


async def test_a_plan_of_other_arguments_can_not_be_applied(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("s")
        await console.sees("(snapshot 5", "[ Apply ]")
        await console.press("e")
        await console.type("9")
        assert "Apply" not in console.text
        await console.sees("has no snapshot 9")
        await console.press("escape")
        assert not (warehouse / "shop.db/orders/savepoint").exists()


async def test_a_failure_while_applying_is_said_with_what_to_do(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("s")
        await console.sees("[ Apply ]")
        (warehouse / "shop.db/orders/savepoint").write_text("in the way")
        await console.press("a")
        await console.sees("✗ failed", "[ Close ]", "esc close")
        await console.press("escape")
        await console.sees("1 of 5")


async def test_enter_on_a_version_prepares_its_query(warehouse: Path) -> None:
    act(warehouse, "create-savepoint")
    act(warehouse, "create-branch", name="fix", tag="savepoint.1")
    async with at_orders(warehouse) as console:
        await console.press("j", "enter")
        await console.sees("FROM shop.orders VERSION AS OF 'snapshot.4'", "[6 ", "^r run")
        for tab, clause in {"2": "VERSION AS OF 'savepoint.1'", "4": "VERSION AS OF 'savepoint.1'"}.items():
            await console.press("escape", tab)
            await console.sees("1 of")
            await console.press("enter")
            await console.sees(f"FROM shop.orders {clause}")
        await console.press("escape", "3", "j")
        await console.sees("branch fix")
        await console.press("enter")
        await console.sees("FROM shop.`orders$branch_fix`")
        await console.press("ctrl+z")
        await console.sees("VERSION AS OF 'savepoint.1'")


async def test_the_palette_does_anything_by_name(warehouse: Path) -> None:
    async with at_events(warehouse, (120, 40)) as console:
        await console.press("colon")
        await console.type("shop.ord")
        await console.press("enter")
        await console.sees("● orders", "1 of 5")
        await console.press("ctrl+p")
        await console.type("sche")
        await console.press("enter")
        await console.sees("Schema 1 version", "BIGINT NOT NULL")
        await console.press("colon")
        await console.type("create-tag")
        await console.press("enter")
        await console.sees("create-tag · shop.orders")


async def test_the_palette_shows_keys_and_both_ends_of_names_at_80_columns(warehouse: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    create_table(warehouse, "shop.yearly_facts_of_every_region_of_europe_17", schema)
    async with at_events(warehouse) as console:
        await console.press("colon")
        await console.type("facts")
        await console.sees("shop.yearly_fa", "of_europe_17")
        await console.press("ctrl+u")
        await console.type("replace")
        await console.until(lambda: "replace-main-branch  " in console.text, "list it")
        (line,) = (each for each in console.text.splitlines() if "replace-main-branch" in each)
        assert line.split("replace-main-branch")[1].split()[0] == "R"


async def test_the_palette_finds_tables_of_closed_databases(warehouse: Path) -> None:
    create_table(warehouse, "zoo.animals", ORDERS)
    async with sitting(warehouse, (120, 40)) as console:
        await console.sees("● events", "▸ zoo")
        await console.press("colon")
        await console.type("animals")
        await console.sees("zoo.animals ", " table ")
        await console.press("enter")
        await console.sees("▾ zoo", "● animals")


async def test_the_palette_finds_what_is_listed_while_it_is_open(warehouse: Path) -> None:
    async with at_events(warehouse, (120, 40)) as console:
        offered = [PaletteEntry("log", "what was done", "L", list)]
        await console.app.push_screen(PaletteScreen(lambda: list(offered)))
        await console.type("late")
        await console.sees("No row matches")
        offered.append(PaletteEntry("shop.late", "table", "", list))
        await console.sees("shop.late ", " table ")


async def test_help_lists_the_keys_of_the_bindings(warehouse: Path) -> None:
    async with at_events(warehouse, (120, 120)) as console:
        await console.press("question_mark")
        await console.sees("Everywhere", about("s", "savepoint"), about("ctrl+q", "quit"))
        await console.press("G")
        await console.sees("history", about("nothing", "plan"))
        await console.press("escape")
        await console.sees("● events")


async def test_help_begins_with_the_keys_of_the_tab_that_is_open(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        for tab, first, key in (
            ("1", "Everywhere", about("s", "savepoint")),
            ("7", "Timeline", about("@", "time")),
        ):
            await console.press(tab, "question_mark")
            await console.sees(f"│ {first}", key)
            await console.press("escape")
            await console.loses(f"│ {first}")


async def test_the_key_for_help_tells_a_dialogs_own_keys_and_closes_them_again(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.app.push_screen(ConfirmScreen("Really?", "a text"))
        await console.press("question_mark")
        own = about("keys", "dialog")
        await console.sees("Keys", "Here", own, "esc")
        assert "Focus Next" not in console.text
        await console.loses("Everywhere")
        await console.press("question_mark")
        await console.sees("Really?", "a text")
        await console.loses(own)
        # Where text is typed it is a sign like others.
        await console.press("escape", "slash")
        await console.type("wh?t")
        await console.sees("wh?t")


async def test_a_question_about_a_long_text_can_be_read_to_its_end(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        text = "\n".join(f"line {number} of the statement" for number in range(60))
        await console.app.push_screen(ConfirmScreen("Really?", text))
        await console.sees("line 0 of", "more lines below (j)")
        await console.press(*["pagedown"] * 6)
        await console.sees("line 59 of the statement", "▸[ Cancel ]")
        await console.press("up", "j", "k")
        await console.sees("more lines below (j)")


async def test_an_action_chosen_by_its_name_asks_for_one_of_several_arguments(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.burst("colon", *"unprotect", "enter")
        await console.sees(about("protect", "missing", "`tag`", "`savepoint`"), "[ Cancel ]")
        assert "failed" not in console.text
        await console.press(*"v2")
        await console.sees("tag           v2")


async def test_a_field_with_a_value_says_what_else_it_takes(warehouse: Path) -> None:
    create_branch(warehouse, "shop.orders", "fix", "v2")
    async with at_orders(warehouse) as console:
        await console.press("3", "j", "m")
        await console.sees("merge-branch · shop.orders", "[ Close ]")
        choices = about("wins", "fail", "branch", "main")
        assert not console.shows(choices)
        await console.press("e", "tab", "tab")
        await console.sees("on_conflict   fail", choices)
        await console.press("shift+tab")
        await console.loses(choices)
