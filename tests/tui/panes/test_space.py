"""Tab 8: who holds how many bytes, what `x` frees, and a count that can be stopped."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.cancelling import check_cancelled
from paimark.core.figures import size
from paimark.core.space.report import SpaceReport, SpaceRow
from paimark.core.space.space import space
from paimark.tui.panes.space import space_pane
from paimark.tui.panes.space.space_pane import SpacePane
from tests.conftest import ORDERS
from tests.paimon import commit
from tests.tui.conftest import act
from tests.tui.driving import Sitting, sitting
from tests.wording import about


@pytest.fixture
def forked(warehouse: Path) -> Path:
    """Branch `fix` of `shop.orders` with a commit of its own, a savepoint, and tag `mine` on the branch."""
    act(warehouse, "create-savepoint")
    act(warehouse, "create-branch", name="fix", tag="v2")
    row = {"order_id": [1], "customer": ["fixed"], "price": [0.5]}
    commit(warehouse, "shop.orders$branch_fix", pa.table(row, schema=ORDERS))
    act(warehouse, "create-tag", name="mine", branch="fix")
    return warehouse


async def open_space(console: Sitting) -> SpacePane:
    await console.sees("● events")
    await console.press("j")
    await console.sees("● orders")
    await console.press("enter", "8")
    pane = console.app.browse.tabs.pane
    assert isinstance(pane, SpacePane)
    return pane


async def whole_report(console: Sitting, pane: SpacePane) -> SpaceReport:
    await console.until(lambda: pane.loaded is not None and pane.loaded.rows.report is not None, "counted")
    assert pane.loaded is not None and pane.loaded.rows.report is not None
    return pane.loaded.rows.report


async def go_to(console: Sitting, pane: SpacePane, kind: str, name: str) -> None:
    lines = pane.rows.records
    at = [(getattr(line, "kind", "bucket"), line.name) for line in lines]
    pane.grid.move_to(at.index((kind, name)))
    await console.sees(f"═ {name} ═ {at.index((kind, name)) + 1} of")


async def test_rows_say_what_x_frees_and_x_opens_that_plan(forked: Path) -> None:
    async with sitting(forked, (120, 40)) as console:
        pane = await open_space(console)
        report = await whole_report(console, pane)
        rows: dict[tuple[str, str], SpaceRow] = {(each.kind, each.name): each for each in report.rows}
        await console.sees(
            "[8 Space", f"{size(report.bytes)}, ", " alone + ", "bucket-0", "2 buckets: 10 small files"
        )
        for kind, name, title in (
            ("branch", "fix", "Delete branch fix of shop.orders"),
            ("savepoint", "savepoint.1", "Delete savepoint 1 of shop.orders"),
            ("tag", "mine", "Delete tag mine of branch fix of shop.orders"),
        ):
            await go_to(console, pane, kind, name)
            await console.press("x")
            row = rows[kind, name]
            files = f"{row.alone_files} file{'' if row.alone_files == 1 else 's'}"
            freed = f"frees    {files}, {size(row.alone_bytes)}"
            await console.sees(f"{title}.", freed if row.alone_files else about("no file", "table"))
            await console.press("escape")
            await console.until(lambda: console.app.screen is console.app.browse, "it closes")
        await go_to(console, pane, "older", "main, older snapshots")
        await console.press("x")
        await console.sees("expire-snapshots · shop.orders")
        await console.press("escape")
        await go_to(console, pane, "bucket", "bucket-1")
        await console.sees("70 % of target-file-size")
        await console.press("x")
        await console.sees(about("x", "branch", "tag", "savepoint", "older snapshots"))
        await console.press("enter")
        await console.sees(about("no version", "rows"))
        await go_to(console, pane, "tag", "mine")
        await console.press("enter")
        await console.sees("FROM shop.`orders$branch_fix` VERSION AS OF 'mine'")


async def test_the_newest_snapshot_is_told_while_the_rest_is_counted(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ctrl+c stops the count, the figure stays, and r counts again."""
    waiting, stopped = threading.Event(), threading.Event()

    def slow(*words: object, **named: object) -> SpaceReport:
        waiting.set()
        try:
            while not stopped.wait(0.01):
                check_cancelled()
        except BaseException:
            stopped.set()
            raise
        return space(*words, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(space_pane, "space", slow)
    async with sitting(warehouse, (100, 30)) as console:
        pane = await open_space(console)
        await console.until(waiting.is_set, "it counts")
        await console.sees("main, newest snapshot", about("counting", "ctrl+c"), "being counted")
        await console.press("x")
        await console.sees(about("still", "counted", "free"))
        await console.press("ctrl+c")
        await console.sees(about("not counted", "r"), "main, newest snapshot")
        assert stopped.is_set()
        await console.press("r")
        await whole_report(console, pane)
        await console.sees(" alone + ")


async def test_a_count_that_fails_says_so_and_does_not_go_on(warehouse: Path) -> None:
    (warehouse / "shop.db/orders/schema/schema-0").write_text('{"version": 3')
    async with sitting(warehouse, (100, 30)) as console:
        await open_space(console)
        await console.sees("✗ Not counted: ", "schema record (Input", "alone not counted")
        assert "being counted" not in console.text and "counting who" not in console.text
        await console.press("x")
        await console.sees(about("free", "not counted", "r"))
