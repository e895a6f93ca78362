"""The suite's Spark in place of the one that a command would start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Event, Task
from paimark.core.travel.statements.views import Views


class Shared:
    """The suite's engine in place of one of the command's own: `close` leaves it running."""

    state = "ready"
    begins_anew = False

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # Each command has an engine of its own, in which no USE has chosen a database.
        engine._used = None
        self.settings = engine.settings

    def run(
        self, sql: str, *, database: str | None = None, limit: int | None = None, differing: bool = False
    ) -> Iterator[Event]:
        return self._engine.run(sql, database=database, limit=limit, differing=differing)

    def current_database(self, given: str | None) -> str | None:
        return self._engine.current_database(given)

    @property
    def views(self) -> Views:
        return self._engine.views

    def do(self, task: Task) -> Iterator[Event]:
        return self._engine.do(task)

    def close(self) -> None:
        """The suite closes it."""


def share(engine: Engine, warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands work on this warehouse, by the suite's engine."""

    def shared(settings: Settings, log_path: Path, tell: object) -> Shared:
        assert settings.warehouse == str(warehouse)
        return Shared(engine)

    monkeypatch.setattr("paimark.core.cli.query.answering.Engine", shared)
    monkeypatch.setenv("PAIMARK_WAREHOUSE", str(warehouse))
