"""The dialog of an action: what it says, and that it fits a terminal without room for all of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.tui.dialogs.argument_fields import known_lines
from paimark.tui.dialogs.plan_dialog import PlanDialog
from paimark.tui.widgets.choices import Choices
from paimark.tui.widgets.grid.scroll_lines import wrap_line
from tests.table.branches import create_branch
from tests.tui.conftest import act
from tests.tui.driving import at_orders
from tests.wording import about


@pytest.mark.parametrize("size", [(40, 10), (40, 12), (60, 16)])
async def test_buttons_and_the_focused_field_of_a_plan_are_in_sight(
    warehouse: Path, size: tuple[int, int]
) -> None:
    """With four fields: three of `replace-main-branch`, and its confirmation."""
    create_branch(warehouse, "shop.orders", "fix", "v2")
    async with at_orders(warehouse, (120, 40)) as console:
        await console.press("3", "j")
        await console.sees("branch fix")
        await console.pilot.resize_terminal(*size)
        await console.press("R")
        await console.sees("▸[ Cancel ]", "Make branch fix main", "esc cancel", "╰─")
        await console.press("c")
        await console.sees("confirm", "[ Cancel ]", "╰─")
        await console.type("fix")
        await console.sees("confirm       fix ", "[ Cancel ]")
        await console.press("down", "e")
        await console.sees("name          fix ", "[ Cancel ]")


async def test_a_dialog_fits_a_terminal_that_becomes_smaller(warehouse: Path) -> None:
    async with at_orders(warehouse, (120, 40)) as console:
        await console.press("B")
        await console.sees("rollback · shop.orders", "[ Close ]")
        await console.pilot.resize_terminal(40, 10)
        await console.sees("[ Close ]", "╰─", "╭─")


def test_the_button_under_the_cursor_is_in_sight_on_a_narrow_line() -> None:
    choices = Choices(["To the background", "Cancel it"])
    choices._cursor = 1
    line = "".join(text for text, _ in choices.lines(30)[0])
    assert "[ Cancel it ]" in line and cell_len(line.rstrip()) <= 30
    assert choices.lines(80)[0][0][0].endswith("[ To the background ]")


def test_no_line_ends_between_the_number_of_an_operation_and_its_action(warehouse: Path) -> None:
    for number in range(12):
        act(warehouse, "create-tag", name=f"t{number}")
    line = known_lines(LocalFiles(str(warehouse)), TablePath("shop", "orders"), "restore", None)["to"]
    for width in range(40, 97):
        texts = ["".join(text for text, _ in each) for each in wrap_line(line, width)]
        assert not [text for text in texts if re.search(r"\b\d+ *$", text)]
        assert "\u00a0" not in "".join(texts)
    assert "12 create-tag, 11 create-tag" in " ".join("".join(t for t, _ in e) for e in wrap_line(line, 500))


def test_a_restore_lists_only_the_operations_that_it_can_reach(warehouse: Path) -> None:
    for name in ("kept", "undone"):
        act(warehouse, "create-tag", name=name)
    act(warehouse, "undo")
    files, table = LocalFiles(str(warehouse)), TablePath("shop", "orders")

    def listed() -> str:
        [*_, (names, _)] = known_lines(files, table, "restore", None)["to"]
        return names.replace("\u00a0", " ")

    # What was undone last can be done again, until something else is done.
    assert listed() == "2 create-tag, 1 create-tag, 0 for before all"
    act(warehouse, "create-tag", name="later")
    assert listed() == "4 create-tag, 1 create-tag, 0 for before all"


async def test_a_plan_for_a_warehouse_that_is_gone_says_so(warehouse: Path) -> None:
    async with at_orders(warehouse, (100, 30)) as console:
        warehouse.rename(warehouse.with_name("gone"))
        await console.press("s")
        await console.sees("create-savepoint · shop.orders", about("✗ failed", "no warehouse"))


async def test_the_phrase_to_type_follows_the_name_that_is_typed(warehouse: Path) -> None:
    create_branch(warehouse, "shop.orders", "fix", "v2")
    async with at_orders(warehouse, (100, 30)) as console:
        await console.press("3")
        await console.sees("branch main")
        await console.press("colon", *"delete-branch", "enter")
        await console.sees("Fill in: name.")
        assert "to go on" not in console.text
        await console.type("fix")
        await console.sees("Delete branch fix", "type fix to go on")


async def test_a_refused_plan_asks_for_no_name(warehouse: Path) -> None:
    """Nothing can be agreed to; other arguments may give another plan."""
    create_branch(warehouse, "shop.orders", "fix", "v2")
    act(warehouse, "create-tag", name="other", snapshot=3)
    async with at_orders(warehouse, (100, 30)) as console:
        await console.press("4")
        await console.sees("tag other")
        await console.press("j", "x")
        await console.sees("delete-tag · shop.orders", "Refused:", "▸[ Close ]")
        for word in ("confirm", "Cancel", "kept", "frees", "delete   "):
            assert word not in console.text, console.text
        await console.press("e", "ctrl+u", *"other")
        await console.sees("Delete tag other", "confirm       type other to go on", "[ Cancel ]")


async def test_a_plan_that_is_refused_while_its_name_is_typed_takes_the_field_away(warehouse: Path) -> None:
    async with at_orders(warehouse, (100, 30)) as console:
        await console.press("4")
        await console.sees("tag v2")
        await console.press("x")
        await console.sees("Delete tag v2", "type v2 to go on")
        create_branch(warehouse, "shop.orders", "fix", "v2")
        await console.press("c", "v")
        await console.sees("confirm       v ")
        assert isinstance(console.app.screen, PlanDialog)
        console.app.screen.action_plan()
        await console.sees("Refused:", "▸[ Close ]")
        await console.loses("confirm ")
        await console.press("enter")
        await console.loses("Refused:")


async def test_a_refused_plan_of_many_asks_for_no_number(warehouse: Path) -> None:
    create_branch(warehouse, "shop.orders", "fix", "v2")
    act(warehouse, "create-tag", name="other", snapshot=2)
    async with at_orders(warehouse, (100, 30)) as console:
        await console.press("4")
        await console.sees("tag other")
        await console.press("space", "j", "space", "x")
        await console.sees("delete-tag · shop.orders", "▸[ Close ]", "r plan again")
        assert "confirm" not in console.text


async def test_a_plan_made_again_is_to_be_confirmed_again(warehouse: Path) -> None:
    """What was typed confirmed the plan that was shown then."""
    async with at_orders(warehouse, (100, 30)) as console:
        await console.press("4")
        await console.sees("tag v2")
        await console.press("x")
        await console.sees("Delete tag v2", "type v2 to go on")
        await console.press("c", *"v2", "enter")
        await console.sees("confirm       v2 ", "a apply")
        await console.press("r")
        await console.sees("Delete tag v2", "type v2 to go on", "[ Cancel ]")
        await console.press("a")
        await console.pilot.pause(0.2)
        assert isinstance(console.app.screen, PlanDialog) and console.app.screen.change is None
