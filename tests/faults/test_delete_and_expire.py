"""Kills at any write of a deletion or expiry: the remaining references are whole, and `recover` ends it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import msgspec
import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, branch_names
from paimark.core.table.manifests.files import each_needed_file, missing_files
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import EVENTS, ORDERS, contents, context_on, done, planned, replace_rows
from tests.actions.histories import TABLE, History
from tests.conftest import EVENTS as EVENTS_SCHEMA
from tests.faults.killed_change import KilledChange
from tests.long import long_but
from tests.paimon import commit

# Temporary files that no journal names: a recovery can't tell them from those of a living writer.
_ANYBODYS = re.compile(r"(^|/)\.(EARLIEST|ACTION|RECOVER-[^/]+)\.[0-9a-f-]{36}$")
KINDS = ["data files", "manifests", "manifest lists"]


@dataclass(frozen=True)
class Case:
    """An action on a table prepared for it."""

    name: str
    action: str
    prepare: Callable[[Path, Context], object]
    arguments: dict[str, object] = field(default_factory=dict)
    table: TablePath = ORDERS
    # The parts of a change of many: each part is done fully or not begun.
    parts: int = 1


def forget(warehouse: Path, *ids: int) -> None:
    for number in ids:
        (warehouse / ORDERS.root().snapshot(number)).unlink()


def expired_savepoint(warehouse: Path, context: Context) -> None:
    done(context, "create-savepoint", snapshot=4)
    replace_rows(warehouse)
    forget(warehouse, 1, 2, 3, 4)


def savepoint_of_a_snapshot(warehouse: Path, context: Context) -> None:
    done(context, "create-savepoint", snapshot=4)


def savepoint_of_three_roots(warehouse: Path, context: Context) -> None:
    """The savepoint's tag is in the branch that became main, in the archive, and as a guard."""
    done(context, "create-savepoint", snapshot=1)
    done(context, "create-branch", name="b", tag="v2")
    replace_rows(warehouse, "$branch_b")
    done(context, "replace-main-branch", name="b")
    done(context, "expire-snapshots", retain_last=1)
    archive = next(each for each in branch_names(context.files, ORDERS) if each != "b")
    done(context, "expire-snapshots", branch=archive, retain_last=1)


def savepoint_without_tag(warehouse: Path, context: Context) -> None:
    """The record is of another writer, without the snapshot from which the tag could be restored."""
    expired_savepoint(warehouse, context)
    (warehouse / ORDERS.root().tag("savepoint.1")).unlink()
    path = warehouse / ORDERS.savepoint(1)
    record = msgspec.json.decode(path.read_bytes())
    path.write_bytes(msgspec.json.encode({key: record[key] for key in record if key != "snapshot"}))


def expired_tag(warehouse: Path, context: Context) -> None:
    replace_rows(warehouse)
    forget(warehouse, 1, 2, 3, 4)


def tags_that_share_files(warehouse: Path, context: Context) -> None:
    done(context, "create-tag", name="v4", snapshot=4)
    done(context, "create-tag", name="same", snapshot=4)
    expired_tag(warehouse, context)


def tag_on_a_branch(warehouse: Path, context: Context) -> None:
    done(context, "create-branch", name="b", tag="v2")
    replace_rows(warehouse, "$branch_b")
    done(context, "create-tag", name="mine", branch="b")
    replace_rows(warehouse, "$branch_b")
    (warehouse / ORDERS.root("b").snapshot(3)).unlink()


def long_past(warehouse: Path, context: Context) -> None:
    done(context, "create-savepoint", snapshot=3)
    done(context, "create-branch", name="b", tag="v2")
    replace_rows(warehouse)


def events(warehouse: Path, context: Context) -> None:
    rows = pa.table({"day": ["2026-05-01"], "kind": ["new"]}, schema=EVENTS_SCHEMA)
    commit(warehouse, "shop.events", rows, overwrite=True)


def every_kind_of_file(warehouse: Path, context: Context) -> History:
    """Manifests that merged, index files, statistics, changelogs and side files; tag `kept` at snapshot 4."""
    history = History(warehouse, Random(8))
    for number in range(1, 10):
        history.commit()
        if number == 4:
            history.tag("kept", number)
    snapshots = planned(context, "expire-snapshots", TABLE, retain_last=1)
    assert [step.target.split(" ", 1)[1] for step in snapshots.steps[2:5]] == KINDS
    return history


def every_kind_in_a_tag(warehouse: Path, context: Context) -> None:
    every_kind_of_file(warehouse, context).drop_snapshots(9)
    tag = planned(context, "delete-tag", TABLE, name="kept")
    assert [step.target.split(" ", 1)[1] for step in tag.steps[2:]] == KINDS


CASES = (
    Case("savepoint of an expired snapshot", "delete-savepoint", expired_savepoint, {"id": 1}),
    Case("savepoint of a snapshot", "delete-savepoint", savepoint_of_a_snapshot, {"id": 1}),
    Case("savepoint of three roots", "delete-savepoint", savepoint_of_three_roots, {"id": 1}),
    Case("savepoint without its tag", "delete-savepoint", savepoint_without_tag, {"id": 1}),
    Case("tag of an expired snapshot", "delete-tag", expired_tag, {"name": "v2"}),
    Case("several tags", "delete-tag", tags_that_share_files, {"name": ["v4", "same"]}, parts=2),
    Case("tag on a branch", "delete-tag", tag_on_a_branch, {"name": "mine", "branch": "b"}),
    Case("snapshots", "expire-snapshots", long_past, {"retain_last": 1}),
    Case(
        "snapshots with every kind of file", "expire-snapshots", every_kind_of_file, {"retain_last": 1}, TABLE
    ),
    Case("tag with every kind of file", "delete-tag", every_kind_in_a_tag, {"name": "kept"}, TABLE),
    Case("snapshots in partitions", "expire-snapshots", events, {"retain_last": 1}, EVENTS),
)


# What the others delete is among what these delete.
SHORT = (
    "savepoint of an expired snapshot",
    "savepoint of three roots",
    "several tags",
    "tag on a branch",
    "snapshots with every kind of file",
)
# Another case of each writes the like.
LONG = (
    "savepoint of a snapshot",
    "savepoint without its tag",
    "tag of an expired snapshot",
    "tag with every kind of file",
    "snapshots",
    "snapshots in partitions",
)


@pytest.fixture
def scene(request: pytest.FixtureRequest, warehouse: Path) -> LaneData:
    return LaneData(request.param, warehouse)


@pytest.mark.parametrize(
    "scene",
    long_but(CASES, *{case.name for case in CASES} - {*LONG}, name=lambda case: case.name),
    indirect=True,
    ids=lambda case: case.name,
)
def test_every_write_can_be_the_last(scene: LaneData, is_long: bool) -> None:
    """Without `--long` some of them, and fewer where another case writes the like."""
    for when in scene.killed(1 if is_long else 20 if scene.name in SHORT else 0):
        scene.assert_what_stays_is_whole(when)
        scene.recover()
        scene.assert_whole(when)
        scene.assert_what_stays_is_whole(f"{when}, recovered")


@pytest.mark.parametrize(
    "scene",
    long_but(CASES, *SHORT, name=lambda case: case.name),
    indirect=True,
    ids=lambda case: case.name,
)
def test_a_recovery_can_be_killed_too(scene: LaneData, is_long: bool) -> None:
    """After some of the kills, at some writes of the recovery: all of them would take minutes."""
    count = len(scene.film.writes)
    recoveries, step = 0, 4 + count // 10
    for write in range(1, count + 1, step if is_long else 5 * step):
        for when in scene.killed_recovering(write, lambda writes: range(1, len(writes) + 1, 1 + count // 20)):
            recoveries += 1
            scene.assert_what_stays_is_whole(when)
            scene.recover()
            scene.assert_whole(when)
    assert recoveries > 1


class LaneData(KilledChange):
    """One case on its own warehouse, each time from the same start."""

    def __init__(self, case: Case, warehouse: Path) -> None:
        super().__init__(warehouse, case.table)
        self._case = case
        self.name = case.name
        case.prepare(warehouse, self._context())
        self._freed = planned(self._context(), case.action, case.table, **case.arguments).freed_files
        self._film()
        before, after = self.right_states
        assert after.keys() - before.keys() <= {"snapshot/EARLIEST"}
        assert len(before.keys() - after.keys()) > self._freed > 0
        self.add_parts(case.action, case.arguments, case.parts)

    def assert_what_stays_is_whole(self, when: str) -> None:
        """Every tag, savepoint and branch, and every snapshot from EARLIEST on, has all its files."""
        files = LocalFiles(str(self._warehouse))
        for root in all_roots(files, self._table):
            lineage = Lineage(files, root)
            hint = self._warehouse / root.earliest_hint
            earliest = int(hint.read_text()) if hint.exists() else 0
            kept = [each for each in lineage.snapshots() if each.id >= earliest]
            assert kept, when
            for record in [*kept, *(tag for _, tag in lineage.tags())]:
                assert missing_files(files, each_needed_file(files, root, record)) == [], when
        for savepoint in SavepointManager(files, self._table).all():
            assert files.exists(self._table.savepoint_file(savepoint.full_manifest_list)), when

    def state(self) -> dict[str, bytes]:
        return {path: data for path, data in contents(self._directory).items() if not _ANYBODYS.search(path)}

    def _run(self, files: Files) -> None:
        outcome = done(self._context(files), self._case.action, self._table, **self._case.arguments)
        assert outcome.result["freed_files"] == self._freed

    def _context(self, files: Files | None = None) -> Context:
        return context_on(self._warehouse, files)
