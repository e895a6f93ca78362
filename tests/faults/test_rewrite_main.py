"""Kills at any write of a merge, a rollback or an overwrite: main is as before or as after."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest
from msgspec import Raw

from paimark.core.actions.context import Context
from paimark.core.actions.merge.conflict_file import encoded
from paimark.core.actions.merge.conflict_lines import EndLine, KeyLine, header_of
from paimark.core.actions.merge.divergence import find_divergence
from paimark.core.actions.merge.history import events
from paimark.core.actions.registry import action
from paimark.core.actions.temp_files import meant_for
from paimark.core.errors import Refused, Unavailable
from paimark.core.spark.client.client import Engine
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import applied, contents, context_on, done, planned, undoable
from tests.conftest import ORDERS
from tests.faults.fault_files import Death, Film, WatchedWrites, some_points
from tests.faults.trees import TreeOnDisk
from tests.long import long_but
from tests.paimon import commit, read_rows
from tests.spark.client.test_engine import session_processes
from tests.spark.engine_fixture import in_order
from tests.wording import about

Rows = list[dict[str, Any]]
# Main's newest snapshot, all rows, the number of recorded merges and rollbacks, and the undoable operations.
Main = tuple[int | None, Rows, int, list[str]]


@dataclass
class LaneData:
    """An action on `orders` in its own database, each time from the same start."""

    warehouse: Path
    table: TablePath
    action: str
    arguments: Mapping[str, object]
    engine: Callable[[], Engine] | None = None

    def context(self, files: Files | None = None) -> Context:
        return replace(context_on(self.warehouse, files), engine=self.engine)

    @property
    def directory(self) -> Path:
        return self.warehouse / self.table.directory

    def run(self, files: Files | None = None) -> None:
        context = self.context(files)
        plan = action(self.action).plan(context, self.table, self.arguments)
        assert plan.refusals == ()
        applied(context, plan)

    def recover(self) -> None:
        done(self.context(), "recover", table=self.table)

    def empty_film(self) -> Film:
        return Film(LocalFiles(str(self.warehouse)), TreeOnDisk(self.directory))

    def filmed(self) -> Film:
        film = self.empty_film()
        self.run(film)
        return film

    def run_until(self, path: str) -> None:
        """Kill it at its first write once this file of the table exists."""
        there = self.directory / path

        class Dies(WatchedWrites):
            @contextmanager
            def _write(self, call: str, path: str = "", data: bytes | None = None) -> Iterator[None]:
                if there.exists():
                    raise Death(call)
                yield

        with pytest.raises(Death):
            self.run(Dies(LocalFiles(str(self.warehouse))))

    def main(self) -> Main:
        files = LocalFiles(str(self.warehouse))
        rows = in_order(read_rows(self.warehouse, self.table.full_name))
        known = [each.description for each in undoable(self.context(), self.table)]
        head = Lineage(files, self.table.root()).latest_id()
        return head, rows, len(events(files, self.table)), known

    def assert_whole(self, right: list[Main], when: str) -> None:
        """Main and its records are as before or as after, and nothing is left half done."""
        files = LocalFiles(str(self.warehouse))
        assert self.main() in right, when
        left = set(contents(self.directory / "branch"))
        assert not [path for path in left if path.startswith(("ACTION", "STEP"))], when
        assert not [path for path in left if meant_for(path) == "merges"], when
        manager = SavepointManager(files, self.table)
        assert [each.id for each in manager.all()] == [each.id for each in manager.of_root(self.table.root())]
        lineage = Lineage(files, self.table.root())
        known = {*lineage.snapshot_ids()}
        assert all(tag.id in known for name, tag in lineage.tags() if name.startswith("paimark.")), when
        assert planned(self.context(), "recover", table=self.table).empty, when


def scene_of(
    warehouse: Path, database: str, name: str, arguments: Mapping[str, object], *, both: bool
) -> LaneData:
    """The branch `fix` has two commits since the fork; with `both`, main has one too."""
    table = TablePath(database, "orders")
    shutil.copytree(warehouse / "shop.db" / "orders", warehouse / table.directory)
    context = context_on(warehouse)
    done(context, "create-tag", table=table, name="fork")
    done(context, "create-branch", table=table, name="fix", tag="fork")
    sides = [("$branch_fix", 50), ("$branch_fix", 51), *([("", 60)] if both else [])]
    for where, key in sides:
        row = {"order_id": [key], "customer": ["x"], "price": [1.0]}
        commit(warehouse, f"{table.full_name}{where}", pa.table(row, schema=ORDERS))
    return LaneData(warehouse, table, name, arguments)


@pytest.mark.long
def test_every_write_of_a_fast_forward_can_be_the_last(warehouse: Path, is_long: bool) -> None:
    scene = scene_of(warehouse, "forward", "merge-branch", {"name": "fix"}, both=False)
    before = scene.main()
    film = scene.filmed()
    right = [before, scene.main()]
    assert right[1][0] == 7
    for point in film.points() if is_long else some_points(film, 10):
        film.put_back(point)
        # Before the recovery, main is already at a state that it or the branch had.
        assert 5 <= (scene.main()[0] or 0) <= 7
        scene.recover()
        scene.assert_whole(right, str(point))


Change = tuple[str, dict[str, object]]
MERGE: Change = ("merge-branch", {"name": "fix", "on_conflict": "branch"})
# Key 51 is in conflict, and a resolution file chooses its row.
CHOSEN: Change = ("merge-branch", {"name": "fix", "resolve": "conflicts.jsonl"})
# Changes done before, and last the one that is killed.
REWRITINGS: tuple[tuple[Change, ...], ...] = (
    (("rollback", {"to": "v2"}),),
    (CHOSEN,),
    (("replace-main-branch", {"name": "fix", "layout": "overwrite"}),),
    (MERGE, ("undo", {})),
)
# More of their kills are tried in every run than of the others', which write the like.
SHORT = ("merge-branch",)


def chosen_file(scene: LaneData) -> Path:
    """Let main change key 51 too, and write a resolution that chooses the branch's row."""
    row = {"order_id": [51], "customer": ["main"], "price": [3.0]}
    commit(scene.warehouse, scene.table.full_name, pa.table(row, schema=ORDERS))
    divergence = find_divergence(LocalFiles(str(scene.warehouse)), scene.table, "fix")
    line = KeyLine(key={"order_id": Raw(b"51")}, choose="branch")
    path = scene.warehouse.parent / f"{scene.table.database}.jsonl"
    at = (divergence.base, divergence.start.head.snapshot, divergence.branch.snapshot)
    header = header_of(divergence.target, "merge-branch", "fix", *at)
    path.write_bytes(encoded(header) + encoded(line) + encoded(EndLine(1)))
    return path


def rewriting(engine: Engine, warehouse: Path, prefix: str, changes: tuple[Change, ...]) -> LaneData:
    *before_it, (name, arguments) = changes
    scene = scene_of(warehouse, f"{prefix}_{name.replace('-', '_')}", name, arguments, both=True)
    scene.engine = lambda: engine
    if "resolve" in arguments:
        scene.arguments = {**arguments, "resolve": str(chosen_file(scene))}
    for each, given in before_it:
        done(scene.context(), each, table=scene.table, **given)
    return scene


@pytest.mark.parametrize(
    "changes",
    long_but(REWRITINGS, *SHORT, name=lambda changes: changes[-1][0]),
    ids=lambda changes: changes[-1][0],
)
def test_every_write_around_a_rewriting_can_be_the_last(
    engine: Engine, engine_warehouse: Path, is_long: bool, changes: tuple[Change, ...]
) -> None:
    scene = rewriting(engine, engine_warehouse, "killed", changes)
    film, asked = scene.empty_film(), list[int]()

    def counted() -> Engine:
        asked.append(len(film.writes))
        return engine

    before = scene.main()
    scene.engine = counted
    scene.run(film)
    scene.engine = lambda: engine
    if "resolve" in scene.arguments:
        # A recovery never needs the resolution file.
        Path(str(scene.arguments["resolve"])).unlink()
    right = [before, scene.main()]
    assert right[1][0] == (before[0] or 0) + 1
    assert 0 < asked[-1] < len(film.writes) - 1
    # A kill before a write is a kill after the previous one, unless the engine writes in between.
    points = [*film.points()] if is_long else some_points(film, 12 if scene.action in SHORT else 0)
    for point in (film.point(asked[-1] + 1, "before"), *points):
        film.put_back(point)
        scene.recover()
        scene.assert_whole(right, str(point))


# The others leave the same journal behind.
@pytest.mark.parametrize(
    "changes",
    long_but(REWRITINGS, "merge-branch", name=lambda changes: changes[-1][0]),
    ids=lambda changes: changes[-1][0],
)
def test_a_person_can_say_that_a_commit_landed_that_has_expired(
    engine: Engine, engine_warehouse: Path, changes: tuple[Change, ...]
) -> None:
    """Kill it after the commit; remove its consumer by hand, commit to main, and expire the commit."""
    scene = rewriting(engine, engine_warehouse, "assumed", changes)
    name, arguments = changes[-1]
    known = len(events(LocalFiles(str(scene.warehouse)), scene.table))
    head, _, _, undone = scene.main()
    head = head or 0
    made = f"snapshot/snapshot-{head + 1}"
    scene.run_until(made)
    shutil.rmtree(scene.directory / "consumer")
    for key in (70, 71):
        row = {"order_id": [key], "customer": ["y"], "price": [2.0]}
        commit(scene.warehouse, scene.table.full_name, pa.table(row, schema=ORDERS))
    (scene.directory / made).unlink()
    rows = scene.main()[1]
    with pytest.raises(Refused, match=about("known", "committed", scene.table.full_name)):
        scene.recover()
    done(scene.context(), "recover", table=scene.table, assume="committed")
    assert scene.main()[0:2] == (head + 3, rows)
    assert not [
        each for each in os.listdir(scene.directory / "branch") if each.startswith(("ACTION", "STEP"))
    ]
    assert len(events(LocalFiles(str(scene.warehouse)), scene.table)) == known + 1
    assert planned(scene.context(), "recover", table=scene.table).empty
    assert len(scene.main()[3]) <= len(undone)
    if name == "merge-branch":
        # Main's changes since then are unknown, so the merge is refused: it could overwrite some.
        with pytest.raises(Refused, match=about("last merge", "gone")):
            planned(scene.context(), name, table=scene.table, **arguments)


@pytest.mark.long
@pytest.mark.parametrize("sign", long_but(("bucket-0", "manifest", "snapshot"), "snapshot"))
def test_an_engine_killed_on_its_way_to_the_commit_made_it_or_not(
    mortal: Engine, engine_warehouse: Path, sign: str
) -> None:
    """Kill the engine as soon as its first data file, manifest or snapshot appears."""
    name, arguments = "replace-main-branch", {"name": "fix", "layout": "overwrite"}
    scene = scene_of(engine_warehouse, f"shot_{sign}", name, arguments, both=True)
    before = scene.main()
    of_branch = in_order(read_rows(scene.warehouse, f"{scene.table.full_name}$branch_fix"))
    written_to = scene.directory / sign
    known, shots = set(os.listdir(written_to)), list[int]()

    def shoot(session: int) -> None:
        while set(os.listdir(written_to)) == known:
            time.sleep(0)
        # Kill Java first, so that it starts no more workers; its parent last, whose end is the engine's.
        processes = sorted(
            session_processes(session), key=lambda each: (each[0] == session, "java" not in each[1])
        )
        for pid, _ in processes:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                shots.append(pid)

    def targeted() -> Engine:
        mortal.start()
        mortal.wait_ready()
        assert mortal._process is not None
        if not gunner:
            gunner.append(Thread(target=shoot, args=(mortal._process.pid,), daemon=True))
            gunner[0].start()
        return mortal

    gunner: list[Thread] = []
    scene.engine = targeted
    try:
        scene.run()
    except Unavailable as error:
        assert "died" in error.message
        assert scene.main() == before
    gunner[0].join()
    assert len(shots) >= 2
    # Wait for its end, so that the next test does not use this engine.
    dying = mortal._process
    assert dying is not None and dying.wait(lambda: dying.ended, 60)
    after = ((before[0] or 0) + 1, of_branch, 1, [f"{name} of fix"])
    scene.assert_whole([before, after], f"shot when {sign} showed")
