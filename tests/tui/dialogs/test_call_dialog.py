"""A CALL in the query pane opens the plan dialog of its action."""

from __future__ import annotations

from pathlib import Path

from tests.tui.driving import querying, run


async def test_a_call_is_planned_and_done_in_the_dialog(warehouse: Path) -> None:
    tag = warehouse / "shop.db" / "orders" / "tag" / "tag-v5"
    async with querying(warehouse, (100, 30)) as (console, pane):
        pane.editor.text = "CALL sys.create_tag('orders', 'v5', snapshot => 4)"
        await console.press("ctrl+r")
        await console.sees("create-tag · shop.orders", "as v5", "[ Apply ]")
        assert not tag.exists()
        await console.press("a")
        await console.until(tag.exists, "apply")
        assert pane.result is None
        assert pane.sheet.has_unsaved
        await console.sees("✓ done")
        await console.press("enter")
        await console.loses("✓ done")
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
