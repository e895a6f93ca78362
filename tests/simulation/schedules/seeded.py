"""The base of all seeded schedules: a table with its judges and a branch, and the deterministic run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random

from tests.simulation.actors.choices import Choices
from tests.simulation.actors.deterministic import deterministic
from tests.simulation.formats import Format
from tests.simulation.memory import StoreKind
from tests.simulation.schedules.bench import Bench
from tests.simulation.schedules.hazards import Hazard
from tests.simulation.world import StockFault


class Seeded(ABC):
    """One seed. `world.trace` has the events."""

    def __init__(
        self, seed: int, kind: StoreKind, hazards: frozenset[Hazard], formats: Format, salt: str = ""
    ) -> None:
        """`salt` gives other kinds of schedules other random numbers for the same seed."""
        self.random = Random(f"{salt}{seed} {kind}")
        self.bench = Bench(self.random, kind, keyed=self.random.random() < 0.4, formats=formats)
        self.world = self.bench.world
        self.choices = Choices(self.world, self.random, hazards)
        self._seed = seed

    def run(self) -> None:
        """Raises `Violation`."""
        with deterministic(self.bench.scheduler, Random(f"names {self._seed}")):
            try:
                self._run()
            except StockFault as error:
                self.world.tell(None, f"not judged: {error}")

    @abstractmethod
    def _run(self) -> None: ...

    def _begin(self, options: dict[str, str]) -> None:
        """A table with a few commits, a tag, and a branch of it."""
        bench = self.bench
        bench.create_table(options)
        for _ in range(self.random.randint(2, 4)):
            bench.write()
        bench.act("create-tag", name="fork")
        bench.act("create-branch", name="b0", tag="fork")
        for _ in range(self.random.randint(0, 2)):
            bench.write("b0")
