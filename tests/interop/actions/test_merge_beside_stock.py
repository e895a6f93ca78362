"""A merge by key beside a job of stock Paimon, which then reads, compacts and writes what came of it.

And one beside a job that commits and compacts all the time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Outcome
from paimark.core.spark.client.client import Engine
from paimark.core.statements.try_script import TRY_SCRIPT
from paimark.core.table.layout import TablePath
from tests.actions.acting import applied, done, planned
from tests.actions.merge.test_merge_goes_on import Beside
from tests.interop.judge import Judge, comparable
from tests.interop.judge_fixture import connected
from tests.long import long_but

Rows = Mapping[int, str]
MAIN = {1: "main", 2: "main", 3: "main", 4: "main"}
# The branch and the script change keys of these remainders by 100; the job that rests never, all others.
_OF_BRANCH, _OF_SCRIPT = 7, 8
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

    # With `lookup` each write compacts.
    assert merged(context, beside, table, job) == 1
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


@pytest.mark.long
def test_a_row_that_a_job_deletes_stays_away_though_a_compaction_drops_the_delete(
    context: Context, engine_warehouse: Path, judge: Judge, beside: Beside, start: Start
) -> None:
    table = start("dropped")
    name = table.full_name

    def job() -> None:
        judge.write(engine_warehouse, name, listed({1: "main"}), "-D")
        judge.compact(engine_warehouse, name)

    assert merged(context, beside, table, job) == 1
    wanted = {2: "branch", 4: "later", 5: "branch"}
    assert judge.read(engine_warehouse, name) == listed(wanted)


@dataclass
class Job:
    """It commits about twice a second, and compacts with every commit. `rows` are all that it wrote."""

    judge: Judge
    warehouse: Path
    name: str
    keys: Sequence[int]
    rows: dict[int, str] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    commits: int = 0
    failure: BaseException | None = None
    _ends: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        try:
            while not self._ends.is_set():
                began = time.monotonic()
                number = self.commits = self.commits + 1
                made = {self.keys[number * 31 % len(self.keys)]: f"job {number}" for _ in range(5)}
                made |= {
                    self.keys[(number * 17 + place) % len(self.keys)]: f"job {number}" for place in range(5)
                }
                if number % 5:
                    self.judge.write(self.warehouse, self.name, listed(made))
                    self.rows |= made
                    self.gone -= made.keys()
                else:
                    self.judge.write(self.warehouse, self.name, listed(made), "-D")
                    self.gone |= made.keys()
                self._ends.wait(max(0.0, 0.4 - (time.monotonic() - began)))
        except BaseException as error:
            self.failure = error

    def upon(self, rows: Mapping[int, str]) -> dict[int, str]:
        """The rows with what it wrote."""
        return {key: text for key, text in ({**rows, **self.rows}).items() if key not in self.gone}

    @contextmanager
    def working(self) -> Iterator[None]:
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            while self.commits < 2:
                time.sleep(0.1)
            yield
        finally:
            self._ends.set()
            thread.join()
            if self.failure is not None:
                raise self.failure


@pytest.fixture
def stock(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    """What the job works with, while the judge reads."""
    with closing(connected(tmp_path_factory)) as other:
        yield other


@pytest.mark.long
@pytest.mark.parametrize("count", [2_000, 100_000])
def test_a_merge_and_a_try_land_beside_a_job(
    context: Context,
    engine_warehouse: Path,
    judge: Judge,
    stock: Judge,
    beside: Beside,
    tmp_path: Path,
    count: int,
) -> None:
    context = replace(context, engine=lambda: cast(Engine, beside))
    table = TablePath(f"busy_{count}", "t")
    name, fix = table.full_name, f"{table.full_name}$branch_fix"
    # Two runs of a bucket are one too many: each commit compacts.
    options = {"bucket": "2", "num-sorted-run.compaction-trigger": "2"}
    judge.create(engine_warehouse, name, {"k": "INT NOT NULL", "v": "STRING"}, keys=["k"], options=options)
    main = {key: "main" for key in range(count)}
    judge.write(engine_warehouse, name, listed(main))
    done(context, "create-tag", table=table, name="fork")
    done(context, "create-branch", table=table, name="fix", tag="fork")
    changed = [key for key in main if key % 100 == _OF_BRANCH]
    taken = changed[: len(changed) // 10]
    added = {count + 100 * key + _OF_BRANCH: "new" for key in range(len(taken))}
    of_branch = {key: "branch" for key in changed[len(taken) :]} | added
    judge.write(engine_warehouse, fix, listed(of_branch))
    judge.write(engine_warehouse, fix, listed({key: "main" for key in taken}), "-D")
    job = Job(
        stock, engine_warehouse, name, [key for key in main if key % 100 not in (_OF_BRANCH, _OF_SCRIPT)]
    )
    script, checks = tmp_path / "fix.sql", tmp_path / "checks.sql"
    script.write_text(f"UPDATE {{this}} SET v = 'tried' WHERE k % 100 = {_OF_SCRIPT};\n")
    checks.write_text(
        f"-- name: tried\nSELECT * FROM {{this}} WHERE k % 100 = {_OF_SCRIPT} AND v <> 'tried';\n"
        "-- name: keys\nUNIQUE k;\n"
    )
    expected = {key: text for key, text in (main | of_branch).items() if key not in taken}
    with job.working():
        assert tries(beside, lambda: done(context, "merge-branch", table=table, name="fix")) <= 2
        plan = TRY_SCRIPT.plan(context, table, {"file": str(script), "check": str(checks), "name": "tried"})
        tried = TRY_SCRIPT.apply(context, plan, lambda line: None)
        assert "2 checks" in tried.message
        begun = job.commits
        while job.commits < begun + 2:
            time.sleep(0.1)
        # The job has committed since. What the merge did alone goes and comes beside it.
        [refusal] = planned(context, "undo", table=table).refusals
        assert "moved since" in refusal.reason and "paimark revert" in refusal.hint
        gone = done(context, "revert", table=table, snapshot=tried.result["snapshot_id"])
        done(context, "revert", table=table, snapshot=gone.result["snapshot_id"])
    assert job.commits > 5
    kinds = {each["commit_kind"] for each in judge.read(engine_warehouse, f"{name}$snapshots")}
    assert "COMPACT" in kinds and "OVERWRITE" not in kinds
    expected = job.upon(expected | {key: "tried" for key in range(_OF_SCRIPT, count, 100)})
    assert judge.read(engine_warehouse, name) == listed(expected)
    # A merge of one key, its undo and its redo, when the job rests.
    judge.write(engine_warehouse, fix, listed({_OF_BRANCH + 100: "later"}))
    judge.write(engine_warehouse, name, listed({0: "main"}))
    before = expected | {0: "main"}
    after = before | {_OF_BRANCH + 100: "later"}
    for action, rows in (("merge-branch", after), ("undo", before), ("redo", after)):
        done(context, action, table=table, **({"name": "fix"} if action == "merge-branch" else {}))
        assert judge.read(engine_warehouse, name) == listed(rows), action


def tries(beside: Beside, run: Callable[[], Outcome]) -> int:
    beside.writes.clear()
    run()
    return len(beside.writes)
