"""Every key that `?` lists does something that one can see, where it is listed for."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from textual.binding import Binding

from paimark.core.spark.client.client import Engine
from paimark.core.table.layout import TablePath
from paimark.tui.panes.log import LogPane
from paimark.tui.panes.query import QueryPane
from paimark.tui.screens.help import key_sections
from paimark.tui.session import Target
from paimark.tui.tabs import Tab
from paimark.tui.widgets.sql_editor import SqlEditor
from tests.table.branches import create_branch
from tests.tui.conftest import act
from tests.tui.driving import Sitting, querying, run, with_engine

ORDERS = TablePath("shop", "orders")
# They leave the program or the result, or stop it, or show the same again; each has a test of its own.
APART = {"app.quit", "app.suspend", "app.redraw", "browse.refresh", "sheet.close"}
# In the editor they move the cursor or mark, or there is nothing to do again or to cut where it is.
APART |= {f"editor.{each}" for each in ("start", "end", "select", "redo", "cut_end")}
LONG = "repeat('long ', 14)"
# What is read for a key shows within so many seconds.
_LONGEST = 0.4


@pytest.fixture
def rich(warehouse: Path) -> Path:
    """`shop.orders` with several rows on every tab."""
    for number in (3, 4):
        act(warehouse, "create-savepoint", snapshot=number)
    act(warehouse, "create-tag", name="nightly", snapshot=4)
    for name in ("fix", "later"):
        create_branch(warehouse, "shop.orders", name, "v2")
    schemas = warehouse / "shop.db/orders/schema"
    later = {**json.loads((schemas / "schema-0").read_bytes()), "id": 1}
    (schemas / "schema-1").write_text(json.dumps(later))
    return warehouse


async def test_every_key_of_the_help_does_something(
    rich: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    async with querying(rich, (120, 40), session=with_engine(rich, engine)) as (console, pane):
        await run(console, pane, f"SELECT order_id, {LONG} AS words, price FROM shop.orders")
        await console.sees("✓ 8 rows")
        # The result first: other tabs' keys run statements of their own.
        places = [partial(to_rows, console, tab) for tab in sorted(Tab, key=lambda tab: tab is not Tab.QUERY)]
        places += [partial(to_tables, console), partial(to_editor, console, pane)]
        walked: set[str] = set()
        for place in places:
            await walk(console, place, walked)
        sections = key_sections(console.app.BINDINGS)
        listed = {each.id: title for title, keys in sections for each in keys if isinstance(each, Binding)}
        assert {each: listed[each] for each in set(listed) - walked - APART} == {}
        await console.until(lambda: engine.state != "running", "the end of what a key began")


async def walk(console: Sitting, go: Callable[[], Awaitable[None]], walked: set[str]) -> None:
    """Press each key that has shown nothing yet, each in the same place; add the ids of those that do."""
    await go()
    for key, (_, binding, enabled, _) in sorted(console.app.screen.active_bindings.items()):
        if not enabled or binding.id is None or binding.id in walked | APART:
            continue
        await go()
        if is_typed(console, key):
            continue
        before = console.text
        await console.press(key)
        began = time.monotonic()
        while console.text == before and time.monotonic() - began < _LONGEST:
            await console.pilot.pause(0.02)
        assert console.app.is_running, key
        if console.text != before:
            walked.add(binding.id)


def is_typed(console: Sitting, key: str) -> bool:
    """Whether the editor takes it as text."""
    in_editor = isinstance(console.app.focused, SqlEditor)
    return in_editor and "+" not in key and key not in ("escape", "tab", "f4", "f5")


async def base(console: Sitting) -> None:
    """No dialog, no mark, no log, and nothing said on the line below."""
    while console.app.screen is not console.app.browse:
        await console.app.pop_screen()
    browse = console.app.browse
    browse.rows.marks = []
    browse.remove_class("-zoomed")
    for log in browse.query(LogPane):
        await log.remove()
    browse.show_table(Target(ORDERS))
    browse.key_bar.hush()


async def to_rows(console: Sitting, tab: Tab) -> None:
    """The second of a tab's rows, or of a result's."""
    await base(console)
    pane = await console.app.browse.open_tab(tab)
    if isinstance(pane, QueryPane):
        pane.show_sheet(pane.sheets[0])
    await console.until(lambda: len(pane.grid.source) > 1, f"rows of {tab.title}")
    pane.grid.filter("")
    if pane.grid.check_action("reverse", ()):
        # What is not sorted has no other way.
        pane.grid.sort_by(1)
    pane.grid.move_to(1)
    pane.grid.go_to_column(1)
    console.app.screen.set_focus(pane.grid)
    await console.pilot.pause()


async def to_tables(console: Sitting) -> None:
    await base(console)
    console.app.browse.go_up()
    console.app.browse.tables.grid.move_to(2)
    await console.sees("● orders")


async def to_editor(console: Sitting, pane: QueryPane) -> None:
    await base(console)
    await console.app.browse.open_tab(Tab.QUERY)
    pane.editor.text = "SELECT * FROM shop.or"
    pane.editor.move_cursor(pane.editor.document.end)
    # Typed, so that it can be undone.
    pane.editor.insert("d")
    pane.focus_first()
    await console.pilot.pause()
