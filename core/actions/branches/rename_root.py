"""Rename a branch root, or retire it: copy it completely, then remove the old one.

A job may still commit to the old name. So a file there is removed only if the new root has it, and late files
are copied first.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Self, TypeVar

import msgspec

from paimark.core.actions.branches.delete_branch import as_planned, branch_refusals
from paimark.core.actions.branches.removal import mark, still_goes, unmarked
from paimark.core.actions.change.change import Change, Done, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.checks import moved
from paimark.core.actions.garbage.sweep import Removed
from paimark.core.actions.merge import history as merge_history
from paimark.core.actions.plan import Item, Step, raise_first
from paimark.core.actions.plan_wording import otherwise
from paimark.core.actions.replace.pointer import drop_expired
from paimark.core.actions.roots.root_files import (
    SCHEMAS,
    SNAPSHOTS,
    TAGS,
    Swap,
    copy_files,
    part_of,
    remove_copied,
    remove_root,
    root_files,
    same_files,
    snapshot_ids,
    take_back_copy,
)
from paimark.core.actions.roots.root_state import drop_lost_tags, is_lost, state
from paimark.core.actions.roots.waiting import wait_for_cleanings
from paimark.core.errors import Refused
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.definition.retention import with_retention
from paimark.core.table.layout import BARRIER, PARTS, SCHEMA_PREFIX, SNAPSHOT_PREFIX, TAG_PREFIX, Root
from paimark.core.table.lineage.edits import Edits, MovedRoot
from paimark.core.text import lowered

S = TypeVar("S", bound=msgspec.Struct)

# After this many rounds a job that commits faster than the copies is reported; nothing stops it.
_ROUNDS = 20
# The files that `put_before_removal` writes.
_MARK = (f"{SNAPSHOTS}/{BARRIER}", f"{SNAPSHOTS}/EARLIEST")


class RootMove(Change[S]):
    """A root gets another name. The journal entry that the copy is complete is the point of no return."""

    def __init__(self, work: Work, state: S) -> None:
        super().__init__(work, state)
        # Why nothing was moved after all.
        self.stays = ""

    @property
    @abstractmethod
    def names(self) -> tuple[str | None, str | None]:
        """The old name, and the new one."""

    @property
    def source(self) -> Root:
        """The root under its old name."""
        return self.work.table.root(self.names[0])

    @property
    def target(self) -> Root:
        """The root under its new name."""
        return self.work.table.root(self.names[1])

    @abstractmethod
    def swap(self) -> Swap | None:
        """The newest schema, if it differs under the new name: retention on or off."""

    def prepare(self, hold: Hold) -> None:
        files, before = self.work.files, state(self.work.files, self.source)
        names = list(root_files(files, self.source))
        changed = self._changed()
        for part in PARTS:
            copy_files(files, self.source, self.target, part_of(names, part), changed)
        now = state(files, self.source)
        if now.fingerprint != before.fingerprint:
            raise moved(self.work.table, before.description, now.description)
        mark(hold, self.source, self.target.label)

    def _changed(self) -> dict[str, bytes]:
        """The files that differ under the new name. A schema that was rewritten since is copied as it is."""
        swap = self.swap()
        if swap is None:
            return {}
        there = read_if_there(self.work.files, f"{self.source.directory}/{swap.name}")
        return {swap.name: swap.target} if there == swap.source else {}

    def finish(self, hold: Hold) -> None:
        files, source, target, progress = self.work.files, self.source, self.target, self.work.progress
        self.stays = self._why_it_stays(hold)
        if self.stays:
            if still_goes(hold, source):
                unmarked(hold, source)
            return
        merge_history.rename(files, source, target)
        # Wait for readers that listed the snapshots under the old name, and do not know the new one.
        wait_for_cleanings(self.work.context, source, progress)
        # An engine may have deleted tags under the old name since they were copied.
        copied = [
            name.removeprefix(f"{TAGS}/{TAG_PREFIX}") for name in part_of(root_files(files, target), TAGS)
        ]
        drop_lost_tags(files, source, target, copied)
        _drop_lost_snapshots(files, source, target)
        move_rest(files, source, target, self.swap())
        progress(f"{source.label} is {target.label} now")

    def _why_it_stays(self, hold: Hold) -> str:
        branch = f"Branch {self.source.label} of {self.work.plan.table}"
        if not still_goes(hold, self.source):
            return f"{branch} is another one, made since"
        return "" if self._is_copied() else f"{branch} stays: {self.target.label} is another one, made since"

    def prospect(self, hold: Hold) -> Item:
        stays = self._why_it_stays(hold)
        return otherwise(lowered(stays)) if stays else super().prospect(hold)

    def _is_copied(self) -> bool:
        """Whether the new name still has the copy: the remaining snapshots are the same there."""
        here, there = snapshot_ids(self.work.files, self.source), snapshot_ids(self.work.files, self.target)
        names = [f"{SNAPSHOTS}/{SNAPSHOT_PREFIX}{number}" for number in here if number in there]
        is_same = [*same_files(self.work.files, self.source, self.target, names)] == names
        return is_same and bool(names or not here or not there)

    def take_back(self, hold: Hold) -> None:
        unmarked(hold, self.source)
        take_back_copy(self.work.files, self.target, self.source, self.work.progress)

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        gone = self.source if interrupted.is_committed else self.target
        return [Step("delete", f"branch {gone.label}", "the other one stays")]


def _drop_lost_snapshots(files: Files, source: Root, target: Root) -> None:
    """Remove from the new root the snapshots that expired under the old name since they were copied.

    A snapshot that only this process has moved, before it was killed, is told by its files: they are there.
    """
    here = snapshot_ids(files, source)
    for number in reversed(snapshot_ids(files, target)):
        if not here or number >= here[0]:
            continue
        data = read_if_there(files, target.snapshot(number))
        if data is not None and is_lost(files, target, str(number), data):
            # Expiry goes upwards. An earlier one may be whole, for a tag keeps it; but ids must have no gaps.
            drop_expired(files, source, target, range(number + 1))
            return


def move_rest(files: Files, source: Root, target: Root, swap: Swap | None) -> None:
    """Copy late files of a root that is being moved, and remove copied ones, until none is left.

    Raises `Refused` if a job keeps writing there, or wrote another snapshot of an id: the rest stays.
    """
    for _ in range(_ROUNDS):
        names = [name for name in root_files(files, source) if name not in _MARK]
        known = root_files(files, target)
        late = [name for name in names if name not in known]
        copy_files(files, source, target, late)
        if not any(name.startswith((f"{SNAPSHOTS}/{SNAPSHOT_PREFIX}", f"{TAGS}/")) for name in names):
            # Schemas go last: all files that were written by them are at the new name.
            remove_root(files, source)
            return
        different = remove_copied(files, source, target, names, swap)
        # A tag, a hint or a consumer may be rewritten; a snapshot or a schema never is.
        copy_files(files, source, target, different, replacing=True)
    raise Refused(
        f"Somebody goes on writing to {source.label} of {source.table.full_name}, now {target.label}",
        "Stop that job.",
    )


class RetireBranch(RootMove[MovedRoot]):
    """Copy the branch to its new name with stock retention off, as in every root that Paimark makes."""

    State = MovedRoot

    @classmethod
    def begin(cls, work: Work) -> Self:
        root, branch_state = as_planned(work)
        raise_first(branch_refusals(work.context, root, keeps=True))
        retired = str(work.plan.arguments["retired"])
        if work.files.entries(work.table.root(retired).directory):
            raise Refused(f"{work.plan.table} has a branch {retired} already", "Make a new plan.")
        assert branch_state is not None, "a branch without a schema is refused"
        edit = MovedRoot(
            before=root.label,
            after=retired,
            schema_id=branch_state.schema_id,
            schema=branch_state.schema.decode(),
        )
        return cls(work, edit)

    @property
    def names(self) -> tuple[str | None, str | None]:
        return self.state.before, self.state.after

    def swap(self) -> Swap:
        data = (self.state.schema or "").encode()
        name = f"{SCHEMAS}/{SCHEMA_PREFIX}{self.state.schema_id}"
        return Swap(name, data, with_retention(data, name))

    def edits(self) -> Edits | None:
        return None if self.stays else Edits(moved=self.state)

    def done(self) -> Done:
        name, retired = self.source.label, self.target.label
        return Done(
            message=self.stays or f"Branch {name} of {self.work.plan.table} is retired as {retired}",
            result={"branch_name": name, "retired_as": retired, **Removed().facts},
            before=f"branch {name}",
            after=f"branch {retired}",
        )
