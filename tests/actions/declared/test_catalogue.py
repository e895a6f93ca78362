"""Every action, its undo and its redo change exactly the references that the catalogue says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.registry import action
from paimark.core.storage.local import LocalFiles
from tests.actions.acting import ORDERS, applied, context_on, done, planned
from tests.actions.declared.catalogue import CATALOGUE, Entry, refs
from tests.faults.fault_files import Film, some_points
from tests.faults.trees import TreeOnDisk

# Numbers of savepoints are not given again.
NUMBERED = "create-savepoint"


@pytest.fixture
def warehouse(warehouse_at_work: Path) -> Path:
    return warehouse_at_work


def test_every_action_is_in_the_catalogue_once() -> None:
    assert sorted(each.action for each in CATALOGUE) == sorted(DECLARED)


@pytest.mark.parametrize("entry", [each for each in CATALOGUE if each.then], ids=lambda entry: entry.action)
def test_these_references_change_and_no_others(context: Context, entry: Entry) -> None:
    assert entry.then is not None
    before = refs(context)
    applied(context, action(entry.action).plan(context, ORDERS, entry.arguments))
    after = refs(context)
    assert after == entry.then(before)
    if entry.goes_back:
        done(context, "undo")
        assert refs(context) == before
        done(context, "redo")
        assert entry.action == NUMBERED or refs(context) == after


@pytest.mark.parametrize("entry", [each for each in CATALOGUE if each.alone], ids=lambda entry: entry.action)
def test_one_that_is_killed_is_done_or_not(warehouse: Path, entry: Entry, is_long: bool) -> None:
    """For actions that no other test kills: at each write, and then each recovery at some of its own."""
    assert entry.then is not None
    context, on_disk = context_on(warehouse), TreeOnDisk(warehouse / ORDERS.directory)
    before = refs(context)
    right = [before, entry.then(before)]
    assert right[0] != right[1], "the references that `refs` reads lack what it changes"
    film = Film(LocalFiles(str(warehouse)), on_disk)
    watched = context_on(warehouse, film)
    applied(watched, action(entry.action).plan(watched, ORDERS, entry.arguments))
    assert film.writes
    for point in film.points() if is_long else some_points(film, 3):
        film.put_back(point)
        again = Film(LocalFiles(str(warehouse)), on_disk)
        done(context_on(warehouse, again), "recover")
        assert_whole(context, right, str(point))
        for second in some_points(again) if again.writes else ():
            again.put_back(second)
            done(context, "recover")
            assert_whole(context, right, f"{point}, and its recovery {second}")


def assert_whole(context: Context, right: list[Mapping[str, object]], when: str) -> None:
    assert refs(context) in right, when
    assert planned(context, "recover").empty, when
    assert not context.files.exists(ORDERS.journal), when
