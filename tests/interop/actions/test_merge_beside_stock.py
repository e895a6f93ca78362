"""A merge by key beside a job of stock Paimon, which then reads, compacts and writes what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from paimark.core.actions.context import Context
from paimark.core.spark.client.client import Engine
from paimark.core.table.layout import TablePath
from tests.actions.acting import applied, done, planned
from tests.actions.merge.test_merge_goes_on import Beside
from tests.interop.judge import Judge, comparable
from tests.long import long_but

Rows = Mapping[int, str]
MAIN = {1: "main", 2: "main", 3: "main", 4: "main"}
MERGED = {1: "main", 2: "branch", 4: "later", 5: "branch"}


def listed(rows: Rows) -> list[dict[str, object]]:
    return comparable([{"k": key, "v": text} for key, text in rows.items()])


@pytest.fixture
def beside(context: Context) -> Beside:
    assert context.engine is not None
    return Beside(context.engine())


Start = Callable[..., TablePath]


@pytest.fixture
def start(context: Context, engine_warehouse: Path, judge: Judge) -> Start:
    """Make a table whose branch `fix` changes key 2, removes 3 and adds 5; main has a commit since."""

    def make(database: str, **options: str) -> TablePath:
        path = TablePath(database, "t")
        name, fix = path.full_name, f"{path.full_name}$branch_fix"
        more = {each.replace("_", "-"): value for each, value in options.items()}
        columns = {"k": "INT NOT NULL", "v": "STRING"}
        judge.create(engine_warehouse, name, columns, keys=["k"], options={"bucket": "2", **more})
        judge.write(engine_warehouse, name, listed(MAIN))
        done(context, "create-tag", table=path, name="fork")
        done(context, "create-branch", table=path, name="fix", tag="fork")
        judge.write(engine_warehouse, fix, listed({2: "branch", 5: "branch"}))
        judge.write(engine_warehouse, fix, listed({3: "main"}), "-D")
        judge.write(engine_warehouse, name, listed({4: "later"}))
        return path

    return make


def merged(context: Context, beside: Beside, table: TablePath, deed: Callable[[], None]) -> int:
    """Merge while the deed is done once; how often rows were written."""
    deeds = [deed]
    beside.deed = lambda: deeds.pop()() if deeds else None
    context = replace(context, engine=lambda: cast(Engine, beside))
    applied(context, planned(context, "merge-branch", table=table, name="fix"))
    return len(beside.writes)


@pytest.mark.parametrize("producer", long_but(["none", "input", "lookup", "full-compaction"], "lookup"))
def test_rows_of_a_job_stay(
    context: Context, engine_warehouse: Path, judge: Judge, beside: Beside, start: Start, producer: str
) -> None:
    table = start(f"stays_{producer.replace('-', '_')}", changelog_producer=producer)
    name = table.full_name

    def job() -> None:
        judge.write(engine_warehouse, name, listed({1: "job", 6: "job"}))
        judge.write(engine_warehouse, name, listed({4: "later"}), "-D")
        judge.write(engine_warehouse, name, listed({7: "job"}))

    # With `lookup` each write compacts, and takes files that the merge copied: it writes its rows again.
    assert merged(context, beside, table, job) == (2 if producer == "lookup" else 1)
    wanted = {1: "job", 2: "branch", 5: "branch", 6: "job", 7: "job"}
    assert judge.read(engine_warehouse, name) == listed(wanted)
    judge.write(engine_warehouse, name, listed({2: "again"}))
    judge.write(engine_warehouse, name, listed({1: "job"}), "-D")
    wanted = {2: "again", 5: "branch", 6: "job", 7: "job"}
    assert judge.read(engine_warehouse, name) == listed(wanted)
    judge.compact(engine_warehouse, name)
    assert judge.read(engine_warehouse, name) == listed(wanted)
    assert sum(row["record_count"] for row in judge.read(engine_warehouse, f"{name}$files")) == len(wanted)
    judge.expire(engine_warehouse, name)
    judge.clean_orphans(engine_warehouse, name)
    assert judge.read(engine_warehouse, name) == listed(wanted)


def test_a_compaction_that_drops_a_delete_is_no_commit_to_stay_beside(
    context: Context, engine_warehouse: Path, judge: Judge, beside: Beside, start: Start
) -> None:
    """The merge copied the row that it dropped, which must not come back."""
    table = start("dropped")
    name = table.full_name

    def job() -> None:
        judge.write(engine_warehouse, name, listed({1: "main"}), "-D")
        judge.compact(engine_warehouse, name)

    assert merged(context, beside, table, job) == 2
    wanted = {2: "branch", 4: "later", 5: "branch"}
    assert judge.read(engine_warehouse, name) == listed(wanted)
