"""Several queries side by side: no text is lost, and one statement runs at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import Paste

from paimark.core.spark.protocol import Finished
from paimark.tui.query.query_result import QueryResult
from paimark.tui.query.sql_files import read_sql
from tests.tui.driving import querying
from tests.wording import about


async def test_queries_are_added_gone_through_and_closed(warehouse: Path) -> None:
    async with querying(warehouse, (120, 40)) as (console, pane):
        assert not pane.bar.display
        await console.press("ctrl+t")
        await console.sees("query 1", "[query 2]")
        await console.type("SELECT 2")
        await console.sees("[query 2*]")
        await console.press("ctrl+pageup")
        await console.sees("[query 1]", "SELECT *", "query 2*")
        await console.press("alt+right")
        await console.sees("[query 2*]", "SELECT 2")
        # Delete a word: that stays the editor's.
        await console.press("ctrl+w")
        assert pane.editor.text == "SELECT "
        await console.press("ctrl+g")
        await console.sees("Close the query", about("text", "saved", "history"), "▸[ Cancel ]")
        await console.press("enter")
        assert len(pane.sheets) == 2
        await console.press("ctrl+g", "a")
        await console.until(lambda: len(pane.sheets) == 1)
        await console.sees("SELECT *")
        assert pane.editor.has_focus
        # The history has the text that was closed.
        await console.press("ctrl+o")
        await console.sees("Statements run before", "not run")
        await console.press("escape")
        # The last one leaves an empty one behind.
        await console.press("ctrl+g")
        await console.until(lambda: pane.editor.text == "" and len(pane.sheets) == 1)


async def test_a_query_keeps_its_name_when_another_closes(warehouse: Path) -> None:
    async with querying(warehouse, (120, 40)) as (console, _):
        await console.press("ctrl+t", "ctrl+t")
        await console.sees("query 1  query 2  [query 3]")
        await console.press("ctrl+pageup", "ctrl+g")
        await console.sees("query 1  [query 3]")
        await console.press("ctrl+t")
        await console.sees("query 1  query 3  [query 2]")


async def test_files_of_one_name_are_told_apart_by_their_folders(warehouse: Path, tmp_path: Path) -> None:
    async with querying(warehouse, (120, 40)) as (console, pane):
        for folder in ("north", "south"):
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "daily.sql").write_text("SELECT 1")
            await pane.show_file(read_sql(tmp_path / folder / "daily.sql"))
        await console.sees("north/daily.sql  [south/daily.sql]")


async def test_a_statement_that_is_made_ready_takes_no_typed_text_away(warehouse: Path) -> None:
    async with querying(warehouse, (120, 40)) as (console, pane):
        await pane.prepare("SELECT 1")
        await pane.prepare("SELECT 2")
        assert [sheet.editor.text for sheet in pane.sheets] == ["SELECT 2"]
        await console.type(" + 1")
        await pane.prepare("SELECT 3")
        assert [sheet.editor.text for sheet in pane.sheets] == ["SELECT 2 + 1", "SELECT 3"]
        assert pane.editor.text == "SELECT 3"
        # One that is empty is taken before a new one is made.
        await console.type(" * 4")
        await console.press("ctrl+t", "ctrl+pageup")
        await pane.prepare("SELECT 5")
        assert [sheet.editor.text for sheet in pane.sheets] == ["SELECT 2 + 1", "SELECT 3 * 4", "SELECT 5"]
        await console.press("ctrl+q")
        await console.sees(about("2 queries", "not saved", "ctrl+q"))
        # What was run whole is in the history; one statement of several is not all.
        sheet = pane.sheet
        await console.type("; SELECT 6")
        assert not sheet.draft.after_run(sheet.editor.text, " SELECT 6").is_free(sheet.editor.text)
        assert sheet.draft.after_run("SELECT 5 ;\n", "SELECT 5 ").is_free("SELECT 5 ;\n")


async def test_a_second_statement_is_told_to_wait_and_cancel_reaches_the_first(warehouse: Path) -> None:
    async with querying(warehouse, (120, 40)) as (console, pane):
        first = pane.sheet
        running = first.result = QueryResult("SELECT 1", 0, 0.0)
        await console.press("ctrl+t")
        await console.type("SELECT 2")
        await console.press("ctrl+r")
        await console.sees("The statement of query 1 is still running: ctrl+c cancels it", "query 1 …")
        assert pane.result is None
        assert pane.editor.text == "SELECT 2"
        # Not from a dialog over it, where something else may be meant.
        await console.press("ctrl+o")
        await console.sees("Statements run before")
        await console.press("ctrl+c")
        assert not first.result.is_cancelling
        await console.press("escape", "ctrl+c")
        assert running.is_cancelling
        await console.press("ctrl+pageup", "ctrl+g")
        await console.sees(about("statement", "still running"))
        running.take(Finished(rows=1, truncated=False, seconds=0.1))
        assert not pane.running


async def test_many_lines_are_pasted_taken_back_and_deleted(warehouse: Path) -> None:
    """Where the scroll bar goes with them Textual looks for the cursor behind the last line."""
    async with querying(warehouse) as (console, pane):
        before = pane.editor.text
        await console.press("ctrl+a")
        console.app.post_message(Paste("".join(f"{number},\r\n" for number in range(40))))
        await console.sees("39,")
        pasted = pane.editor.text
        assert pasted.count("\n") == 41 and "\r" not in pasted
        await console.press("ctrl+z")
        assert pane.editor.text == before
        await console.press("ctrl+y")
        assert pane.editor.text == pasted
        pane.editor.select_all()
        await console.press("delete")
        assert pane.editor.text == ""
        await console.press("ctrl+z")
        assert pane.editor.text == pasted


async def test_a_fresh_query_is_replaced_by_what_is_typed_or_pasted(warehouse: Path) -> None:
    async with querying(warehouse) as (console, pane):
        assert pane.editor.is_proposal and pane.unsaved == 0
        await console.type("SHOW TABLES")
        assert pane.editor.text == "SHOW TABLES"
    async with querying(warehouse) as (console, pane):
        console.app.post_message(Paste("SHOW\nTABLES"))
        await console.until(lambda: pane.editor.text == "SHOW\nTABLES", "the pasted text is all")


@pytest.mark.parametrize("key", ["end", "right", "ctrl+a", "home"])
async def test_a_touched_proposal_stays(warehouse: Path, key: str) -> None:
    async with querying(warehouse) as (console, pane):
        proposed = pane.editor.text
        await console.press(key)
        await console.type("x")
        assert len(pane.editor.text) == len(proposed) + 1
        await console.press("ctrl+z")
        assert pane.editor.text == proposed


async def test_a_proposal_that_was_run_stays_and_a_prepared_statement_is_no_proposal(warehouse: Path) -> None:
    async with querying(warehouse) as (console, pane):
        proposed = pane.editor.text
        await console.press("ctrl+r")
        assert not pane.editor.is_proposal
        await console.type(" LIMIT 1")
        assert pane.editor.text == f"{proposed} LIMIT 1"
        await pane.prepare("SELECT 1")
        await console.type("0")
        assert pane.editor.text.endswith(("SELECT 10",))


async def test_keys_delete_as_in_a_shell_or_what_is_selected(warehouse: Path) -> None:
    async with querying(warehouse) as (console, pane):
        await console.press("ctrl+u")
        assert pane.editor.text == ""
        await console.type("SELECT one two")
        for key, left in (("ctrl+w", "SELECT one "), ("ctrl+a", "SELECT one "), ("ctrl+k", "")):
            await console.press(key)
            assert pane.editor.text == left
        for key in ("ctrl+u", "ctrl+k", "ctrl+w"):
            await console.type("SELECT 1")
            await console.press("f7", key)
            assert pane.editor.text == ""
