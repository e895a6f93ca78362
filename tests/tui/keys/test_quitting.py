"""Whoever wants to quit, or to see the keys, is told how, whichever program taught them their key."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.long import long_but
from tests.tui.driving import at_events, at_orders, sitting
from tests.wording import about


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_last_line_ends_with_help_and_quitting_everywhere(
    warehouse: Path, size: tuple[int, int]
) -> None:
    async with at_orders(warehouse, size) as console:
        # Last the one with an editor, in which digits are text.
        for tab in "12345786":
            await console.press(tab)
            help_ = "f1" if tab == "6" else "?"
            await console.sees(f"[{tab} ", f"  {help_} keys  ^q quit")
            assert console.text.rstrip().endswith(f"  {help_} keys  ^q quit")


@pytest.mark.parametrize("width", [30, 40, 60])
async def test_also_where_hardly_anything_fits(warehouse: Path, width: int) -> None:
    async with sitting(warehouse, (width, 24)) as console:
        await console.sees("● events")
        assert console.text.rstrip().endswith("? keys  ^q quit")


async def test_and_in_dialogs_and_while_a_filter_is_typed(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("slash")
        await console.sees("esc no filter", "f1 keys  ^q quit")
        await console.press("escape", "i")
        await console.sees("esc close", "? keys  ^q quit")
        await console.press("slash")
        await console.sees("esc no filter", "f1 keys  ^q quit")


async def test_q_says_which_key_quits(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.press("q")
        await console.sees("ctrl+q quits.")
        await console.press("enter", "q")
        await console.sees("ctrl+q quits.")
        await console.press("s")
        await console.sees("[ Apply ]")
        await console.press("q")
        await console.sees("esc closes this, ctrl+q quits.")
        await console.press("escape", "ctrl+c")
        await console.sees("ctrl+q quits.")
        assert console.app.is_running


@pytest.mark.parametrize("word", long_but(["q", "quit", "exit"], "q"))
async def test_a_colon_and_the_word_of_other_programs_quits(warehouse: Path, word: str) -> None:
    async with at_events(warehouse) as console:
        await console.press("colon", *word, "enter")
        await console.until(lambda: console.app._exit, "it quits")


async def test_it_asks_what_ctrl_q_asks(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.press("6")
        await console.sees("SELECT *")
        await console.press("X", "escape")
        await console.press("colon", "q", "enter")
        await console.sees(about("1 query", "not saved", "ctrl+q"))
        assert not console.app._exit
        await console.press("ctrl+q")
        await console.until(lambda: console.app._exit, "it quits")


async def test_f1_shows_the_keys_also_while_typing_and_in_a_dialog(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.press("f1")
        await console.sees("Everywhere")
        await console.press("f1")
        await console.loses("Everywhere")
        await console.press("6")
        await console.sees("SELECT *")
        await console.press("f1")
        await console.sees("╭─ Keys ─", "Query")
        await console.press("f1", "escape", "1", "i")
        await console.sees("─ snapshot 2 ─", "esc close")
        await console.press("f1")
        await console.sees("╭─ Keys ─", "Here")


async def test_the_keys_can_be_searched_by_key_effect_and_place(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.press("question_mark", "slash")
        await console.type("rename")
        await console.sees(about("T", "tag", "name"), "Everywhere")
        await console.loses("In rows")
        await console.press("enter", "escape")
        await console.sees(about("s", "a savepoint"))
        await console.press("slash")
        await console.type("nosuchkey")
        await console.sees("No key matches /nosuchkey")
        await console.press("escape", "escape")
        await console.loses("─ Keys ─")
