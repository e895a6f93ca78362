"""DELETE, UPDATE, MERGE and ANALYZE, killed at any write: all of it or nothing, and the log knows which."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from paimark.core.spark.engine.insert import change_rows
from paimark.core.spark.engine.orders.repair import repair
from paimark.core.spark.engine.session_state import EngineSession
from paimark.core.spark.engine.statement import Job
from paimark.core.spark.protocol import GONE, Inserting, Repair, Run, Start
from paimark.core.spark.writing.target import find_target
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import snapshot_facts
from paimark.core.table.operations import ANALYSIS, read_operations
from paimark.core.table.records import Snapshot
from paimark.core.travel.parse.sql import read_statement
from paimark.core.travel.statements.inserts import read_change
from tests.actions.acting import context_on, done, planned
from tests.faults.fault_files import Death, FaultFiles, Film
from tests.faults.trees import TreeOnDisk
from tests.interop.judge import Judge
from tests.interop.written import Table
from tests.paimon import read_rows
from tests.spark.library.session import writes_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = TablePath("d", "t")
SOURCE = "(SELECT * FROM VALUES (1, 10), (3, 30) AS x(k, v)) s ON t.k = s.k"
STATEMENTS = {
    "delete-from": ("DELETE FROM d.t WHERE k = 1", {2: 2}),
    "update": ("UPDATE d.t SET v = 20 WHERE k = 2", {1: 1, 2: 20}),
    "merge-into": (
        f"MERGE INTO d.t t USING {SOURCE} WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
        {2: 2, 3: 30},
    ),
    # What it orders: by key, and by files.
    "revert": ("", {2: 20, 3: 30}),
}


@pytest.mark.parametrize(
    "keys", [pytest.param(("k",), id="key"), pytest.param((), id="append", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("action", STATEMENTS)
def test_it_is_whole_and_in_the_log_or_nowhere(
    action: str, keys: tuple[str, ...], tmp_path: Path, spark_of_library: SparkSession
) -> None:
    sql, after = STATEMENTS[action]
    options = {"bucket": "1"} if keys else {}
    table = Table(tmp_path / "wh", TABLE.full_name, {"k": "INT", "v": "INT"}, keys=keys, options=options)
    table.write([(1, 1), (2, 2)])
    _filmed(table, action, sql, after, spark_of_library, tmp_path)


@pytest.mark.parametrize("action", ["update", pytest.param("merge-into", marks=pytest.mark.long)])
def test_so_is_one_of_a_table_with_parts_of_rows_in_files(
    action: str, tmp_path: Path, spark_of_library: SparkSession
) -> None:
    sql, after = "UPDATE d.t SET v = 20 WHERE k = 2", {1: 1, 2: 20}
    if action == "merge-into":
        update = "WHEN MATCHED THEN UPDATE SET v = s.v"
        sql = f"MERGE INTO d.t t USING {SOURCE} {update} WHEN NOT MATCHED THEN INSERT *"
        after = {1: 10, 2: 2, 3: 30}
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    table = Table(tmp_path / "wh", TABLE.full_name, {"k": "INT", "v": "INT"}, options=options)
    table.write([(1, 1), (2, 2)])
    _filmed(table, action, sql, after, spark_of_library, tmp_path)


def _filmed(
    table: Table, action: str, sql: str, after: dict[int, int], spark: SparkSession, scratch: Path
) -> None:
    done(context_on(table.warehouse), "create-savepoint", TABLE)
    film = Film(LocalFiles(str(table.warehouse)), TreeOnDisk(table.directory))
    change(spark, film, sql, scratch)
    found = []
    for point in film.points():
        film.put_back(point)
        rows = {row["k"]: row["v"] for row in read_rows(table.warehouse, TABLE.full_name)}
        is_there = rows == after
        assert is_there or rows == {1: 1, 2: 2}, str(point)
        known = read_operations(LocalFiles(str(table.warehouse)), TABLE)
        logged = [each.after for each in known if each.action == action]
        assert logged == ["main at snapshot 2"] * is_there, str(point)
        undone = planned(context_on(table.warehouse), "undo", TABLE).arguments["undone"]
        assert undone == (action if is_there else "create-savepoint"), str(point)
        found.append(is_there)
    assert set(found) == {True, False}


def change(spark: SparkSession, files: Files, sql: str, scratch: Path) -> None:
    session = EngineSession.begin(spark, Start(files.uri, {}, None, {}, str(scratch), False))
    session = replace(session, writes=writes_of(spark, files))
    head = Lineage(files, TABLE.root()).latest()
    assert head is not None
    job = Job.of(Run(0, sql), lambda event: None)
    job.text = sql
    session.views.use(None)
    if not sql:
        assert repair(session, order_on(files, head)).snapshot == 2
        return
    order = Inserting("killed", None, head.to_json().decode())
    assert change_rows(session, job, read_change(read_statement(sql)), order).snapshot_id == 2


def order_on(files: Files, head: Snapshot) -> Repair:
    lineage = Lineage(files, TABLE.root())
    order = Repair(
        number=0,
        table=TABLE.full_name,
        schema=lineage.require_schema().to_json().decode(),
        versions={},
        branch=None,
        follows_main=True,
        head=head.to_json().decode(),
        commit_user="killed",
        operation="revert",
        done="",
    )
    if lineage.require_schema().primary_keys:
        rows = f"VALUES (1, 1, true), (2, 20, false), (3, 30, false) AS x(k, v, {GONE})"
        return msgspec.structs.replace(order, upserts_sql=f"SELECT * FROM {rows}")
    out = tuple(each.name for each in snapshot_facts(files, TABLE, head))
    rows = "VALUES (2, 20), (3, 30) AS x(k, v)"
    return msgspec.structs.replace(order, out=out, rows_sql=f"SELECT * FROM {rows}")


def test_statistics_are_whole_or_nowhere(
    spark_of_library: SparkSession, tmp_path: Path, judge: Judge
) -> None:
    columns = {"k": "INT", "s": "STRING"}
    judge.create(tmp_path, "d.t", columns, keys=("k",), options={"bucket": "1"})
    judge.put(tmp_path, "d.t", [("+I", [1, "one"])])
    files = LocalFiles(str(tmp_path))
    target = find_target({"warehouse": str(tmp_path), "table": "d.t"}, False)
    counted = spark_of_library.sql("SELECT count(*) AS n FROM VALUES (1) AS t(k)")
    expected, points = judge.rows(tmp_path, "d.t"), 0
    while True:
        head = Lineage(files, TABLE.root()).latest()
        assert head is not None
        more = {"head": head.to_json().decode(), "known": head.id, "operation": ANALYSIS, "may_go_on": True}
        dying = FaultFiles(files, points + 1)
        try:
            done = msgspec.structs.replace(target, commit_user=f"u{points}", **more)
            writes_of(spark_of_library, dying).describe(done, counted, (), 10)
            break
        except Death:
            points += 1
        assert judge.rows(tmp_path, "d.t") == expected
        newest = Lineage(files, TABLE.root()).latest()
        assert newest is not None
        landed = [each for each in read_operations(files, TABLE) if each.landed is not False]
        assert len(landed) == newest.id - 1
    assert points >= 3
    assert judge.statistics(tmp_path, "d.t") == {"": 1}
