"""Work that was cancelled stops at its next check, and nobody waits for what does not check."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from paimark.core.cancelling import Cancellation, cancellable, check_cancelled, map_cancellable
from paimark.core.errors import Cancelled, Refused
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import FileLocations, data_manifests, live_entries


def test_only_what_was_cancelled_stops() -> None:
    first, second = Cancellation(), Cancellation()
    first.cancel()
    check_cancelled()
    with cancellable(second):
        check_cancelled()
        with cancellable(first), pytest.raises(Cancelled):
            check_cancelled()
        check_cancelled()
    check_cancelled()


@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_each_is_worked_on_in_order(count: int) -> None:
    assert map_cancellable(str, range(count)) == list(map(str, range(count)))
    with cancellable(Cancellation()):
        assert map_cancellable(str, range(count)) == list(map(str, range(count)))


@pytest.mark.parametrize("count", [1, 3])
def test_nobody_waits_for_a_call_that_is_stuck(count: int) -> None:
    cancellation, on = Cancellation(), threading.Event()
    ends: list[bool] = []

    def stuck(item: int) -> None:
        on.wait(30)
        try:
            check_cancelled()
        except Cancelled:
            ends.append(True)
            raise

    threading.Timer(0.1, cancellation.cancel).start()
    with cancellable(cancellation), pytest.raises(Cancelled):
        map_cancellable(stuck, range(count))
    assert not ends
    # Nor does it go on for long, though another piece of work has begun by then.
    with cancellable(Cancellation()):
        on.set()
        while not ends:
            time.sleep(0.01)
        check_cancelled()


def test_planning_asks_at_each_manifest_and_file(warehouse: Path) -> None:
    files, root = LocalFiles(str(warehouse)), TablePath("shop", "orders").root()
    snapshot = Lineage(files, root).latest()
    assert snapshot is not None
    entries = live_entries(files, root.table, data_manifests(files, root.table, snapshot))
    cancellation = Cancellation()
    cancellation.cancel()
    with cancellable(cancellation):
        with pytest.raises(Cancelled):
            live_entries(files, root.table, data_manifests(files, root.table, snapshot))
        with pytest.raises(Cancelled):
            FileLocations(files, root, snapshot.schema_id).address(entries[0].facts)


def test_what_a_call_raises_is_raised_at_once() -> None:
    on = threading.Event()
    waited: list[int] = []

    def failing(item: int) -> None:
        if item == 1:
            raise Refused("no")
        on.wait(30)
        waited.append(item)

    with cancellable(Cancellation()), pytest.raises(Refused):
        map_cancellable(failing, [0, 1])
    assert not waited
    on.set()
