"""`rename-tag`: give a tag another name; at any moment one of the two names keeps the snapshot.

The new tag has the bytes of the old one, and is written first. An expiry lists the tags and then reads them
one by one: it skips an old one that was deleted in between, and does not know the new one yet. So the old tag
stays as long as such a reading may take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Self

import msgspec

from paimark.core.actions.change.change import Change, Done, Landed, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.checks import (
    fingerprint,
    newest_options,
    require_unmoved,
    required_text,
    text_argument,
)
from paimark.core.actions.context import Context, Remark
from paimark.core.actions.names import name_refusal
from paimark.core.actions.plan import Item, Plan, Refusal, Step, raise_first
from paimark.core.actions.plan_wording import final
from paimark.core.actions.roots import guard_tags
from paimark.core.actions.roots.pin_snapshot import prune_gone
from paimark.core.actions.roots.root_state import is_lost
from paimark.core.actions.roots.unlocked_changes import made
from paimark.core.actions.roots.waiting import seconds_of, wait_for_readers
from paimark.core.errors import Corrupt, NotFound, Refused
from paimark.core.figures import minute
from paimark.core.storage.files import Files
from paimark.core.table.definition.retention import makes_tags, without_time_to_live
from paimark.core.table.layout import SAVEPOINT_TAG_PREFIX, Root, TablePath
from paimark.core.table.lineage.edits import Edits
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root, main_root, root_exists
from paimark.core.table.read_tags import automatic_of, has_automatic_name, is_of_read, kept_until_ms
from paimark.core.table.records import Tag, is_same_commit

DELETED = "the tag of the old name is gone"
_OURS = "paimark."
_BESIDE = "Make a tag of your own beside it."
_ANOTHER = "Choose another name."


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name`, `to`, `branch` (main when None). Raises `NotFound` and `Corrupt`."""
    name, to = required_text(arguments, "name"), required_text(arguments, "to")
    branch = text_argument(arguments, "branch")
    renaming = _find_tag(context.files, table, name, to, branch)
    root = renaming.root
    seconds = seconds_of(context, len(context.files.names(root.tags)))
    for_both = f"they stay for {seconds:g} s: somebody may be reading the tags"
    return Plan(
        headline=f"Rename tag {name} of {root.label} of {table.full_name} to {to}.",
        arguments={"tag_name": name, "new_name": to, "branch": branch},
        fingerprint=renaming.fingerprint,
        steps=(
            Step("copy", root.tag(to), "every byte of it", len(renaming.data)),
            Step("check", "both", for_both),
            Step("delete", root.tag(name)),
        ),
        items=tuple(_items(context.files, renaming)),
        phrase=name,
        cost=f"about {seconds:g} s, no data file",
        refusals=tuple(_refusals(context, renaming)),
        undo=table.undo if name_refusal(name, "tag") is None else "",
    )


class RenameState(msgspec.Struct, frozen=True):
    """The root that has the tag (None: the table directory), both names, and the text of the tag's file."""

    root: str | None  # the root that has the tag
    name: str  # its name
    to: str  # its new name
    tag: str  # the text of its file


class RenameTag(Change[RenameState]):
    """Write the new tag, wait, and delete the old one. The journal entry is the point of no return."""

    State = RenameState

    def __init__(self, work: Work, state: RenameState) -> None:
        super().__init__(work, state)
        # Whether another process has just made the new tag, which is then not taken back.
        self._is_others = False

    @classmethod
    def begin(cls, work: Work) -> Self:
        renaming = _as_planned(work)
        return cls(
            work, RenameState(renaming.root.branch, renaming.name, renaming.to, renaming.data.decode())
        )

    def check(self, hold: Hold) -> None:
        raise_first(_refusals(self.work.context, _as_planned(self.work)))

    def prepare(self, hold: Hold) -> None:
        work, root, to = self.work, self._root, self.state.to
        table = work.plan.table
        if not work.files.create(root.tag(to), self._data):
            self._is_others = True
            raise Refused(f"{root.label} of {table} has a tag {to} by now", "Choose another name.")
        guard_tags.guard(work.files, root, to)
        work.progress(f"wrote tag {to}")
        self._wait()
        for each in (to, self.state.name):
            if self._read(each) != self._data:
                raise Refused(f"Another engine changed tag {each} of {table} just then", "Look again.")
        if self._has_lost_files():
            raise Refused(
                f"Files of tag {self.state.name} of {table} are gone: nobody can read it",
                f"`paimark verify {self.work.table.word}` names them.",
            )

    def landed(self, hold: Hold) -> Landed:
        """YES if another process has removed the old name meanwhile: then only the new tag keeps the rows."""
        if self._is_others or not self._is_renamed():
            return Landed.NO
        if self._has_lost_files():
            self.work.progress(Remark(f"tag {self.state.name} was taken away with files of its snapshot"))
            return Landed.NO
        table = self.work.table.word
        self.work.progress(
            Remark(
                f"tag {self.state.name} was deleted or replaced by another engine meanwhile: "
                f"`paimark verify {table}` tells whether that took files of tag {self.state.to}"
            )
        )
        return Landed.YES

    def finish(self, hold: Hold) -> None:
        files, root, name = self.work.files, self._root, self.state.name
        if not self._is_kept():
            # Whatever the old name holds now may be the only thing that keeps the rows.
            self.work.progress(Remark(f"{self._lost}: tag {name} is left as it is"))
            return
        if DELETED not in hold.steps:
            if self._read(name) == self._data:
                files.delete(root.tag(name))
                self.work.progress(f"deleted tag {name}")
            # A tag of the old name that is made from now on, even of the same snapshot, stays.
            hold.note(DELETED)
        guard_tags.unguard(files, root, name, self._data)
        guard_tags.repair_held(files, self.work.table)

    def take_back(self, hold: Hold) -> None:
        files, root, to = self.work.files, self._root, self.state.to
        if self._is_others or self._read(to) not in (self._data, None):
            return
        # A tag that can't be read is not worth keeping.
        if self._is_renamed() and not self._has_lost_files():
            return
        files.delete(root.tag(to))
        guard_tags.unguard(files, root, to, self._data)
        prune_gone(files, root)

    def edits(self) -> Edits | None:
        name, to, branch = self.state.name, self.state.to, self._root.branch
        if name_refusal(name, "tag") is not None or not self._is_kept():
            return None
        return Edits(made=made(self.work.files, self.work.table, "tag", to, branch=branch, was=name))

    def done(self) -> Done:
        name, to, plan = self.state.name, self.state.to, self.work.plan
        number, is_kept = self._tag.id, self._is_kept()
        return Done(
            message=f"Renamed tag {name} of {plan.table} to {to}" if is_kept else self._lost,
            result={"tag_name": to, "old_name": name, "snapshot_id": number, "branch": self._root.label},
            before=f"tag {name} of snapshot {number}",
            after=f"tag {to}" if is_kept else f"no tag {to}",
        )

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        old, new = self._root.tag(self.state.name), self._root.tag(self.state.to)
        if interrupted.is_committed or self._is_renamed():
            return [Step("delete", old, f"it is called {self.state.to} now")]
        return [Step("delete", new, f"it is called {self.state.name} still")]

    @property
    def _root(self) -> Root:
        return self.work.table.root(self.state.root)

    @property
    def _data(self) -> bytes:
        return self.state.tag.encode()

    @property
    def _tag(self) -> Tag:
        return Tag.from_json(self._data, self.work.table.journal)

    @property
    def _lost(self) -> str:
        to, name, table = self.state.to, self.state.name, self.work.plan.table
        return f"Tag {to} of {table}, which was {name}, was deleted or replaced by another engine"

    def _read(self, name: str) -> bytes | None:
        [data] = self.work.files.read_many([self._root.tag(name)])
        return data

    def _is_renamed(self) -> bool:
        """Whether only the new name has this very tag. False if another engine deleted the branch."""
        is_alone = self._read(self.state.to) == self._data and self._read(self.state.name) != self._data
        return is_alone and root_exists(self.work.files, self._root)

    def _has_lost_files(self) -> bool:
        """Whether the snapshot can't be read: an expiry deleted files before the tag, or together with it.

        False if that can't be determined: the tag is then kept, and a recovery goes on.
        """
        return is_lost(self.work.files, self._root, self.state.name, self._data)

    def _is_kept(self) -> bool:
        """Whether a tag of the new name holds the snapshot, even with another time to live."""
        data = self._read(self.state.to)
        try:
            there = None if data is None else Tag.from_json(data, self._root.tag(self.state.to))
        except Corrupt:
            return False
        return there is not None and is_same_commit(there, self._tag)

    def _wait(self) -> None:
        """Wait while both names exist."""
        work = self.work
        wait_for_readers(work.context, len(work.files.names(self._root.tags)), "tags", work.progress)


def _as_planned(work: Work) -> _TagToRename:
    """Find the tag again. Raises `Refused` when it has changed, or is gone."""
    given = work.plan.arguments
    name, to, branch = str(given["tag_name"]), str(given["new_name"]), text_argument(given, "branch")
    try:
        renaming = _find_tag(work.files, work.table, name, to, branch)
    except NotFound:
        renaming = None
    require_unmoved(work.table, work.plan, renaming.fingerprint if renaming else "", f"tag {name}")
    assert renaming is not None
    return renaming


class _TagToRename(NamedTuple):
    """The tag to rename, with the bytes of its file."""

    root: Root
    name: str
    to: str
    tag: Tag
    data: bytes

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.root.directory, self.data)


def _find_tag(files: Files, table: TablePath, name: str, to: str, branch: str | None) -> _TagToRename:
    """Raises `NotFound` and `Corrupt`."""
    root = branch_root(files, table, branch)
    tag = Lineage(files, root).tag(name)
    return _TagToRename(root, name, to, tag, files.read(root.tag(name)))


def _refusals(context: Context, renaming: _TagToRename) -> list[Refusal]:
    """Why the tag can't be renamed, because of the old name or the new one. Raises `Corrupt`."""
    return [*_of_the_old_name(context, renaming), *_of_the_new_name(context.files, renaming)]


def _items(files: Files, renaming: _TagToRename) -> Iterator[Item]:
    """What a person should know first. Raises `Corrupt`."""
    name, to = renaming.name, renaming.to
    text = f"the name {name}: statements and jobs that use it fail"
    yield Item("loses", text, "name-gone", is_grave=True, names=(name,))
    if (refusal := name_refusal(name, "tag")) is not None:
        yield final(refusal.reason)
    if has_automatic_name(name):
        text = (
            f"stock engines give the name {name} to tags of their own (tag.automatic-creation): one may make "
            f"it again, and {to} is no longer deleted when there are too many"
        )
        yield Item("affects", text, "automatic-tags")
    if has_automatic_name(to) and makes_tags(newest_options(files, renaming.root)):
        text = f"stock engines take {to} for one of their own tags, and may delete it in its turn"
        yield Item("affects", text, "automatic-tags")
    kept = f"the rows of snapshot {renaming.tag.id} all the time, and every branch made from them"
    yield Item("keeps", kept)
    if (until := kept_until_ms(renaming.tag)) is not None:
        yield Item("keeps", f"its end: from {minute(until)} on stock engines may delete it, as before")


def _of_the_old_name(context: Context, renaming: _TagToRename) -> list[Refusal]:
    name = renaming.name
    if name.startswith(SAVEPOINT_TAG_PREFIX):
        return [Refusal(f"Tag {name} protects a savepoint", "It goes by the savepoint's number.")]
    if is_of_read(name):
        return [Refusal(f"Tag {name} protects what a statement reads", _BESIDE)]
    if name.startswith(_OURS):
        return [Refusal(f"Tag {name} is kept by the program for a merge", _BESIDE)]
    until = kept_until_ms(renaming.tag)
    if until is not None and until <= context.clock():
        # Its deletion may have listed the tags already, and would delete the files that the new tag needs.
        return [Refusal(f"Tag {name} had its time: it is deleted any moment", "Choose another tag.")]
    return []


def _of_the_new_name(files: Files, renaming: _TagToRename) -> list[Refusal]:
    if refusal := name_refusal(renaming.to, "tag"):
        return [refusal]
    if _is_taken(files, renaming):
        where = f"{renaming.root.label} of {renaming.root.table.full_name}"
        return [Refusal(f"{where} has a tag {renaming.to} already", _ANOTHER)]
    if has_automatic_name(renaming.to) and makes_tags(newest_options(files, renaming.root)):
        twin = automatic_of(renaming.tag.id, Lineage(files, renaming.root).tags())
        if twin is not None:
            reason = f"Snapshot {renaming.tag.id} has tag {twin}, and stock engines fail on two such names"
            return [Refusal(reason, "They give names of times in this table: choose another.")]
    return []


def _is_taken(files: Files, renaming: _TagToRename) -> bool:
    """Whether the root has the new name, or the table directory does where main's guard would be."""
    root, table = renaming.root, renaming.root.table
    if files.exists(root.tag(renaming.to)):
        return True
    if root.branch is None or root != main_root(files, table):
        return False
    [there] = files.read_many([table.root().tag(renaming.to)])
    return there not in (None, without_time_to_live(renaming.data, root.tag(renaming.name)))
