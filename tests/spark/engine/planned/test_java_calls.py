"""A statement takes few calls into Java, and all its jobs can be told by its tag."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from py4j.java_gateway import GatewayClient
from py4j.protocol import MEMORY_COMMAND_NAME

from paimark.core.spark.engine.classic import classic_runner
from paimark.core.spark.launch.session import Spark
from paimark.core.spark.launch.settings import CATALOG_NAME
from paimark.core.spark.protocol import Finished, Run, Start
from tests.paimon import commit, create_table

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int64())])


class Took(NamedTuple):
    """`views` is how many tables the engine's catalog has then."""

    how: str
    calls: int
    jobs: int
    views: int


class Counting:
    """Statements of a session of their own, and what each took."""

    def __init__(self, spark: Spark, warehouse: Path) -> None:
        self.calls = 0
        self._spark = replace(spark, session=spark.session.newSession())
        start = Start(str(warehouse), {}, "local[2]", {}, str(spark.scratch), True)
        self._runner = classic_runner(self._spark, start)
        self._ran = 0

    def run(self, sql: str) -> Took:
        told: list[Any] = []
        self.calls, self._ran = 0, self._ran + 1
        self._runner.run(Run(self._ran, sql, limit=100), told.append)
        calls = self.calls
        how = "" if isinstance(told[-1], Finished) else str(told[-1])
        tracker: Any = self._spark.session.sparkContext._jsc
        jobs = len(tracker.sc().statusTracker().getJobIdsForTag(f"paimark-{self._ran}"))
        manager: Any = self._spark.session._jsparkSession
        views = int(manager.sessionState().catalogManager().catalog(CATALOG_NAME).held())
        return Took(how, calls, jobs, views)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("calls")
    orc = {"bucket": "1", "file.format": "orc", "write-only": "true"}
    create_table(place, "d.appended", SCHEMA)
    create_table(place, "d.merged", SCHEMA, primary_keys=["id"], options=orc)
    for _ in range(2):
        for name in ("d.appended", "d.merged"):
            commit(place, name, pa.table({"id": range(50), "v": range(50)}, SCHEMA))
    return place


@pytest.fixture
def counting(warehouse: Path, spark_here: Spark, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counting]:
    counting, send = Counting(spark_here, warehouse), GatewayClient.send_command

    def counted(client: Any, command: str, *more: Any, **by_name: Any) -> Any:
        # Java forgets what Python forgets when a collector comes by. And somebody looks how far a statement
        # is.
        if not command.startswith(MEMORY_COMMAND_NAME) and "progress" not in threading.current_thread().name:
            counting.calls += 1
        return send(client, command, *more, **by_name)

    monkeypatch.setattr(GatewayClient, "send_command", counted)
    yield counting


@pytest.mark.long
def test_a_new_query_takes_three_calls_and_a_snapshot_one_more(counting: Counting) -> None:
    # Whatever is compiled is compiled here.
    assert counting.run("SELECT sum(v) FROM d.appended VERSION AS OF 1 WHERE id > 1").how == ""
    assert counting.run("SELECT sum(v) FROM d.appended VERSION AS OF 2 WHERE id > 1")[:3] == ("", 4, 1)
    assert counting.run("SELECT max(id) - 1 FROM d.appended VERSION AS OF 2 WHERE id > 1")[:3] == ("", 3, 1)
    assert counting.run("SELECT max(id) - 1 FROM d.appended VERSION AS OF 2 WHERE id > 1")[:3] == ("", 2, 1)


@pytest.mark.long
def test_a_view_leaves_no_table_in_the_catalog(counting: Counting) -> None:
    before = counting.run("SELECT 1").views
    for table in ("appended", "merged", "appended"):
        make = f"CREATE OR REPLACE TEMPORARY VIEW made AS SELECT count(*) AS n FROM d.{table} WHERE v > 1"
        took = counting.run(make)
        assert (took.how, took.views) == ("", before)
        again = counting.run("CREATE TEMPORARY VIEW made AS SELECT * FROM d.merged")
        assert again.how and again.views == before
    took = counting.run("SELECT n FROM made")
    assert (took.how, took.views) == ("", before)
