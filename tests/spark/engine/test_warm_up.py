"""What is done while no statement is there: in order, within its time, and given up for any statement.

`python -m tests.spark.engine.test_warm_up` packs the table of the warm-up anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa
import pytest

from paimark.core.cancelling import check_cancelled
from paimark.core.errors import Cancelled
from paimark.core.spark.engine import warm_up
from paimark.core.spark.engine.classic import classic_runner
from paimark.core.spark.engine.warm_up import QUIET_SECONDS, SETTLED_SECONDS, IdleWork
from paimark.core.spark.launch.session import Spark
from paimark.core.spark.launch.session_settings import WARM_UP
from paimark.core.spark.protocol import Start
from tests.paimon import commit, create_table, read_rows
from tests.spark.library.test_merged_keys import plans

NAME = "warm_up.keyed"
STEPS = (1, 2)
_ROWS = 64
_COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("name", pa.string()),
        pa.field("price", pa.float64()),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us")),
    ]
)


def rows_of(step: int) -> pa.Table:
    """The rows of a commit: those of all steps have keys in common."""
    ids = range(0, _ROWS, step)
    columns: dict[str, list[Any]] = {
        "id": list(ids),
        "name": [f"n{each % 5}" for each in ids],
        "price": [each * step / 4 for each in ids],
        "day": [20_000 + each for each in ids],
        "at": [each * 1_000_000 for each in ids],
    }
    return pa.table(columns, schema=_COLUMNS)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def free() -> bool:
    return True


def nothing() -> None:
    return


def test_steps_are_done_each_once_and_a_fault_ends_none_of_the_others() -> None:
    done: list[object] = []
    work = IdleWork(clock := Clock())
    assert work.due() is None

    def fails() -> None:
        done.append("fails")
        raise ValueError

    work.begin(iter([fails, lambda: done.append("second")]), nothing)
    assert work.due() == pytest.approx(SETTLED_SECONDS)
    clock.now += SETTLED_SECONDS
    assert work.due() == 0
    # Two steps, and one look that there is no other.
    for _ in range(3):
        work.work(free)
    assert done == ["fails", "second"]
    assert work.due() is None


def test_a_statement_that_is_there_already_comes_first() -> None:
    clock, done = Clock(), list[str]()
    work = IdleWork(clock)
    work.begin(iter([lambda: done.append("step")]), nothing)
    work.work(lambda: False)
    assert not done
    # The step is done when no other statement has followed.
    work.quiet()
    assert work.due() == QUIET_SECONDS
    clock.now += QUIET_SECONDS
    work.work(free)
    assert done == ["step"]


@pytest.mark.parametrize("end", [IdleWork.interrupt, IdleWork.stop])
def test_a_statement_that_comes_ends_what_is_done(end: Callable[[IdleWork], None]) -> None:
    began, was_cancelled = threading.Event(), threading.Event()

    def goes_on() -> None:
        began.set()
        while True:
            try:
                check_cancelled()
            except Cancelled:
                was_cancelled.set()
                raise

    work = IdleWork()
    work.begin(iter([goes_on, nothing]), nothing)
    thread = threading.Thread(target=work.work, args=(free,), daemon=True)
    thread.start()
    assert began.wait(10)
    end(work)
    thread.join(10)
    assert was_cancelled.is_set() and not thread.is_alive()
    assert (work.due() is None) == (end is IdleWork.stop)


def test_a_step_is_interrupted_in_its_own_way_and_the_others_follow() -> None:
    interrupted, done = list[int](), list[int]()
    work = IdleWork()
    work.interrupt()
    work.begin(iter([work.interrupt, lambda: done.append(2)]), lambda: interrupted.append(1))
    work.work(free)
    assert interrupted == [1]
    work.work(free)
    assert done == [2]


def test_what_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "MOST_SECONDS", 0.01)
    ended, interrupted = list[str](), list[str]()

    def goes_on(what: str) -> None:
        try:
            while True:
                check_cancelled()
        except Cancelled:
            ended.append(what)
            raise

    work = IdleWork()
    steps = [partial(goes_on, "step"), partial(goes_on, "never done")]
    work.begin(iter(steps), lambda: interrupted.append("step"))
    # A step, and a look that there is no time for the next.
    work.work(free)
    work.work(free)
    assert ended == ["step"] and interrupted == ["step"] and work.due() is None


def test_the_archive_has_the_table_with_both_commits(tmp_path: Path) -> None:
    warm_up._unpack(tmp_path)
    newest = {row["id"]: row for step in STEPS for row in rows_of(step).to_pylist()}
    assert sorted(read_rows(tmp_path, NAME), key=lambda row: int(row["id"])) == [*newest.values()]
    assert len([*tmp_path.rglob("snapshot-*")]) == len(STEPS)


def test_every_statement_of_the_warm_up_runs(
    spark_here: Spark, warehouse: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """An error ends nothing: the engine passes over it, and would be slow for ever."""
    session = spark_here.session
    runner = classic_runner(spark_here, Start(str(warehouse), {}, None, {}, str(spark_here.scratch), True))
    session.conf.set(WARM_UP, "on")
    try:
        warming = runner.warm_up()
    finally:
        session.conf.unset(WARM_UP)
    assert warming is not None
    before = max(plans(session), default=-1)
    for step in warming.steps():
        step()
    assert "warm-up:" not in capfd.readouterr().err
    # The last one's.
    assert any("Join" in plan for plan in plans(session, before).values())


def main() -> None:
    archive = Path(warm_up.__file__).with_suffix(".zip")
    with TemporaryDirectory() as place, ZipFile(archive, "w", ZIP_DEFLATED) as packed:
        create_table(place, NAME, _COLUMNS, primary_keys=["id"], options={"bucket": "1"})
        for step in STEPS:
            commit(place, NAME, rows_of(step))
        for path in sorted(each for each in Path(place).rglob("*") if each.is_file()):
            packed.write(path, path.relative_to(place))


if __name__ == "__main__":
    main()
