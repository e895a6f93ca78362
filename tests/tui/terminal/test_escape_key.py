"""`esc` and what is typed right after it are two keys, as they were typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import Key

from paimark.tui.terminal.escape_key import KeyParser
from tests.tui.driving import at_events, querying, sitting


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        ("\x1b3", ["alt+3"]),
        ("\x1bj", ["alt+j"]),
        ("\x1b?", ["escape", "question_mark"]),
        ("\x1b\r", ["escape", "enter"]),
        ("\x1b\x1b", ["escape", "escape"]),
        ("\x1bj\x1bk", ["alt+escape", "j", "alt+k"]),
        ("\x1b[A", ["up"]),
        ("\x1b[1;3D", ["alt+left"]),
        ("\x1bb", ["ctrl+left"]),
        ("£", ["pound_sign"]),
    ],
)
def test_what_a_terminal_sends(sent: str, keys: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textual.constants.ESCAPE_DELAY", 0.001)
    parser = KeyParser()
    found = [event for character in sent for event in parser.feed(character)]
    while len(found) < len(keys):
        found += parser.tick()
    assert [event.key for event in found if isinstance(event, Key)] == keys


async def test_both_keys_count_and_none_is_text(warehouse: Path) -> None:
    async with at_events(warehouse, (120, 40)) as console:
        await console.press("slash", "z")
        await console.sees("No row matches")
        console.app.post_message(Key("alt+4", "4"))
        await console.sees("[4 Tags]")
        await console.press("slash", "v")
        console.app.post_message(Key("alt+escape", "\x1b"))
        console.app.post_message(Key("alt+1", "1"))
        await console.sees("[1 Snapshots]")


async def test_alt_is_alt_where_a_terminal_tells_it_apart(warehouse: Path) -> None:
    async with sitting(warehouse) as console:
        await console.sees("● events", "snapshot 2")
        # It sends no character with it.
        console.app.post_message(Key("alt+4", None))
        await console.press("j")
        await console.sees("● orders", "[1 Snapshots]")


async def test_alt_is_alt_where_a_key_with_it_is_bound(warehouse: Path) -> None:
    async with querying(warehouse, (120, 40)) as (console, pane):
        await console.press("ctrl+t")
        await console.sees("[query 2]")
        console.app.post_message(Key("alt+left", "x"))
        await console.sees("[query 1]")
        assert pane.editor.has_focus
        # This one is not.
        console.app.post_message(Key("alt+x", "x"))
        await console.until(lambda: not pane.editor.has_focus, "out of the editor")
        assert "x" not in pane.editor.text
