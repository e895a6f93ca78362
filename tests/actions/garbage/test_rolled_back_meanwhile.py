"""An expiry while another engine rolls the table back: from then on it takes nothing that the table needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.garbage import expire_snapshots, sweep
from paimark.core.storage.local import LocalFiles
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import each_needed_file
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, context_on, done, replace_rows
from tests.paimon import open_table
from tests.storage.wrapped import Wrapped
from tests.wording import about

# The target of the rollback is to expire, and so are those before it.
TARGET = 5


class RollsBack(Wrapped):
    """A store on which pypaimon rolls main back when EARLIEST is raised and so many files are deleted."""

    def __init__(self, warehouse: Path, after: int) -> None:
        super().__init__(LocalFiles(str(warehouse)))
        self._warehouse, self._after = warehouse, after
        self.deleted: list[str] = []

    def replace(self, path: str, data: bytes) -> None:
        self.inner.replace(path, data)
        if path == ORDERS.root().earliest_hint:
            self._act()

    def delete(self, path: str) -> None:
        self.inner.delete(path)
        self.deleted.append(path)
        self._act()

    def _act(self) -> None:
        if len(self.deleted) == self._after:
            self._after = -1
            open_table(self._warehouse, "shop.orders").rollback_to(TARGET)


@pytest.fixture
def lineage(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> Lineage:
    """Main, whose newest snapshot shares no data file with the others. It is looked before each file."""
    monkeypatch.setattr(sweep, "_LOOK_EVERY", 0.0)
    monkeypatch.setattr(sweep, "_AT_ONCE", 1)
    monkeypatch.setattr(expire_snapshots, "_LOOK_EVERY", 0.0)
    replace_rows(warehouse)
    return Lineage(LocalFiles(str(warehouse)), ORDERS.root())


@pytest.mark.parametrize("after", [0, 1, 6, 12, 17])
def test_nothing_more_that_the_table_needs_goes(warehouse: Path, lineage: Lineage, after: int) -> None:
    needed = {each.path for each in each_needed_file(lineage.files, lineage.root, lineage.snapshot(TARGET))}
    store = RollsBack(warehouse, after)
    outcome = done(context_on(warehouse, store), "expire-snapshots", retain_last=1)
    assert lineage.snapshot_ids() == [TARGET]
    assert not needed.intersection(store.deleted[after:])
    assert about("rolled back", f"snapshot {TARGET} stays").search(outcome.message)
    if not after:
        assert verify(context_on(warehouse), ORDERS).is_whole
