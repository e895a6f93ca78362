"""A screen closes once, however often and however fast it is told to."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from textual.screen import Screen
from textual.widgets import Input

import paimark.tui
from paimark.core.actions.context import Context
from paimark.core.actions.merge.resolution import Between
from paimark.core.actions.registry import action
from paimark.core.config import Settings
from paimark.core.errors import NotFound
from paimark.core.space.over_time import over_time
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Event, Failed
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.travel.diff.diff import Difference, make_difference
from paimark.core.travel.requested_version import RequestedVersion
from paimark.tui.charts.chart_screen import ChartScreen
from paimark.tui.charts.open_chart import charts_over_time
from paimark.tui.charts.plotting import Chart
from paimark.tui.dialogs.confirm import ConfirmScreen
from paimark.tui.dialogs.conflicts.screen import ConflictsScreen, RepairConflictsScreen
from paimark.tui.dialogs.dialog import Dialog, SearchedText
from paimark.tui.dialogs.difference.difference_screen import DifferenceScreen
from paimark.tui.dialogs.editing.edit_screen import EditScreen
from paimark.tui.dialogs.editing.target import EditTarget
from paimark.tui.dialogs.grid_columns import ColumnsScreen
from paimark.tui.dialogs.palette import PaletteEntry, PaletteScreen
from paimark.tui.dialogs.path_screen import ExportScreen, PathScreen
from paimark.tui.dialogs.peek import Peeking, PeekScreen
from paimark.tui.dialogs.pick import HistoryScreen, PickDialog, PickOne
from paimark.tui.dialogs.plan_dialog import PlanDialog
from paimark.tui.dialogs.record import RecordScreen
from paimark.tui.query.drafts import QueryExecution
from paimark.tui.records.sources import GridColumn, tuples
from paimark.tui.screens.browse import BrowseScreen
from paimark.tui.screens.help import HelpScreen
from paimark.tui.screens.jobs import JobsScreen
from paimark.tui.session import Session, Target
from paimark.tui.widgets.detail_strip import Detail, Fact
from paimark.tui.widgets.grid.record_grid import RecordGrid
from paimark.tui.widgets.lines import Backdrop
from paimark.tui.work.engine_room import EngineRoom
from tests.tui.driving import Sitting, at_events

TABLE, NO_TABLE = TablePath("shop", "orders"), TablePath("shop", "gone")
CLOSING = {"escape", "enter", "space", "q", "a"}
# Leaves the program, on purpose.
LEAVING = {"ctrl+q"}


class NoSpark:
    """An engine that has failed."""

    state = "failed"

    def run(self, sql: str, **how: Any) -> Iterator[Event]:
        yield Failed("Spark failed", cause="engine")

    def cancel(self, *, may_kill: bool = True, of: int | None = None) -> None:
        """Nothing runs."""


NO_SPARK = EngineRoom(Settings("nowhere"), cast("Engine", NoSpark()))


def difference(warehouse: Path) -> Difference:
    return make_difference(LocalFiles(str(warehouse)), TABLE, RequestedVersion(None, "1"), RequestedVersion())


def edited(warehouse: Path) -> EditTarget:
    return EditTarget(TABLE, None, None, Lineage(LocalFiles(str(warehouse)), TABLE.root()).require_schema())


def nothing_in_conflict(context: Context) -> Between:
    raise NotFound("There is no such branch", "")


MAKE: dict[type[Screen[Any]], Callable[[Session, Path], Dialog[Any]]] = {
    ChartScreen: lambda session, place: ChartScreen("t", lambda: charts_of(session)),
    ColumnsScreen: lambda session, place: ColumnsScreen(RecordGrid([GridColumn("a"), GridColumn("b")])),
    ConflictsScreen: lambda session, place: ConflictsScreen(session, TABLE, "nothing", nothing_in_conflict),
    RepairConflictsScreen: lambda session, place: RepairConflictsScreen(
        session, TABLE, "revert", nothing_in_conflict
    ),
    ConfirmScreen: lambda session, place: ConfirmScreen("Really?", "DELETE FROM t"),
    DifferenceScreen: lambda session, place: DifferenceScreen(
        NO_SPARK, "t", lambda: difference(place), lambda found: "", lambda found: None
    ),
    EditScreen: lambda session, place: EditScreen(
        session, edited(place), ["order_id"], [GridColumn("order_id")], tuples([]), (0, 0)
    ),
    ExportScreen: lambda session, place: ExportScreen("Two rows."),
    HelpScreen: lambda session, place: HelpScreen([], is_whole=True),
    HistoryScreen: lambda session, place: HistoryScreen([QueryExecution(0, "SELECT 1", "1 row")]),
    JobsScreen: lambda session, place: JobsScreen(session.jobs),
    PaletteScreen: lambda session, place: PaletteScreen(lambda: [PaletteEntry("one", "of one", "", int)]),
    PathScreen: lambda session, place: PathScreen("Open", exists=False, text=f"{place}/new.sql"),
    PeekScreen: lambda session, place: PeekScreen(
        "t", Peeking(session, Target(NO_TABLE), RequestedVersion())
    ),
    PickOne: lambda session, place: PickOne("Which?", "its name", {"one": 1}),
    PlanDialog: lambda session, place: PlanDialog(session, action("create-savepoint"), TABLE, {}),
    RecordScreen: lambda session, place: RecordScreen(Detail("snapshot 1", (Fact("id", "1"),))),
}


def charts_of(session: Session) -> Sequence[Chart]:
    return charts_over_time(over_time(session.files, session.open(Target(TABLE)).root), 0, "record")


def screen_classes() -> set[type[Screen[Any]]]:
    """Every screen of the console."""
    for module in pkgutil.walk_packages(paimark.tui.__path__, "paimark.tui."):
        importlib.import_module(module.name)
    return {each for each in subclasses(Screen) if each.__module__.startswith("paimark.tui.")}


def subclasses(cls: type[Any]) -> Iterator[type[Any]]:
    for each in cls.__subclasses__():
        yield each
        yield from subclasses(each)


def test_every_screen_that_closes_is_tried_here() -> None:
    """A new screen is a `Dialog`, which closes once, and is added to `MAKE`."""
    # The browsing screen lies at the bottom and is never closed.
    assert screen_classes() - {Backdrop, BrowseScreen, Dialog, PickDialog, SearchedText} == set(MAKE)


@pytest.mark.parametrize("cls", MAKE, ids=lambda cls: cls.__name__)
async def test_no_key_pressed_twice_in_a_screen_closes_more_than_the_screen(
    cls: type[Screen[Any]], warehouse: Path, is_long: bool
) -> None:
    """Without `--long` the keys that close most screens, and few of the others."""
    async with at_events(warehouse) as console:
        keys = await keys_of(console, cls, warehouse)
        for key in keys if is_long else {*CLOSING.intersection(keys), *keys[::24]}:
            answers: list[object] = []
            screen = MAKE[cls](console.app.session, warehouse)
            await console.app.push_screen(screen, answers.append)
            if isinstance(screen, ExportScreen):
                # A name that can be written, so that Enter closes it.
                screen.query_one(Input).value = f"{warehouse}/rows.csv"
            await console.burst(key, key)
            assert console.app.is_running, key
            assert console.app.screen_stack[0] is console.app.browse, key
            assert len(answers) == (screen not in console.app.screen_stack), key
            await back_to_the_tables(console)


async def keys_of(console: Sitting, cls: type[Screen[Any]], warehouse: Path) -> list[str]:
    await console.app.push_screen(MAKE[cls](console.app.session, warehouse))
    await console.pilot.pause()
    keys = set(console.app.screen.active_bindings) - LEAVING
    await back_to_the_tables(console)
    assert "escape" in keys
    return sorted(keys)


async def back_to_the_tables(console: Sitting) -> None:
    while console.app.screen is not console.app.browse:
        await console.app.pop_screen()


async def test_a_plan_that_was_applied_is_closed_by_two_enters(warehouse: Path) -> None:
    """The second key goes to the screen below, like any other."""
    for key in ("enter", "space", "escape"):
        async with at_events(warehouse) as console:
            await console.press("s")
            await console.sees("[ Apply ]")
            await console.press("a")
            await console.sees("[ Close ]")
            await console.burst(key, key)
            await console.loses("[ Close ]")
            assert console.app.is_running


async def test_a_second_enter_cancels_nothing_and_opens_nothing(warehouse: Path) -> None:
    """What the palette opened has Cancel under the cursor, and where it opens nothing lies a row."""
    async with at_events(warehouse, (100, 36)) as console:
        await console.press("colon", *"create-tag")
        await console.burst("enter", "enter")
        await console.sees("create-tag · shop.events", "Fill in: name.")
        await console.press("escape", "colon", *"recover")
        await console.burst("enter", "enter")
        await console.sees("recover · shop.events", "Close ]")
        await console.press("escape", "l", "colon", *"refresh")
        await console.burst("enter", "enter")
        await console.until(lambda: console.app.screen is console.app.browse, "the palette closes")
        await console.pilot.pause(0.2)
        assert "[1 Snapshots]" in console.text


async def test_a_key_that_a_dialog_does_not_know_is_not_for_the_screen_below_it(warehouse: Path) -> None:
    """Whoever closes the dialog with the next key would find it done there."""
    async with at_events(warehouse) as console:
        for close in ("escape", "enter"):
            await console.press("s")
            await console.sees("(snapshot 2")
            await console.burst("3", close)
            await console.loses("create-savepoint")
            assert "[1 Snapshots]" in console.text
