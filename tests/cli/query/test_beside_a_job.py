"""Rows are put right by the command in tables that a job of a stock engine writes to all the while."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

import paimark as api
from paimark.core.spark.client.client import Engine
from tests.cli.command import CommandResult, Paimark
from tests.cli.shared_engine import share
from tests.eventually import eventually
from tests.interop.judge import Judge
from tests.wording import about

COLUMNS = {"k": "BIGINT", "v": "BIGINT"}
# The job changes it with each commit.
HOT = 1
BAD = (500, 501, 502)
# The rows in the end, apart from those of the job.
GOOD = [(key, key) for key in BAD]
TABLES = {"live.keys": [(2, 20), (4, 4), *GOOD], "live.rows": [(2, 2), (4, 4), *GOOD]}


class Job:
    """Each commit has a new row, from 1000 on, and of a table with a key the hot one."""

    def __init__(self, judge: Judge, warehouse: Path, tables: list[str]) -> None:
        self._judge, self._warehouse, self._tables = judge, warehouse, tables
        self._ends, self.errors = Event(), list[Exception]()
        self.written: dict[str, int] = dict.fromkeys(tables, 0)

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._ends.set()
            thread.join()
        assert not self.errors

    def commits_to(self, table: str) -> None:
        """Wait for a commit that begins now."""
        number = self.written[table] + 1
        eventually(lambda: self.written[table] > number or bool(self.errors), seconds=60)

    def _run(self) -> None:
        try:
            while not self._ends.wait(0.3):
                for table in self._tables:
                    number = self.written[table]
                    hot = [("+I", [HOT, number])] if table == "live.keys" else []
                    self._judge.put(self._warehouse, table, [("+I", [1000 + number, number]), *hot])
                    self.written[table] = number + 1
        except Exception as error:
            self.errors.append(error)


@pytest.fixture
def live(engine_warehouse: Path, judge: Judge, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Snapshot 1 has good rows and a savepoint, 2 bad ones, 3 another good row."""
    for name, keys in (("live.keys", ["k"]), ("live.rows", [])):
        options = {"bucket": "1"} if keys else {}
        judge.create(engine_warehouse, name, COLUMNS, keys=keys, options=options)
        good = [("+I", [key, key]) for key in (HOT, 2, 3, *BAD)]
        judge.put(engine_warehouse, name, good)
        api.open(engine_warehouse).table(name).create_savepoint()
        judge.put(engine_warehouse, name, [("+I", [key, -1]) for key in BAD])
        judge.put(engine_warehouse, name, [("+I", [4, 4])])
    share(engine, engine_warehouse, monkeypatch)
    return engine_warehouse


@pytest.mark.long
@pytest.mark.timeout(0)
def test_each_change_lands_and_no_row_of_either_side_is_lost(
    paimark: Paimark, live: Path, judge: Judge, tmp_path: Path
) -> None:
    edits = tmp_path / "edits.jsonl"
    edits.write_text(json.dumps({"key": {"k": 2}, "set": {"v": 20}}))
    job = Job(judge, live, [*TABLES])

    def run(*words: str, code: int = 0) -> CommandResult:
        done = paimark(*words, "--yes")
        assert done.code == code, (words, done)
        return done

    with job.running():
        run("edit-rows", "live.keys", "--file", str(edits))
        # The job changes this key all the time, on a busy machine not within each command.
        hot = ["restore-rows", "live.keys", "--from", "savepoint.1", "--keys", str(HOT), "--yes"]
        tried = (paimark(*hot) for _ in range(20))
        refused = next(each for each in tried if each.code)
        assert about("moved", "rows", "written").search(refused.err)
        for table in TABLES:
            run("revert", table, "--snapshot", "2")
            job.commits_to(table)
            # It gives the root the rows of before, and would take what came since.
            assert "moved" in run("undo", table, code=1).err
            run("sql", f"DELETE FROM {table} WHERE k = 3")
    for table, rows in TABLES.items():
        found = sorted(
            (each["k"], each["v"]) for each in api.open(live).table(table).at().to_arrow().to_pylist()
        )
        count = job.written[table]
        assert count and found[-count:] == [(1000 + number, number) for number in range(count)]
        first = (HOT, count - 1) if table == "live.keys" else (HOT, HOT)
        assert found[:-count] == [first, *rows]
