"""Stock Paimon judges some simulated tables again: this verifies the simulation's model of stock."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.interop.judge import Judge, JudgeError, Row
from tests.simulation.actors.deterministic import deterministic
from tests.simulation.formats import KEY, VALUE, Identity, Rows
from tests.simulation.judging import view
from tests.simulation.judging.mirror import load_expected, write_mirror
from tests.simulation.schedules.bench import Bench
from tests.simulation.stock.format import Stock


def as_rows(rows: list[Row]) -> Rows:
    return tuple(sorted((row[KEY], row[VALUE]) for row in rows))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_stock_reads_every_reference_of_a_simulated_table(judge: Judge, tmp_path: Path, seed: int) -> None:
    command = [sys.executable, "-m", "tests.simulation", "--seed", str(seed), "--dump", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    expected = load_expected(tmp_path)
    assert expected
    for each in expected:
        found = judge.read(tmp_path / "warehouse", each.table, tag=each.tag)
        assert as_rows(found) == each.rows, each


@pytest.mark.long
@pytest.mark.parametrize("keyed", [False, True])
def test_stock_goes_on_with_a_simulated_table(judge: Judge, tmp_path: Path, keyed: bool) -> None:
    """Stock commits to a table of the model, compacts and expires it, and reads the expected rows."""
    bench = prepared(keyed)
    write_mirror(bench.world, tmp_path)
    judge.write(tmp_path, "shop.t", [{KEY: 999, VALUE: 999}])
    judge.compact(tmp_path, "shop.t")
    assert judge.expire(tmp_path, "shop.t") > 0
    expected = bench.world.commits[newest(bench)].rows
    assert as_rows(judge.read(tmp_path, "shop.t")) == (*expected, (999, 999))


def prepared(keyed: bool = False) -> Bench:
    """A table of a few commits, with a branch `b` that has its own commits."""
    bench = Bench(Random(7), "local", keyed=keyed, formats=Stock())
    with deterministic(bench.scheduler, Random(7)):
        bench.create_table({})
        for _ in range(3):
            bench.write()
        bench.act("create-savepoint")
        bench.act("create-branch", name="b", tag="savepoint.1")
        bench.write("b")
        bench.write()
    return bench


def newest(bench: Bench) -> Identity:
    found = view.head(bench.world.store, view.main_root(bench.world.store))
    assert found is not None
    return found


def done(action: str, /, **arguments: object) -> Callable[[Bench], object]:
    return lambda bench: bench.act(action, **arguments)


def replaced_and_undone(bench: Bench) -> None:
    bench.act("replace-main-branch", name="b")
    bench.act("undo")


CHANGES: dict[str, Callable[[Bench], object]] = {
    "merge": done("merge-branch", name="b"),
    "rollback": done("rollback", to="savepoint.1"),
    "truncation": done("rollback", to="savepoint.1", truncate=True),
    "overwrite": done("replace-main-branch", name="b", layout="overwrite"),
    "expiry": done("expire-snapshots", retain_last=1),
    "pointer": done("replace-main-branch", name="b"),
    "undo of a pointer": replaced_and_undone,
    "column": done("alter-branch-schema", add="note INT"),
}


@pytest.mark.long
@pytest.mark.parametrize("change", CHANGES)
def test_a_session_that_was_open_reads_main_rightly_after(judge: Judge, tmp_path: Path, change: str) -> None:
    """It reads main's current rows, or fails."""
    bench = prepared()
    write_mirror(bench.world, tmp_path)
    before = bench.world.commits[newest(bench)].rows
    with judge.session(change):
        assert as_rows(judge.read(tmp_path, "shop.t")) == before
    with deterministic(bench.scheduler, Random(8)):
        CHANGES[change](bench)
        bench.rest()
    write_mirror(bench.world, tmp_path)
    now = bench.world.commits[newest(bench)].rows
    assert now != before or change in ("expiry", "column", "undo of a pointer")
    with judge.session(change):
        try:
            found = as_rows(judge.read(tmp_path, "shop.t"))
        except JudgeError:
            return
    assert found == now
