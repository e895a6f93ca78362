"""Changelogs of several buckets in one file are whole, and go with the snapshots that need them."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.table.layout import TablePath
from paimark.core.verify import verify
from tests.actions.acting import applied, context_on, planned
from tests.interop.judge import Judge
from tests.interop.written import Table

TABLE = TablePath("d", "t")
OPTIONS = {"bucket": "3", "changelog-producer": "input"}


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return context_on(tmp_path)


@pytest.fixture(params=[(), ("p",)], ids=["whole", "partitioned"])
def table(request: pytest.FixtureRequest, tmp_path: Path, judge: Judge) -> Table:
    """A table with two commits, each with one changelog file for all of its buckets."""
    keys = ["k", *request.param]
    columns = {"k": "INT", "p": "INT"}
    made = Table(tmp_path, TABLE.full_name, columns, keys=keys, partition_keys=request.param, options=OPTIONS)
    for start in (0, 10):
        judge.put(
            tmp_path, TABLE.full_name, [("+I", [key, 1]) for key in range(start, start + 9)], joins=True
        )
    return made


def joined(table: Table) -> list[Path]:
    return sorted(table.directory.rglob("compacted-changelog-*"))


def test_they_are_whole(context: Context, table: Table) -> None:
    assert len(joined(table)) == 2 and len([*table.directory.rglob("bucket-*")]) == 3
    report = verify(context, TABLE, older_than=0, read_data=1.0)
    assert report.problems == () and report.orphans == ()
    # Six data files and two changelogs, each counted once; four metadata files a commit, and a list more.
    sizes = sum(path.stat().st_size for path in table.directory.rglob("bucket-*/*"))
    assert report.bytes > sizes - sum(path.stat().st_size for path in joined(table))


def test_one_that_is_gone_is_named_once(context: Context, table: Table) -> None:
    gone, _ = joined(table)
    gone.unlink()
    [problem] = verify(context, TABLE).problems
    assert (problem.cause, problem.path.rpartition("/")[2]) == ("missing", gone.name)


def test_an_expiry_takes_it_with_its_snapshot(
    context: Context, table: Table, tmp_path: Path, judge: Judge
) -> None:
    before = {path: path.stat().st_size for path in joined(table)}
    plan = planned(context, "expire-snapshots", table=TABLE, retain_last=1)
    [step] = [each for each in plan.steps if each.target == "1 data file"]
    assert step.verb == "delete" and step.size in before.values()
    applied(context, plan)
    assert len(joined(table)) == 1
    report = verify(context, TABLE, older_than=0)
    assert report.is_whole and report.orphan_count == 0
    assert judge.clean_orphans(tmp_path, TABLE.full_name) == []
    assert len(judge.read(tmp_path, TABLE.full_name)) == 18
