"""A model of a stock session that is opened once and reads a root repeatedly."""

from __future__ import annotations

from paimark.core.errors import FileMissing
from paimark.core.table.layout import Root
from tests.simulation.actors.scheduler import Actor
from tests.simulation.formats import Identity
from tests.simulation.judging import view
from tests.simulation.stock.commit import CommitWriter
from tests.simulation.stock.writer import StockError, StockTable
from tests.simulation.world import Violation, World


class StockReader(StockTable):
    """Keeps the schema of its opening, and finds the newest snapshot at each read."""

    def __init__(self, world: World, actor: Actor, root: Root) -> None:
        super().__init__(world, actor, root)
        self._reads = CommitWriter(world, actor, self.files)

    def read(self) -> None:
        """Read: the result must be rows that the root had. Raises `Violation` and `StockError`."""
        had = view.head(self.world.store, self.root)
        snapshot = self.latest()
        if snapshot is None:
            if self.root.branch is None:
                raise Violation(f"an open session reads {self.root.label} as empty")
            return
        found = Identity(snapshot["id"], snapshot["baseManifestList"], snapshot["deltaManifestList"])
        try:
            rows = self._reads.rows(snapshot)
        except FileMissing as error:
            raise StockError(str(error)) from error
        if rows != self.world.commits[found].rows:
            raise Violation(f"{self.root.label} at snapshot {found.id} reads as {rows} (then {had})")
