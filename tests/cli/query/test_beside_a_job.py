"""The way of a repair, step by step, on tables that a job of a stock engine writes to all the while."""

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
from tests.interop.judge import Judge

COLUMNS = {"k": "BIGINT", "v": "BIGINT"}
# The job changes it with each commit.
HOT = 1
BAD = (500, 501, 502)


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
    """Snapshot 1 has good rows, a savepoint and a branch, 2 bad ones, 3 nothing of interest."""
    for name, keys in (("live.keys", ["k"]), ("live.rows", [])):
        # A merge rewrites the files of a bucket: a job that compacts with each commit would never let it.
        options = {"bucket": "1", "write-only": "true"} if keys else {}
        judge.create(engine_warehouse, name, COLUMNS, keys=keys, options=options)
        good = [("+I", [key, key]) for key in (HOT, 2, 3, *BAD)]
        judge.put(engine_warehouse, name, good)
        table = api.open(engine_warehouse).table(name)
        table.create_savepoint()
        table.create_branch(name="fix", tag="savepoint.1")
        judge.put(engine_warehouse, name, [("+I", [key, -1]) for key in BAD])
        judge.put(engine_warehouse, name, [("+I", [4, 4])])
        judge.put(engine_warehouse, f"{name}$branch_fix", [("+I", [5, 5])])
    share(engine, engine_warehouse, monkeypatch)
    return engine_warehouse


@pytest.mark.long
@pytest.mark.timeout(0)
def test_each_step_lands_and_no_row_of_either_side_is_lost(
    paimark: Paimark, live: Path, judge: Judge, tmp_path: Path
) -> None:
    edits, script, check = (tmp_path / each for each in ("edits.jsonl", "fix.sql", "check.sql"))
    edits.write_text(json.dumps({"key": {"k": 2}, "set": {"v": 20}}))
    check.write_text("SELECT * FROM {this} WHERE v < 0")
    tables = ["live.keys", "live.rows"]
    job = Job(judge, live, tables)

    def run(*words: str, code: int = 0) -> CommandResult:
        done = paimark(
            *words, *(["--yes"] if words[0] not in ("when", "history", "blame", "holders") else [])
        )
        print(f"$ {' '.join(words)} -> {done.code}\n{done.out}{done.err}")
        assert done.code == code, (words, done)
        return done

    with job.running():
        for table in tables:
            first = run("when", table, "v < 0")
            assert "snapshot 2" in first.out
            run("history", table, "--key", f"k={BAD[0]}")
            if table == "live.keys":
                run("blame", table, "--where", "v < 0")
                run("edit-rows", table, "--file", str(edits))
                refused = run("restore-rows", table, "--from", "savepoint.1", "--keys", "1", code=1)
            run("revert", table, "--snapshot", "2")
            refused = run("undo", table, code=1)
            assert "paimark revert" in refused.err
            run("restore-rows", table, "--from", "savepoint.1", "--where", "v < 0 OR k = 502")
            run("merge-branch", table, "--name", "fix")
            run("sql", f"DELETE FROM {table} WHERE k = 3")
            script.write_text("UPDATE {this} SET v = 40 WHERE k = 4;")
            run("try", table, "--file", str(script), "--check", str(check))
            run("compact", table)
            run("holders", table, "--key", "k=3")
            run("protect", table, "--savepoint", "1", "--reason", "audit")
            run("rename-branch", table, "--name", "fix", "--to", "fixed")
    print(job.written)
    for table in tables:
        rows = api.open(live).table(table).at().to_arrow().to_pylist()
        found = sorted((each["k"], each["v"]) for each in rows)
        print(found[:12])
        count = job.written[table]
        assert [each for each in found if each[0] >= 1000] == [(1000 + n, n) for n in range(count)]
