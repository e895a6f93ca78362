"""Every crash point of every action, listed: what the tests beside this one kill, one by one."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from core.actions.registry import ACTIONS
from tests.faults import (
    takeovers,
    test_crash_points,
    test_delete_and_expire,
    test_rename_tag,
    test_replace_main,
)
from tests.faults import test_rewrite_main as rewriting
from tests.faults.fault_files import Mode, can_be_half

# `test_a_recovery_can_be_killed_too`, wherever there is one, kills it at its own writes.
RECOVERY = "recover"
# They plan and do other actions.
OTHERS = {"redo", "restore"}


class CrashPoint(NamedTuple):
    """One write of one case of an action, and how it is the last."""

    action: str
    case: str
    number: int
    call: str
    mode: Mode


def parameters_of(test: Callable[..., None], name: str | tuple[str, ...]) -> list[Any]:
    """What a test is run with: every value of one of its marks."""
    marks = getattr(test, "pytestmark", ())
    [values] = [mark.args[1] for mark in marks if mark.args[0] == name]
    return list(values)


def points(test: Callable[..., None], action: str, case: str, writes: list[str]) -> Iterator[CrashPoint]:
    """Only what is created or replaced can be half-written."""
    for mode in parameters_of(test, "mode"):
        for number, call in enumerate(writes, start=1):
            if mode != "half" or can_be_half(call):
                yield CrashPoint(action, case, number, call, mode)


def listed(template: Path, tmp_path: Path) -> Iterator[CrashPoint]:
    """Each case is run once, for its writes; but for those that need Spark for it."""
    for number, case in enumerate(test_crash_points.CASES):
        scene = test_crash_points.Scene(case, template, tmp_path / f"made-{number}")
        yield from points(
            test_crash_points.test_every_write_can_be_the_last, case.action, case.name, scene.writes
        )
    for number, gone in enumerate(test_delete_and_expire.CASES):
        shutil.copytree(template, warehouse := tmp_path / f"gone-{number}" / "warehouse")
        deletion = test_delete_and_expire.Scene(gone, warehouse, warehouse.parent)
        yield from points(
            test_delete_and_expire.test_every_write_can_be_the_last, gone.action, gone.name, deletion.writes
        )
    for number, moved in enumerate(test_replace_main.CASES):
        takeover = takeovers.Scene(moved, template, tmp_path / f"moved-{number}")
        yield from points(
            test_replace_main.test_every_write_can_be_the_last, moved.action, moved.name, takeover.writes
        )
    for number, (name, prepare) in enumerate(test_rename_tag.PREPARED.items()):
        renamed = test_rename_tag.Scene(prepare, template, tmp_path / f"renamed-{number}")
        yield from points(
            test_rename_tag.test_every_write_can_be_the_last, "rename-tag", name, renamed.writes
        )
    shutil.copytree(template, warehouse := tmp_path / "forward" / "warehouse")
    merge, branch = "merge-branch", {"name": "fix"}
    forward = rewriting.scene_of(warehouse, "forward", warehouse.parent, merge, branch, both=False)
    test = rewriting.test_every_write_of_a_fast_forward_can_be_the_last
    yield from points(test, merge, "fast-forward", forward.run().writes)


def test_every_action_can_be_killed_at_each_of_its_writes(warehouse_template: Path, tmp_path: Path) -> None:
    found = list(listed(warehouse_template, tmp_path))
    for each in found:
        print(f"{each.action}, {each.case}: killed {each.mode} write {each.number}, {each.call}")
    count = Counter(each.action for each in found)
    print(f"{len(found)} crash points: {dict(count)}")
    assert len(set(found)) == len(found) >= 300
    rewritten = {changes[-1][0] for changes in rewriting.REWRITINGS}
    assert ACTIONS.keys() - {RECOVERY, *OTHERS} == count.keys() | rewritten
