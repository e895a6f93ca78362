"""A CALL in the query pane opens the plan dialog of its action."""

from __future__ import annotations

from pathlib import Path

from paimark.core.errors import StatementFailed
from paimark.tui.dialogs.plan_text import error_lines
from tests.tui.driving import querying, run


async def test_a_call_is_planned_and_done_in_the_dialog(warehouse: Path) -> None:
    tag = warehouse / "shop.db" / "orders" / "tag" / "tag-v5"
    async with querying(warehouse, (100, 30)) as (console, pane):
        await run(console, pane, "SELECT tag_name FROM shop.`orders$tags`")
        await console.sees("✓ 1 row", "v2")
        pane.editor.text = "CALL sys.create_tag('orders', 'v5', snapshot => 4)"
        await console.press("ctrl+r")
        await console.sees("create-tag · shop.orders", "as v5", "[ Apply ]")
        assert not tag.exists()
        await console.press("a")
        await console.until(tag.exists, "apply")
        assert pane.sheet.has_unsaved
        await console.sees("✓ done")
        await console.press("enter")
        await console.loses("✓ done")
        # What was asked before is not taken for its answer.
        await console.sees("✓ Tagged snapshot 4 of shop.orders as v5")
        assert "tag_name" not in console.text
        # The statement was run: its text is not lost, and the history has it.
        await console.until(lambda: not pane.sheet.has_unsaved)
        await console.press("ctrl+o")
        await console.sees("Statements run before", "done", "CALL sys.create_tag")
        await console.press("escape")
    assert b'"id": 4' in tag.read_bytes()


async def test_what_is_destructive_wants_its_name_typed(warehouse: Path) -> None:
    tag = warehouse / "shop.db" / "orders" / "tag" / "tag-v2"
    async with querying(warehouse, (100, 30)) as (console, pane):
        pane.editor.text = "CALL sys.delete_tag(table => 'shop.orders', name => 'v2')"
        await console.press("ctrl+r")
        await console.sees("delete-tag · shop.orders", "type v2 to go on")
        await console.press("a", "escape")
        await console.loses("delete-tag · shop.orders")
        assert pane.sheet.has_unsaved
    assert tag.exists()


async def test_a_call_that_can_not_be_done_is_pointed_at(warehouse: Path) -> None:
    async with querying(warehouse, (100, 30)) as (console, pane):
        await run(console, pane, "SELECT 1;\nCALL sys.create_tag('shop.orders',\n  nam => 'v5')")
        await console.sees("✗", "has no nam")
        assert pane.editor.cursor_location == (2, 2)


def test_the_error_of_a_statement_is_pointed_at() -> None:
    statement = "DELETE FROM shop.orders\nWHERE prce < 0"
    error = StatementFailed("There is no column prce", "Did you mean price?", statement.index("prce"))
    lines = ["".join(text for text, _ in line) for line in error_lines(error, statement, 60)]
    assert lines[1:] == [
        "✗ failed There is no column prce",
        "         WHERE prce < 0",
        "               ^",
        "         Did you mean price?",
    ]
    # Of an action that nobody wrote as a statement, there is no text to point at.
    assert len(error_lines(error)) == 3
