"""Giving a branch root another name: copied whole, then removed where it was.

A job may go on committing to the old name meanwhile. So nothing is removed there that the new root does not
hold, and what came late is copied first.
"""

from __future__ import annotations

from abc import abstractmethod

from core.actions.change.change import Change
from core.actions.change.journal import Hold, JournaledChange
from core.actions.change.operations import Undoable
from core.actions.merge import history as merge_history
from core.actions.plan import Step
from core.actions.replace.takeover import moved
from core.actions.roots.barrier import put_before_removal
from core.actions.roots.pause import wait_for_cleanings
from core.actions.roots.root_files import (
    PARTS,
    SNAPSHOTS,
    Swap,
    copy_files,
    part_of,
    remove_copied,
    remove_root,
    root_files,
    take_back_copy,
)
from core.actions.roots.root_state import state
from core.errors import Refused
from core.storage.files import Files
from core.table.layout import BARRIER, SNAPSHOT_PREFIX, Root
from core.table.reading import numbered

# A job that commits faster than this many copies is told of, and stopped by nobody.
_ROUNDS = 20


class RootMove(Change[Undoable]):
    """A root gets another name. The journal's note that the copy is whole is the point of no return."""

    State = Undoable

    @property
    @abstractmethod
    def source(self) -> Root:
        """The root under the name that it had."""

    @property
    @abstractmethod
    def target(self) -> Root:
        """The root under the name that it gets."""

    @abstractmethod
    def swap(self) -> Swap | None:
        """The newest schema, which is another at the new name: retention on or off."""

    def prepare(self, hold: Hold) -> None:
        files, before = self.work.files, state(self.work.files, self.source)
        names = list(root_files(files, self.source))
        changed = {} if (swap := self.swap()) is None else {swap.name: swap.target}
        for part in PARTS:
            copy_files(files, self.source, self.target, part_of(names, part), changed)
        now = state(files, self.source)
        if now.fingerprint != before.fingerprint or list(root_files(files, self.source)) != names:
            raise moved(self.work.table, before.description, now.description)

    def finish(self, hold: Hold) -> None:
        merge_history.rename(self.work.files, self.source, self.target)
        self._wait()
        move_rest(self.work.files, self.source, self.target, self.swap())
        self.work.progress(f"{self.source.label} is {self.target.label} now")

    def _wait(self) -> None:
        """Until nobody reads the snapshots under the old name any more who knows of no other."""
        files, source = self.work.files, self.source
        if ids := numbered(files.names(source.snapshots), SNAPSHOT_PREFIX):
            put_before_removal(files, source, self.target.label)
            wait_for_cleanings(self.work.context, len(ids), self.work.progress)

    def take_back(self, hold: Hold) -> None:
        take_back_copy(self.work.files, self.target, self.source, self.work.progress)

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        gone = self.source if interrupted.is_committed else self.target
        return [Step("delete", f"branch {gone.label}", "the other one stays")]


def move_rest(files: Files, source: Root, target: Root, swap: Swap | None) -> None:
    """Copy what came late to a root that is being moved, and remove what its copy holds, until all went.

    Raises `Refused` when a job goes on writing there, or wrote another snapshot of an id: the rest stays.
    """
    for _ in range(_ROUNDS):
        names = [name for name in root_files(files, source) if name != f"{SNAPSHOTS}/{BARRIER}"]
        if not names:
            remove_root(files, source)
            return
        known = root_files(files, target)
        late = [name for name in names if name not in known]
        copy_files(files, source, target, late)
        different = remove_copied(files, source, target, names, swap)
        # A tag, a hint or a consumer may be written anew; a snapshot and a schema never are.
        copy_files(files, source, target, different, replacing=True)
    raise Refused(
        f"Somebody goes on writing to {source.label} of {source.table.full_name}, now {target.label}",
        "Stop that job.",
    )
