"""Panes whose rows are the same for every branch of a table, when another branch comes into view."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.space.report import SpaceReport
from paimark.core.space.space import space
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.panes.space import space_pane
from tests.conftest import ORDERS
from tests.paimon import commit
from tests.table.branches import create_branch
from tests.tui.driving import Sitting, at_orders
from tests.wording import about


async def is_read(console: Sitting, pane: RecordPane[Any]) -> None:
    """All of it, also what is read after the first rows."""
    await console.until(
        lambda: (
            pane.loaded is not None
            and pane.loaded.opened.target == console.app.browse.target
            and pane.loaded.fingerprint is not None
        ),
        "all rows are read",
    )


@pytest.mark.parametrize(("tab", "name"), [("7", "Timeline"), ("8", "Space")])
async def test_the_cursor_stays_on_its_row(warehouse: Path, tab: str, name: str) -> None:
    create_branch(warehouse, "shop.orders", "fix", "v2")
    row = {"order_id": [1], "customer": ["fixed"], "price": [0.5]}
    commit(warehouse, "shop.orders$branch_fix", pa.table(row, schema=ORDERS))
    async with at_orders(warehouse, (120, 30)) as console:
        await console.press(tab)
        await console.sees(f"[{tab} {name}")
        pane = console.app.browse.pane
        assert isinstance(pane, RecordPane)
        await is_read(console, pane)
        fixes = next(index for index in range(len(pane.rows)) if "fix" in str(pane.rows.row(index)))
        pane.grid.move_to(fixes)
        await console.until(lambda: pane.grid.index == fixes)
        title, key = pane.current_detail.title, pane.grid.cursor_key
        await console.press("3")
        await console.sees("branch main")
        await console.press("j", "v")
        await console.sees("orders › fix")
        await console.press(tab)
        await is_read(console, pane)
        assert (pane.current_detail.title, pane.grid.cursor_key) == (title, key)
        await console.press(*["left_square_bracket"] * 3)
        await console.sees("orders › main", f"[{tab} {name}")
        await is_read(console, pane)
        assert (pane.current_detail.title, pane.grid.cursor_key) == (title, key)


async def test_a_row_that_is_still_being_counted_is_not_gone(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_branch(warehouse, "shop.orders", "fix", "v2")
    may_count = threading.Event()

    def counted(*arguments: Any) -> SpaceReport:
        assert may_count.wait(60)
        return space(*arguments)

    async with at_orders(warehouse, (120, 30)) as console:
        await console.press("8")
        await console.sees("2 buckets: ")
        pane = console.app.browse.pane
        assert isinstance(pane, RecordPane)
        pane.grid.move_to(next(i for i in range(len(pane.rows)) if pane.name_of(i) == "fix"))
        monkeypatch.setattr(space_pane, "space", counted)
        await console.press("3")
        await console.sees("branch main")
        await console.press("j", "v")
        await console.sees("orders › fix")
        await console.press("8")
        await console.sees(about("fix", "still"))
        may_count.set()
        await console.sees("═ fix ═ ")
