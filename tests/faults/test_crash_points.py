"""Kills at any write: the table is readable at once, and `recover` gives the state before or after."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import fastavro
import msgspec
import pytest

from paimark.core.actions.change import operations
from paimark.core.actions.context import Context
from paimark.core.actions.registry import action
from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, main_root, root_exists
from paimark.core.table.manifests.files import each_needed_file, missing_files
from paimark.core.table.operations import read_operations
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import ORDERS, Meanwhile, applied, contents, done, replace_rows
from tests.faults.fault_files import some_of
from tests.faults.killed_change import KilledChange

# Temporary files that no journal names: a recovery can't tell them from those of a living writer.
_ANYBODYS = re.compile(r"(^|/)\.(LATEST|EARLIEST|ACTION|CLAIM-\d+|RECOVER-[^/]+|tag-new)\.[0-9a-f-]{36}$")
_LIST_NAME = re.compile(r"manifest-list-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Case:
    """An action on a table prepared for it.

    `lost_after`: an expiry deletes a manifest list right after a file with this end of its path is created,
    so the action is refused, and only the state before is right. `parts`: those of a change of many.
    """

    name: str
    action: str
    arguments: dict[str, object] = field(default_factory=dict)
    prepare: tuple[str, ...] = ()
    lost_after: str = ""
    parts: int = 1


def _expire_2(orders: Path, context: Context) -> None:
    (orders / "snapshot/snapshot-2").unlink()


def _second_schema(orders: Path, context: Context) -> None:
    schema = msgspec.json.decode((orders / "schema/schema-0").read_bytes())
    (orders / "schema/schema-1").write_bytes(msgspec.json.encode({**schema, "id": 1}))
    tag = msgspec.json.decode((orders / "tag/tag-v2").read_bytes())
    (orders / "tag/tag-v2").write_bytes(msgspec.json.encode({**tag, "schemaId": 1}))


def _branch(orders: Path, context: Context) -> None:
    done(context, "create-branch", name="b", tag="v2")


def _savepoint(orders: Path, context: Context) -> None:
    done(context, "create-savepoint", snapshot=4)


def _interval(orders: Path, context: Context) -> None:
    schema = msgspec.json.decode((orders / "schema/schema-0").read_bytes())
    schema["options"]["savepoint.create-interval"] = "1 h"
    (orders / "schema/schema-0").write_bytes(msgspec.json.encode(schema))


PREPARE: dict[str, Callable[[Path, Context], None]] = {
    "expire 2": _expire_2,
    "second schema": _second_schema,
    "branch": _branch,
    "savepoint": _savepoint,
    "interval": _interval,
}

CASES = (
    Case("savepoint of the newest", "create-savepoint"),
    Case("second savepoint", "create-savepoint", {"comment": "kept"}, ("savepoint",)),
    Case("savepoint of an older one", "create-savepoint", {"snapshot": 3}),
    Case("several savepoints", "create-savepoint", {"snapshot": [3, 4]}, parts=2),
    Case("savepoint on a branch", "create-savepoint", {"branch": "b"}, ("branch",)),
    Case("savepoint that is lost", "create-savepoint", {"snapshot": 3}, lost_after="tag-savepoint.1"),
    Case("savepoint that is due", "auto-savepoint", prepare=("interval",)),
    Case("tag of the newest", "create-tag", {"name": "new"}),
    Case("tag with a time to live", "create-tag", {"name": "new", "snapshot": 3, "retain": "7 d"}),
    Case("branch from a tag", "create-branch", {"name": "new", "tag": "v2"}),
    Case("branch from an expired snapshot", "create-branch", {"name": "new", "tag": "v2"}, ("expire 2",)),
    Case("branch from the newest snapshot", "create-branch", {"name": "new", "snapshot": 5}),
    Case("branch from an older snapshot", "create-branch", {"name": "new", "snapshot": 3}),
    Case("branch with two schemas", "create-branch", {"name": "new", "tag": "v2"}, ("second schema",)),
    Case("branch from a savepoint", "create-branch", {"name": "new", "tag": "savepoint.1"}, ("savepoint",)),
)


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def scene(request: pytest.FixtureRequest, warehouse_template: Path, tmp_path: Path) -> LaneData:
    return LaneData(request.param, warehouse_template, tmp_path)


def test_every_write_can_be_the_last(scene: LaneData, is_long: bool) -> None:
    for when in scene.killed(1 if is_long else 24):
        scene.assert_reads_rightly(when)
        scene.recover()
        scene.assert_whole(when)
        scene.assert_logged(when)


def test_time_may_pass_before_several_are_recovered(warehouse_template: Path, tmp_path: Path) -> None:
    """A commit and an expiry come before the recovery; then one undo takes back all parts that were done."""
    scene = LaneData(next(case for case in CASES if case.parts > 1), warehouse_template, tmp_path)
    for write in range(2, len(scene.film.writes), 5):
        scene.killed_after(write)
        scene.let_time_pass()
        scene.recover()
        scene.assert_all_is_there(f"killed after write {write}")
        scene.take_back()
        scene.assert_all_is_there(f"killed after write {write}, taken back")
        assert scene.savepoints("manual") == []


def test_a_recovery_can_be_killed_too(scene: LaneData, is_long: bool) -> None:
    recoveries, known = 0, set[str]()
    for write in range(1, len(scene.film.writes) + 1, 1 if is_long else 14):
        for when in scene.killed_recovering(write, partial(some_of, turn=write, known=known)):
            recoveries += 1
            scene.assert_reads_rightly(when)
            scene.recover()
            scene.assert_whole(when)
    assert recoveries > 0 or scene.case.action == "create-tag"


class LaneData(KilledChange):
    """One case on a copy of the template, each time from the same start."""

    def __init__(self, case: Case, template: Path, tmp_path: Path) -> None:
        super().__init__(tmp_path / "warehouse")
        self.case = case
        shutil.copytree(template, self._warehouse)
        for name in case.prepare:
            PREPARE[name](self._directory, self._context())
        snapshot = Lineage(self._context().files, ORDERS.root()).snapshot(3)
        self._lost = [f"manifest/{snapshot.delta_manifest_list}"] if case.lost_after else []
        self._before = contents(self._directory)
        self._film()
        before, after = self.right_states
        assert after.keys() < before.keys() if case.lost_after else after.keys() > before.keys()
        self.add_parts(case.action, case.arguments, case.parts)

    def assert_reads_rightly(self, when: str) -> None:
        now = contents(self._directory)
        changed = {path for path, data in self._before.items() if now.get(path) != data}
        assert changed <= {"savepoint/LATEST", *self._lost}, when
        files = LocalFiles(str(self._warehouse))
        manager = SavepointManager(files, ORDERS)
        roots = all_roots(files, ORDERS)
        tagged = {each.id for root in roots for each in manager.of_root(root)}
        assert tagged == {each.id for each in manager.all()}, f"a savepoint without its tag: {when}"
        for each in manager.all():
            assert files.exists(ORDERS.savepoint_file(each.full_manifest_list)), when
        assert not manager.unreadable
        for root in roots:
            lineage = Lineage(files, root)
            # The creation of a branch writes its schemas last, and its reversal leaves an empty
            # directory at its end.
            is_being_made = root.branch == self.case.arguments.get("name") and files.exists(ORDERS.journal)
            if root_exists(files, root) and not is_being_made:
                assert lineage.latest_schema() or not (lineage.snapshot_ids() or lineage.tags()), when
            assert not lineage.unreadable
        newest = Lineage(files, main_root(files, ORDERS)).latest()
        assert newest is not None and newest.id == 5, when

    def savepoints(self, made_by: str) -> list[int]:
        manager = SavepointManager(self._context().files, ORDERS)
        return sorted(each.id for each in manager.all() if each.created_by == made_by)

    def assert_logged(self, when: str) -> None:
        """An undo can find every savepoint, whichever process finished it."""
        known = read_operations(self._context().files, ORDERS)
        made = [each.turned.made for each in known if each.action == "create-savepoint"]
        ids = [int(each.name) for each in made if each is not None]
        assert sorted(ids) == self.savepoints("manual"), when

    def let_time_pass(self) -> None:
        replace_rows(self._warehouse)
        done(self._context(), "expire-snapshots", retain_last=1)

    def assert_all_is_there(self, when: str) -> None:
        """Every snapshot, tag and savepoint has all its files."""
        lineage = Lineage(self._context().files, ORDERS.root())
        for record in [*lineage.snapshots(), *(tag for _, tag in lineage.tags())]:
            needed = each_needed_file(self._context().files, ORDERS.root(), record)
            assert missing_files(self._context().files, needed) == [], when

    def take_back(self) -> None:
        """One undo takes back all parts of a change of many that were done."""
        if operations.undoable(self._context(), ORDERS):
            done(self._context(), "undo")
            assert not operations.undoable(self._context(), ORDERS)

    def state(self) -> dict[str, object]:
        """The files of the table, without random names and contents."""
        files = contents(self._directory)
        owners = {
            name: f"list of {path}"
            for path, data in files.items()
            if path.startswith("savepoint/savepoint-")
            for name in _LIST_NAME.findall(data.decode())
        }
        return {
            owners.get(path.removeprefix("savepoint/"), path): _comparable(path, data)
            for path, data in files.items()
            if not _ANYBODYS.search(path)
        }

    def _run(self, files: Files) -> None:
        context = self._context(files)
        plan = action(self.case.action).plan(context, ORDERS, self.case.arguments)
        if not self.case.lost_after:
            applied(context, plan)
            return
        with pytest.raises(Refused):
            applied(context, plan)

    def _files(self) -> Files:
        files = LocalFiles(str(self._warehouse))
        if not self.case.lost_after:
            return files
        return Meanwhile(files, self.case.lost_after, self._lose)

    def _lose(self) -> None:
        for path in self._lost:
            (self._directory / path).unlink()


def _comparable(path: str, data: bytes) -> object:
    if path.startswith("savepoint/manifest-list-"):
        return list(fastavro.reader(io.BytesIO(data)))
    if path.startswith("savepoint/"):
        return _LIST_NAME.sub("manifest-list", data.decode())
    return data
