"""Tab 9: what was done, by whom and why; from a row its record, its difference, and the way back to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.edits import Edits, RowsEdit
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.operations import append, log_entries, read_operations
from paimark.core.table.records import point_of
from paimark.tui.panes.operations import OperationsPane
from tests.tui.conftest import act
from tests.tui.driving import Sitting, at_orders
from tests.wording import about

ORDERS = TablePath("shop", "orders")


async def open_operations(console: Sitting) -> OperationsPane:
    await console.press("9")
    pane = console.app.browse.tabs.pane
    assert isinstance(pane, OperationsPane)
    await console.until(lambda: pane.loaded is not None, "read")
    return pane


def labels(pane: OperationsPane) -> list[str]:
    """The two versions that `=` compares."""
    return [] if pane.change is None else [each.label for each in pane.change]


async def test_a_row_tells_who_did_what_and_why_and_leads_back_to_it(warehouse: Path) -> None:
    act(warehouse, "create-tag", name="a", message="[b]before[/b] the sale", author="jane")
    act(warehouse, "create-tag", name="b")
    act(warehouse, "undo", message="one is enough")
    async with at_orders(warehouse, (80, 24)) as console:
        await open_operations(console)
        await console.sees("[9 Operations]", "undone", "jane", "[b]before[/b] the", "one is enough")
        lines = [line for line in console.text.splitlines() if "create-tag" in line or "undo " in line]
        assert ["undone" in line for line in lines[:3]] == [False, True, False] and "jane" in lines[2]
        await console.press("j", "j", "enter")
        await console.sees(
            "─ operation 1 ─", "message        [b]before[/b] the sale", "by             jane ("
        )
        await console.sees("with name      a", "way back       paimark undo shop.orders")
        await console.press("escape", "W")
        await console.sees("restore · shop.orders", "shop.orders is at operation 1 already")
        await console.press("escape", "u")
        await console.sees("Take back create-tag (", "delete tag a of shop.orders")
        # What is said of it needs no other plan.
        await console.press("e", "down")
        await console.type("no tag")
        await console.press("enter", "a")
        await console.until(lambda: len(read_operations(LocalFiles(str(warehouse)), ORDERS)) == 4, "done")
    [*_, last] = read_operations(LocalFiles(str(warehouse)), ORDERS)
    assert (last.action, last.message) == ("undo", "no tag")


async def test_a_row_of_a_commit_is_its_version_and_difference(warehouse: Path) -> None:
    """That of a new main compares both roots, and one of no rows says so."""
    files = LocalFiles(str(warehouse))
    lineage = Lineage(files, ORDERS.root())
    act(warehouse, "create-branch", name="fix", tag="v2")
    made = read_operations(files, ORDERS)[-1]
    edit = RowsEdit(before=point_of(lineage.snapshot(4)), after=point_of(lineage.snapshot(5)), is_write=True)
    append(
        files, ORDERS, msgspec.structs.replace(made, token="a" * 32, action="write", edits=Edits(rows=edit))
    )
    async with at_orders(warehouse, (120, 40)) as console:
        pane = await open_operations(console)
        act(warehouse, "replace-main-branch", name="fix")
        await console.press("r")
        await console.sees("replace-main-branch")
        pane.grid.move_to(0)
        old, new = labels(pane)
        assert old.startswith("main-") and new == "snapshot.2"
        await console.press("j")
        # The table directory is no branch now.
        assert pane.change is None and pane.current_version == RowVersion(operation=2)
        act(warehouse, "undo")
        await console.press("r")
        await console.sees("undone")
        await console.until(lambda: pane.change is not None, "the commit is main's again")
        assert pane.current_version == RowVersion("snapshot.5", "main", None, 5, None, 2)
        assert labels(pane) == ["snapshot.4", "snapshot.5"]
        await console.press("j", "=")
        await console.sees(about("changed", "no rows", "version"))


async def test_many_come_in_pages_and_are_read_once(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    act(warehouse, "create-tag", name="a")
    files = LocalFiles(str(warehouse))
    [first] = read_operations(files, ORDERS)
    for number in range(2, 701):
        copy = msgspec.structs.replace(first, number=number, token=f"{number:032x}", edits=None)
        files.create(ORDERS.operation(number, copy.token), copy.to_json())
    async with at_orders(warehouse, (100, 30)) as console:
        pane = await open_operations(console)
        await console.sees("Operations 700")
        assert [each.operation.number for each in pane.rows.records][:2] == [700, 699]
        pages = [
            (len(known), known[0].number, total)
            for known, total in pane._pages(ORDERS, log_entries(files, ORDERS))
        ]
        assert pages == [(100, 601, 700), (600, 101, 700), (700, 1, 700)]
        read: list[list[str]] = []
        many = pane.session.files.read_many

        def noted(paths: Sequence[str]) -> Iterator[bytes | None]:
            read.append([*paths])
            return many(paths)

        monkeypatch.setattr(pane.session.files, "read_many", noted)
        act(warehouse, "create-tag", name="b")
        await console.press("r")
        await console.sees("Operations 701")
    names = [path.rpartition("/")[2] for paths in read for path in paths if "operation-" in path]
    assert [each[:13] for each in names] == ["operation-701"]
