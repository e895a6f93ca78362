"""Half-written files that dead writers left are swept by `recover`, and nothing that lies beside them."""

from __future__ import annotations

import os
import time
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import Refused
from tests.actions.acting import applied, contents, done, planned
from tests.wording import about

DAY = 24 * 3600
OLD = 25 * 3600


def half_written(orders: Path, below: str, *, seconds: float = OLD) -> Path:
    """As a writer that was killed leaves it, so many seconds ago."""
    directory, _, name = below.rpartition("/")
    path = orders / directory / f".{name}.{uuid.uuid4()}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b'{"half')
    then = time.time() - seconds
    os.utime(path, (then, then))
    return path


@pytest.fixture
def branched(context: Context) -> Context:
    done(context, "create-savepoint")
    done(context, "create-branch", name="b", tag="v2")
    return context


def test_what_dead_writers_left_is_swept_after_a_day(branched: Context, orders: Path) -> None:
    before = contents(orders)
    names = ["tag/tag-x", "branch/ACTION", "branch/MAIN-BRANCH", "savepoint/CLAIM-7", "snapshot/LATEST"]
    names += ["branch/operations/operation-9", "branch/branch-b/tag/tag-y", "branch/branch-b/schema/schema-1"]
    left = [half_written(orders, name) for name in names]
    plan = planned(branched, "recover")
    assert sorted(step.target for step in plan.steps) == sorted(
        str(path.relative_to(orders.parent.parent)) for path in left
    )
    assert about("8 half-written files", "a day").search(plan.summary)
    told: list[str] = []
    applied(branched, plan, told)
    [line] = told
    assert about("removed 8 half-written files").search(line)
    assert contents(orders) == before
    assert planned(branched, "recover").empty


def test_what_is_young_or_not_ours_is_left_alone(branched: Context, orders: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    target = half_written(outside, "tag-z")
    half_written(orders, "tag/tag-x", seconds=DAY - 600)
    half_written(orders, "tag/other")
    half_written(orders, "manifest/manifest-1")
    half_written(orders, "bucket-0/data-1.parquet")
    then = time.time() - OLD
    for name in (".tag-x", ".tag-x.1234", f".tag-x.{uuid.uuid4()}.crc", f"tag-x.{uuid.uuid4()}"):
        (orders / "tag" / name).write_bytes(b"")
        os.utime(orders / "tag" / name, (then, then))
    (orders / "tag" / f".tag-l.{uuid.uuid4()}").symlink_to(target)
    os.mkfifo(orders / "tag" / f".tag-p.{uuid.uuid4()}")
    (orders / "tag" / f".tag-d.{uuid.uuid4()}").mkdir()
    for each in (orders / "tag").iterdir():
        if each.name.startswith((".tag-p", ".tag-d")):
            os.utime(each, (then, then))
    # A part of a branch that leads outside.
    (orders / "branch/branch-b/consumer").symlink_to(outside)
    half_written(outside, "consumer-z")
    there = sorted(str(path) for path in (*orders.rglob("*"), *outside.rglob("*")))
    plan = planned(branched, "recover")
    assert plan.empty, plan.steps
    # Nor where something is to be swept beside it.
    (orders / "branch/branch-b/consumer").unlink()
    half_written(orders, "tag/tag-swept")
    applied(branched, planned(branched, "recover"))
    now = sorted(str(path) for path in (*orders.rglob("*"), *outside.rglob("*")))
    assert now == [each for each in there if not each.endswith("/consumer")]


def test_a_machine_whose_clock_is_ahead_sweeps_nothing_that_is_young(branched: Context, orders: Path) -> None:
    young, old = half_written(orders, "tag/tag-x", seconds=60), half_written(orders, "tag/tag-y")
    ahead = replace(branched, clock=lambda: (time.time_ns() + 3 * DAY * 10**9) // 10**6)
    told: list[str] = []
    applied(ahead, planned(ahead, "recover"), told)
    assert young.exists()
    assert not old.exists()
    removed, kept = told
    assert about("removed 1 half-written file").search(removed)
    assert about("kept 1 half-written file", "store's clock").search(kept)


def test_nothing_is_swept_where_nothing_may_be_changed(branched: Context, orders: Path) -> None:
    left = half_written(orders, "tag/tag-x")
    plan = planned(replace(branched, read_only=True), "recover")
    assert plan.refusals
    with pytest.raises(Refused):
        applied(replace(branched, read_only=True), plan)
    assert left.exists()
