"""The keys of the terminal work in each dialog as they do below it, and `?` lists them there."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from paimark.tui.app import _scopes
from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.work.running_change import RunningChange
from tests.tui.driving import at_events, at_orders
from tests.wording import about

OF_THE_TERMINAL = {"app.mouse": "M", "app.suspend": "ctrl+z", "app.redraw": "ctrl+l"}


class Writing:
    """What the console sees of a change while it is written."""

    title = "create-tag shop.orders"
    elapsed = "1 s"


async def test_ctrl_z_says_in_a_dialog_that_a_change_is_being_written(warehouse: Path) -> None:
    async with at_orders(warehouse) as console:
        await console.press("s")
        await console.sees("create-savepoint · shop.orders", "[ Apply ]")
        console.app.session.changes.append(cast(RunningChange, Writing()))
        await console.press("ctrl+z")
        await console.sees(about("change", "written", "ctrl+z"))
        console.app.session.changes.clear()


async def test_the_mouse_is_switched_in_a_dialog(warehouse: Path) -> None:
    async with at_events(warehouse) as console:
        await console.app.push_screen(Dialog[None]("keys"))
        await console.press("M")
        await console.sees("The mouse is o")


async def test_help_of_a_dialog_lists_the_keys_of_the_terminal(warehouse: Path) -> None:
    async with at_events(warehouse, (100, 40)) as console:
        await console.app.push_screen(Dialog[None]("keys"))
        await console.press("question_mark")
        await console.sees(about("ctrl+z", "shell"), about("ctrl+l", "screen"), about("M", "mouse"))


def test_each_dialog_has_the_keys_of_the_terminal_unless_it_uses_the_key() -> None:
    for scope in (each for each in _scopes() if each.is_dialog):
        ids = {each.id for each in scope.bindings}
        assert set(OF_THE_TERMINAL) <= ids, scope.title
