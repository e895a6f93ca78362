"""Somebody else makes a branch main, right before any one call of a pane to the store."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, cast

import pytest
from textual.app import App

from paimark.core.config import Settings
from paimark.core.storage.local import LocalFiles
from paimark.tui.panes.branches import BranchesPane
from paimark.tui.panes.pane import Desk, PaneRows
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.panes.savepoints import SavepointsPane
from paimark.tui.panes.schema import SchemaPane
from paimark.tui.panes.snapshots import SnapshotsPane
from paimark.tui.panes.space.space_pane import SpacePane
from paimark.tui.panes.tags import TagsPane
from paimark.tui.panes.timeline.timeline_pane import TimelinePane
from paimark.tui.session import Session, Target
from paimark.tui.work.background import Slot, ThreadReport
from tests.actions.acting import ORDERS, context_on, done
from tests.actions.replace.test_replaced_meanwhile import Before
from tests.actions.taking_over import branched
from tests.long import long_but

PANES: dict[str, type[RecordPane[Any]]] = {
    each.TITLE: each
    for each in (
        *(SnapshotsPane, SavepointsPane, BranchesPane, TagsPane, SchemaPane),
        *(TimelinePane, SpacePane),
    )
}


class Kept(ThreadReport[PaneRows[Any]]):
    """Keeps what a pane reports."""

    def __init__(self) -> None:
        slot: Slot[PaneRows[Any]] = Slot(App(), "test", lambda rows: None, lambda error: None)
        super().__init__(slot, slot.generation)
        self.rows: list[PaneRows[Any]] = []

    def __call__(self, result: PaneRows[Any]) -> None:
        self.rows.append(result)


@pytest.mark.parametrize("title", long_but(PANES, "Schema", "Savepoints"))
def test_a_pane_has_rows_though_a_branch_becomes_main_meanwhile(
    warehouse: Path, tmp_path: Path, title: str, is_long: bool
) -> None:
    """Without `--long` before every third call."""
    context = context_on(warehouse)
    branched(context, "one", order_id=101)
    done(context, "create-savepoint")
    done(context, "create-savepoint", branch="one")
    step = 1 if is_long else 3
    at, was_done = 1 - step, True
    while was_done:
        at += step
        copy = tmp_path / str(at) / "warehouse"
        shutil.copytree(warehouse, copy)
        was_done = _replaced_before(copy, at, PANES[title])
        shutil.rmtree(copy.parent)
    assert at > 5


def _replaced_before(warehouse: Path, at: int, of: type[RecordPane[Any]]) -> bool:
    """Read a pane with a replacement before its call number `at`; return whether it has so many."""
    session = Session(Settings(str(warehouse)))

    def replace() -> None:
        done(context_on(warehouse), "replace-main-branch", name="one")

    files = session.files = Before(LocalFiles(str(warehouse)), at, replace)
    pane, kept = of(session, cast(Desk, None)), Kept()
    target = Target(ORDERS)
    pane.read_moving(target, kept)
    pane.loaded = kept.rows[-1]
    assert all(len(each.rows) for each in kept.rows)
    pane.check_moving(target, lambda found: None)  # type: ignore[arg-type]
    return files.is_done
