"""Jobs that stay open: each opened a root once, and goes on to commit with the schema that it read then."""

from __future__ import annotations

from paimark.core.table.layout import Root
from tests.simulation.actors.scheduler import Actor
from tests.simulation.judging import view
from tests.simulation.schedules.bench import Bench
from tests.simulation.stock.writer import StockWriter

# By the name of an engine's job: whether its snapshots name the newest schema, as those of Java do. Those of
# pypaimon name the schema that the job knows. The data files of both do.
_JOBS = {"java": True, "python": False}


class OpenJobs:
    """The jobs on the plain name, and on every branch, of one table; none if they are not wanted."""

    def __init__(self, bench: Bench, *, are_wanted: bool) -> None:
        self._bench = bench
        self._are_wanted = are_wanted
        self._jobs: list[StockWriter] = []
        # Nobody is told of a branch before it is made.
        self._roots = view.roots(bench.world.store)

    def open(self) -> None:
        """One job of each engine opens each root that was there at first, if it can."""
        for root in self._roots if self._are_wanted else []:
            for name in _JOBS:
                self._bench.alone(lambda root=root, name=name: self._open(root, name))  # type: ignore[misc]

    def go_on(self) -> None:
        """Each job makes one commit. One that fails tries again the next time, with what it knows."""
        for job in self._jobs:
            self._bench.alone(job.commit)

    def _open(self, root: Root, name: str) -> None:
        actor = Actor(f"{name} {root.label}")
        self._jobs.append(StockWriter(self._bench.world, actor, root, names_newest=_JOBS[name]))
