"""One Spark for the whole suite, on a warehouse of its own; and statements run to their end."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from paimark.core.config import Settings
from paimark.core.spark.arrow import read_batch
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.session_settings import SCAN
from paimark.core.spark.protocol import Batch, Columns, Event, Explained, Failed, Finished, Reading

# A query of a few rows runs its projections and conditions once: to compile Java for each costs more.
# `make test-long` compiles them, and so do the Sparks of a run that commands, clusters and others start.
INTERPRETED = {"spark.sql.codegen.factoryMode": "NO_CODEGEN"}
# Survives only if properties are escaped as Java reads them.
ODD_SETTING = "a=b:c#d!  é \\ \N{GRINNING FACE}"


@dataclass
class Answer:
    """What a statement's events came to."""

    events: list[Event] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def end(self) -> Finished | Failed:
        last = self.events[-1]
        assert isinstance(last, Finished | Failed)
        return last

    @property
    def failure(self) -> Failed:
        assert isinstance(self.end, Failed), self.end
        return self.end

    @property
    def finish(self) -> Finished:
        assert isinstance(self.end, Finished), self.end
        return self.end

    @property
    def readings(self) -> list[Reading]:
        return self.of(Reading)

    @property
    def columns(self) -> Columns:
        columns: Columns = self.of(Columns)[0]
        return columns

    @property
    def explained(self) -> str:
        return "\n".join(each.text for each in self.of(Explained))


def ask(engine: Engine, sql: str, **options: Any) -> Answer:
    """Run one statement; whatever its end."""
    answer = Answer()
    for event in engine.run(sql, **options):
        answer.events.append(event)
        if isinstance(event, Batch):
            answer.rows += read_batch(event).to_pylist()
    return answer


def rows(engine: Engine, sql: str, **options: Any) -> list[dict[str, Any]]:
    """The rows of a statement that must finish."""
    answer = ask(engine, sql, **options)
    assert answer.finish.rows == len(answer.rows)
    return answer.rows


def in_order(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows in an order that does not depend on how they came."""
    return sorted(found, key=repr)


@contextmanager
def by_library(engine: Engine) -> Iterator[None]:
    """Inside, Paimon's own library reads our tables."""
    rows(engine, f"SET {SCAN} = library")
    try:
        yield
    finally:
        rows(engine, f"RESET {SCAN}")


@contextmanager
def in_zone(engine: Engine, zone: str) -> Iterator[None]:
    """Inside, the session's time zone is this one."""
    rows(engine, f"SET TIME ZONE '{zone}'")
    try:
        yield
    finally:
        rows(engine, "RESET spark.sql.session.timeZone")


@pytest.fixture(scope="session")
def engine_warehouse(warehouse_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template's `shop`, copied. A test that changes tables makes a database of its own in it.

    A fixture that makes tables there is of the session if several modules use it.
    """
    path = tmp_path_factory.mktemp("engine") / "warehouse"
    shutil.copytree(warehouse_template, path)
    return path


@pytest.fixture(scope="session")
def engine(
    engine_warehouse: Path, tmp_path_factory: pytest.TempPathFactory, is_long: bool
) -> Iterator[Engine]:
    """A running engine, which stays: the first query of each kind costs a new one much CPU."""
    conf = {} if is_long else INTERPRETED
    with closing(_engine(engine_warehouse, tmp_path_factory, conf)) as engine:
        engine.start()
        yield engine


@pytest.fixture(scope="session")
def mortal(engine_warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Another one, for tests that kill what it started: the next statement starts it again."""
    with closing(_engine(engine_warehouse, tmp_path_factory, {})) as engine:
        yield engine


def _engine(warehouse: Path, tmp_path_factory: pytest.TempPathFactory, more: Mapping[str, str]) -> Engine:
    conf = {"spark.driver.memory": "1g", "spark.odd.setting": ODD_SETTING, **more}
    settings = Settings(str(warehouse), spark_master="local[2]", spark_conf=conf)
    return Engine(settings, tmp_path_factory.mktemp("log") / "engine.log")
