"""The statement that runs in the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from core.cancelling import Cancellation
from core.spark.engine.failures import failed
from core.spark.engine.tables import OpenedTable
from core.spark.protocol import Batch, Failed, Report, Run, Task
from core.travel.parse.sql import Spliced

Tell = Callable[[Report | Batch], None]


@dataclass(slots=True)
class Job:
    """`named` are its tables under the names Spark knows them by, `tag` is on its Spark jobs."""

    order: Run
    tell: Tell
    tag: str
    cancelled: bool = False
    cancellation: Cancellation = field(default_factory=Cancellation)
    spliced: Spliced | None = None
    named: Mapping[str, OpenedTable] = field(default_factory=dict)

    @classmethod
    def of(cls, order: Task, tell: Tell) -> Job:
        statement = order if isinstance(order, Run) else Run(order.number, order.sql)
        return cls(statement, tell, f"paimark-{order.number}")

    @property
    def text(self) -> str:
        """As Spark gets it."""
        assert self.spliced is not None
        return self.spliced.sql

    def failed(self, error: Exception) -> Failed:
        """What went wrong, at its place in the statement as it was written."""
        spliced = self.spliced or Spliced(self.order.sql, ())
        names = {name: table.label for name, table in self.named.items()}
        return failed(error, spliced.sql, spliced.original_position, names)
