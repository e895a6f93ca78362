"""List every crash point of every action, as the other test modules kill them."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from paimark.core.actions.registry import ACTIONS
from tests.actions.declared.catalogue import ALONE
from tests.actions.tables import test_moved_tables
from tests.faults import (
    takeovers,
    test_crash_points,
    test_delete_and_expire,
    test_rename_tag,
    test_replace_main,
)
from tests.faults import test_rewrite_main as rewriting
from tests.faults.fault_files import Film, Point

# The tests `test_a_recovery_can_be_killed_too` kill it at its own writes.
RECOVERY = "recover"
# They plan and run other actions.
OTHERS = {"redo", "restore"}
# It is the same change as `protect`.
SAME = {"unprotect"}
# The engine does all of it: `tests.spark.library` kills that.
OF_THE_ENGINE = {"compact", "analyze", "revert", "restore-rows", "edit-rows"}


class CrashPoint(NamedTuple):
    """One kill of one case of an action."""

    action: str
    case: str
    point: Point


def films(template: Path, tmp_path: Path) -> Iterator[tuple[str, str, Film]]:
    """The film of each action and case that needs no Spark, run once for its writes."""
    for number, case in enumerate(test_crash_points.CASES):
        made = test_crash_points.LaneData(case, template, tmp_path / f"made-{number}")
        yield case.action, case.name, made.film
    for number, gone in enumerate(test_delete_and_expire.CASES):
        shutil.copytree(template, warehouse := tmp_path / f"gone-{number}/warehouse")
        yield gone.action, gone.name, test_delete_and_expire.LaneData(gone, warehouse).film
    for number, moved in enumerate(test_replace_main.CASES):
        yield moved.action, moved.name, takeovers.LaneData(moved, template, tmp_path / f"moved-{number}").film
    for number, (name, prepare) in enumerate(test_rename_tag.PREPARED.items()):
        renamed = test_rename_tag.LaneData(prepare, template, tmp_path / f"renamed-{number}")
        yield "rename-tag", name, renamed.film
    yield from test_moved_tables.films(template, tmp_path)
    shutil.copytree(template, warehouse := tmp_path / "forward/warehouse")
    merge = "merge-branch"
    forward = rewriting.scene_of(warehouse, "forward", merge, {"name": "fix"}, both=False)
    yield merge, "fast-forward", forward.filmed()


def test_every_action_is_killed() -> None:
    cases = (*test_crash_points.CASES, *test_delete_and_expire.CASES, *test_replace_main.CASES)
    killed = (
        {each.action for each in cases} | {"rename-tag", "merge-branch"} | test_moved_tables.PREPARED.keys()
    )
    rewritten = {changes[-1][0] for changes in rewriting.REWRITINGS}
    assert ACTIONS.keys() - {RECOVERY, *OTHERS, *SAME, *OF_THE_ENGINE} == killed | rewritten | ALONE


@pytest.mark.long
def test_every_action_can_be_killed_at_each_of_its_writes(warehouse_template: Path, tmp_path: Path) -> None:
    points = [
        CrashPoint(action, case, point)
        for action, case, film in films(warehouse_template, tmp_path)
        for point in film.points()
    ]
    for each in points:
        print(f"{each.action}, {each.case}: {each.point}")
    count = Counter(each.action for each in points)
    print(f"{len(points)} crash points: {dict(count)}")
    assert len(set(points)) == len(points) >= 300
