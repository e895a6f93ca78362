"""Kills at any write of a rename, with other actors before the recovery: a tag keeps the rows."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.roots import guard_tags
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.records import Tag
from tests.actions.acting import ORDERS, contents, done
from tests.faults.killed_change import KilledChange
from tests.simulation.actors import ours
from tests.simulation.actors.deterministic import deterministic
from tests.simulation.actors.scheduler import Actor
from tests.simulation.schedules.bench import Bench
from tests.simulation.stock.expiry import StockMaintenance
from tests.simulation.world import TABLE as SIMULATED
from tests.simulation.world import Violation

OLD, NEW = "v2", "new"
_SLOW_SECONDS = 4.0
# Temporary files that no journal names: a recovery can't tell them from those of a living writer.
_ANYBODYS = re.compile(r"(^|/)\.(ACTION|tag-new)\.[0-9a-f-]{36}$")
Deed = Callable[["LaneData"], object]


def nothing(context: Context) -> None:
    return


def branch_is_main(context: Context) -> None:
    done(context, "create-branch", name="b", tag=OLD)
    done(context, "replace-main-branch", name="b")


PREPARED = {"main": nothing, "a branch that is main": branch_is_main}


@pytest.fixture(params=PREPARED)
def scene(request: pytest.FixtureRequest, warehouse_template: Path, tmp_path: Path) -> LaneData:
    return LaneData(PREPARED[request.param], warehouse_template, tmp_path)


def test_every_write_can_be_the_last(scene: LaneData, is_long: bool) -> None:
    for when in scene.killed(1 if is_long else 6):
        scene.assert_kept(when)
        scene.recover()
        scene.assert_whole(when)


def test_a_recovery_can_be_killed_too(scene: LaneData, is_long: bool) -> None:
    step = 2 if is_long else 5
    for write in range(1, len(scene.film.writes) + 1, step):
        for when in scene.killed_recovering(write, lambda writes: range(1, len(writes) + 1, step)):
            scene.assert_kept(when)
            scene.recover()
            scene.assert_whole(when)


def deletes_old(scene: LaneData) -> None:
    scene.put(OLD, None)


def deletes_new(scene: LaneData) -> None:
    scene.put(NEW, None)


def makes_old_anew(scene: LaneData) -> None:
    """Reuse the old name for another snapshot, as a stock engine may."""
    scene.put(OLD, scene.other)


def gives_new_a_time_to_live(scene: LaneData) -> None:
    tag = scene.there(NEW)
    if tag is not None:
        lives = b', "tagCreateTime": [2099, 1, 1, 0, 0], "tagTimeRetained": 60.0}'
        scene.put(NEW, tag.rstrip(b"}\n ") + lives)


def takes_new_for_another(scene: LaneData) -> None:
    scene.put(NEW, scene.other)


DEEDS = (deletes_old, deletes_new, makes_old_anew, gives_new_a_time_to_live, takes_new_for_another)


@pytest.mark.parametrize("deed", DEEDS)
def test_another_engine_acts_before_somebody_recovers(scene: LaneData, deed: Deed, is_long: bool) -> None:
    """Its tags stay; and if it left one of the two tags, a tag still keeps the rows afterwards."""
    for write, call in [*enumerate(scene.film.writes, start=1)][:: 1 if is_long else 2]:
        scene.killed_after(write)
        deed(scene)
        theirs = [name for name in (OLD, NEW) if scene.there(name) == scene.other]
        was_kept = scene.is_kept()
        scene.recover()
        assert all(scene.there(name) == scene.other for name in theirs), call
        assert scene.is_kept() == was_kept, call
        if deed is deletes_new and was_kept:
            assert scene.there(OLD) == scene.data, call
        scene.assert_guarded(call)
        scene.assert_settled(call)


def test_a_tag_of_the_old_name_that_came_later_stays(scene: LaneData) -> None:
    """This holds even for a tag of the same snapshot, which has the same bytes."""
    gone = scene.film.writes.index(f"delete {scene.root.tag(OLD)}") + 1
    for write in range(gone + 1, len(scene.film.writes)):
        scene.killed_after(write)
        scene.put(OLD, scene.data)
        scene.recover()
        assert scene.there(OLD) == scene.there(NEW) == scene.data, scene.film.point(write)
        scene.assert_guarded(str(scene.film.point(write)))


@pytest.mark.parametrize("waits", [True, False])
def test_an_expiry_that_listed_the_tags_before_and_reads_them_late(
    waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow stock expiry spares the rows; it would not if the old tag were deleted without a wait."""
    if not waits:
        monkeypatch.setattr(ours, "_VERIFY_WAIT_SECONDS", 0.0)
    bench = Bench(Random("table"), "local")
    with deterministic(bench.scheduler, Random("names")):
        bench.create_table({})
        bench.write()
        bench.act("create-tag", name=OLD)
        bench.write(None, "overwrite")
        bench.write()
        renamer, expiry = bench.ours("ours"), SlowExpiry(bench.world, Actor("expiry"), SIMULATED.root())

        def rename() -> None:
            bench.scheduler.sleep(0.5)
            renamer.do("rename-tag", name=OLD, to=NEW)

        def expire() -> None:
            expiry.expire(1, 1, bench.scheduler.now_ms())

        bench.scheduler.run({renamer.actor: rename, expiry.actor: expire})
        assert SIMULATED.root().snapshot(1) not in bench.world.store.files
        assert SIMULATED.root().tag(OLD) not in bench.world.store.files
        if waits:
            bench.rest()
            return
        with pytest.raises(Violation, match=f"tag {NEW} of main can't be read"):
            bench.rest()


class SlowExpiry(StockMaintenance):
    """A stock expiry that takes seconds between the listing of the tags and their reads."""

    def _read_tags(self, directory: str) -> list[dict[str, Any]]:
        listed = self.files.names(directory)
        self.world.scheduler.sleep(_SLOW_SECONDS)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.files, "names", lambda _: listed)
            return super()._read_tags(directory)


class LaneData(KilledChange):
    """Rename tag v2 to `new`. `other` is the file of another snapshot's tag."""

    def __init__(self, prepare: Callable[[Context], None], template: Path, tmp_path: Path) -> None:
        super().__init__(tmp_path / "warehouse")
        shutil.copytree(template, self._warehouse)
        prepare(self._context())
        self.root: Root = main_root(self._files(), ORDERS)
        self.data, self.other = self._path(OLD).read_bytes(), self._other()
        self._film()
        assert self.right_states[0] != self.right_states[1] and self.there(NEW) == self.data

    def state(self) -> dict[str, bytes]:
        return {path: data for path, data in contents(self._directory).items() if not _ANYBODYS.search(path)}

    def there(self, name: str) -> bytes | None:
        path = self._path(name)
        return path.read_bytes() if path.exists() else None

    def put(self, name: str, data: bytes | None) -> None:
        if data is None:
            self._path(name).unlink(missing_ok=True)
        else:
            self._path(name).write_bytes(data)

    def is_kept(self) -> bool:
        tags = [each for each in map(self.there, (OLD, NEW)) if each is not None]
        return any(Tag.from_json(each, "tag").id == 2 for each in tags)

    def assert_kept(self, when: str) -> None:
        lineage = Lineage(LocalFiles(str(self._warehouse)), self.root)
        assert any(name in (OLD, NEW) and tag.id == 2 for name, tag in lineage.tags()), when
        if self.root.branch is not None:
            guards = [self._warehouse / ORDERS.root().tag(name) for name in (OLD, NEW)]
            assert any(path.exists() and path.read_bytes() == self.data for path in guards), when

    def assert_guarded(self, when: str) -> None:
        """Each existing tag has its guard, after the repair that the next action does."""
        if self.root.branch is None:
            return
        guard_tags.repair(LocalFiles(str(self._warehouse)), ORDERS)
        for name in (OLD, NEW):
            if (tag := self.there(name)) is not None:
                guard = self._warehouse / ORDERS.root().tag(name)
                assert Tag.from_json(guard.read_bytes(), "guard").id == Tag.from_json(tag, "tag").id, when

    def _path(self, name: str) -> Path:
        return self._warehouse / self.root.tag(name)

    def _other(self) -> bytes:
        snapshots = sorted((self._warehouse / self.root.snapshots).glob("snapshot-*"))
        other = snapshots[-1].read_bytes()
        if Tag.from_json(other, "snapshot").id == 2:
            other = other.replace(b'"id": 2', b'"id": 3').replace(b'"id" : 2', b'"id" : 3')
        return other

    def _run(self, files: Files) -> None:
        done(self._context(files), "rename-tag", name=OLD, to=NEW)
