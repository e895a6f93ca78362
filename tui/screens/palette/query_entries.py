"""The entries of the palette for the query pane's sheets and files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from paimark.tui.dialogs.palette import PaletteEntry
from paimark.tui.named_keys import key
from paimark.tui.panes.pane import Pane

if TYPE_CHECKING:
    from paimark.tui.panes.query import QueryPane


def query_entries(open_pane: Callable[[], Awaitable[Pane]]) -> list[PaletteEntry]:
    """`open_pane` goes to the query pane. The entries show the present keys, rebound or not."""

    def entry(name: str, what: str, keys: str, act: Callable[[QueryPane], Awaitable[None]]) -> PaletteEntry:
        async def run() -> None:
            from paimark.tui.panes.query import QueryPane

            pane = await open_pane()
            assert isinstance(pane, QueryPane)
            await act(pane)

        return PaletteEntry(name, what, keys, run)

    new, close = key("sheet.new", "ctrl+t"), key("sheet.close", "ctrl+g")
    opened, save = key("sheet.open", "ctrl+f"), key("sheet.save", "ctrl+s")
    return [
        entry("new query", "another one beside those there are", new, lambda it: it.action_new()),
        entry("close query", "the one in view", close, lambda it: it.action_shut()),
        entry("open file", "a .sql file as a query", opened, lambda it: it.action_open()),
        entry("save file", "the query to its .sql file", save, lambda it: it.action_save()),
        entry("save as", "the query to another .sql file", "", lambda it: it.action_save_as()),
    ]
