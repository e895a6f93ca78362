"""Deleting a savepoint or a tag: the common parts, and how an interrupted deletion goes on.

Until the point of no return the deletion can be taken back without any work. After it, it is finished, and
the references are read again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import msgspec

from paimark.core.actions import follow_ups as left_out
from paimark.core.actions.change import journal
from paimark.core.actions.change.change import GONE, Change, Done, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.change.operations import written_by_others, written_later
from paimark.core.actions.checks import (
    KEPT,
    feature_refusals,
    fingerprint,
    require_kept,
    require_unmoved,
)
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.garbage.references import ToDelete
from paimark.core.actions.garbage.release_pins import dependents
from paimark.core.actions.garbage.sweep import Removed, remove, stranger
from paimark.core.actions.garbage.unreferenced import FileCount, Freed
from paimark.core.actions.plan import Item, Plan, Refusal, Step, frees, raise_first
from paimark.core.actions.plan_wording import final, go, name_lost, unit_in, version_of
from paimark.core.actions.roots import guard_tags, savepoint_claim
from paimark.core.errors import Refused
from paimark.core.figures import counted, listed
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import MAIN, SAVEPOINT_TAG_PREFIX, Root, TablePath
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.manifests.files import StoredFile
from paimark.core.table.read_tags import is_of_read
from paimark.core.table.records import Savepoint, Tag, is_same_commit

# A step of a deletion. Later it deletes no tag of this name: somebody made that one since.
_TAGS_GONE = "its tags are gone"
# The number of names shown of a long list.
_SHOWN = 5


class TargetState(msgspec.Struct, frozen=True):
    """A target as the journal has it: roots by branch (None: the table directory), records as written."""

    tag_name: str  # the tag
    home: str | None  # the root that it belongs to first
    roots: tuple[str | None, ...]  # the roots that lose the tag
    tag: dict[str, Any] | None  # the tag as written; null where it is gone
    savepoint: dict[str, Any] | None  # the savepoint as written; null for a tag


@dataclass(frozen=True)
class DeletionTarget:
    """A savepoint with its tags, or a tag. `home` is the root that it primarily belongs to.

    `tag` is None for a savepoint whose tag is gone; `roots` are the roots whose copy of the tag is deleted.
    """

    table: TablePath
    tag_name: str
    home: Root
    roots: tuple[Root, ...]
    tag: Tag | None
    savepoint: Savepoint | None
    fingerprint: str

    @property
    def paths(self) -> list[str]:
        """The files to delete before all others, in this order."""
        own = [] if self.savepoint is None else [self.table.savepoint(self.savepoint.id)]
        return [*own, *(root.tag(self.tag_name) for root in self.roots)]

    @property
    def to_delete(self) -> ToDelete:
        """The references to delete, while the target's files still exist."""
        kept = self.savepoint.schema_id if self.savepoint else 0
        full_list = self.table.savepoint_file(self.savepoint.full_manifest_list) if self.savepoint else None
        return ToDelete(
            roots=self.roots or (self.home,),
            schema_id=self.tag.schema_id if self.tag else kept,
            records=(self.tag,) if self.tag else (),
            paths=frozenset(self.paths),
            full_list=full_list,
        )

    @property
    def state(self) -> TargetState:
        """The state for the journal."""
        return TargetState(
            tag_name=self.tag_name,
            home=self.home.branch,
            roots=tuple(root.branch for root in self.roots),
            tag=self.tag.as_written() if self.tag else None,
            savepoint=self.savepoint.as_written() if self.savepoint else None,
        )

    @classmethod
    def of_state(cls, table: TablePath, state: TargetState) -> DeletionTarget:
        """The target of a journal. Raises `Corrupt`."""
        tag, savepoint, source = state.tag, state.savepoint, table.journal
        return cls(
            table=table,
            tag_name=state.tag_name,
            home=table.root(state.home),
            roots=tuple(table.root(each) for each in state.roots),
            tag=Tag.from_json(msgspec.json.encode(tag), source) if tag else None,
            savepoint=Savepoint.from_json(msgspec.json.encode(savepoint), source) if savepoint else None,
            fingerprint="",
        )


def tags_named(files: Files, roots: Sequence[Root], name: str) -> dict[Root, tuple[Tag, bytes]]:
    """The tag of this name in each root that holds one. Raises `Corrupt`."""
    paths = [root.tag(name) for root in roots]
    return {
        root: (Tag.from_json(data, path), data)
        for root, path, data in zip(roots, paths, files.read_many(paths), strict=True)
        if data is not None
    }


def seen(savepoint: bytes, tags: dict[Root, tuple[Tag, bytes]]) -> str:
    """The fingerprint of the files that a deletion read."""
    parts: list[str | bytes] = [savepoint]
    for root, (_, data) in tags.items():
        parts += [root.directory, data]
    return fingerprint(*parts)


def dependents_refusals(files: Files, target: DeletionTarget, what: str) -> list[Refusal]:
    """Why a tag of main must stay, one refusal per branch; `what` names the tag. Raises `Corrupt`."""
    main, name = main_root(files, target.table), target.tag_name
    if target.tag is None or main not in target.roots:
        return []
    needing = dependents(files, target.table, target.tag, [root.tag(name) for root in target.roots])
    return [
        Refusal(
            f"{each.said(what)}, and breaks without it",
            f"Delete the branch first: `paimark delete-branch {target.table.word} --name {each.branch}`",
            "branch-needs-it",
        )
        for each in needing
    ]


def plan_deletion(
    context: Context,
    target: DeletionTarget,
    what: str,
    arguments: dict[str, Any],
    refusals: list[Refusal],
) -> Plan:
    """The plan; `what` names the target for people."""
    files, table = context.files, target.table
    refusals = [*refusals, *feature_refusals(files, target.home)]
    freed, repair = what_goes(context, table, target.to_delete, refusals)
    return Plan(
        headline=f"Delete {what} of {_where(files, target)}.",
        arguments=arguments,
        fingerprint=target.fingerprint,
        items=(
            *_lost(files, target, freed, what),
            final(),
            *(still_read() if freed.is_read else ()),
            *freed_items(table, freed),
        ),
        phrase=what if target.savepoint else target.tag_name,
        steps=(
            *(each for each in repair.steps if each.target != table.root().tag(target.tag_name)),
            *(Step("delete", path) for path in target.paths),
            Step("check", "every root", "what else needs its files, read again before any goes"),
            *freed_steps(freed),
        ),
        lasting=KEPT if freed.twin else "",
        cost=_cost(freed),
        refusals=tuple(refusals),
        freed_files=len(freed.files),
        freed_bytes=freed.size,
    )


def _named(target: DeletionTarget) -> str:
    return f"savepoint {target.savepoint.id}" if target.savepoint else f"tag {target.tag_name}"


def _where(files: Files, target: DeletionTarget) -> str:
    """The table, and for a tag on a branch the branch: other branches may have a tag of that name, too."""
    is_on_branch = target.savepoint is None and target.home != main_root(files, target.table)
    name = target.table.full_name
    return f"branch {target.home.label} of {name}" if is_on_branch else name


def _lost(files: Files, target: DeletionTarget, freed: Freed, what: str) -> Iterator[Item]:
    if target.tag is None:
        text = f"{what} has no tag, so some of its rows may be gone already"
        yield Item("loses", text, "version-gone", is_grave=True)
        return
    if freed.twin:
        yield name_lost(target.tag_name, _still(freed.twin))
        return
    version = version_of(target.tag, unit_in(files, target.home))
    root = target.home
    is_on = files.exists(root.snapshot(target.tag.id))
    why = "nothing else keeps it" if is_on else f"{root.label} has expired it, and nothing else keeps it"
    yield Item(
        "loses",
        f"{version}: {why}",
        "version-gone",
        is_grave=True,
        count=target.tag.total_record_count,
        unit="records",
        newest=target.tag.time_millis,
    )


def _cost(freed: Freed) -> str:
    """`2 data files and 3 metadata files go`, `1 metadata file goes`."""
    counts = (("data file", len(freed.data)), ("metadata file", len(freed.manifests) + len(freed.lists)))
    parts = [counted(count, noun) for noun, count in counts if count]
    total = sum(count for _, count in counts)
    return f"{listed(parts)} {go(total)}" if parts else "no file of the table goes"


def _still(twin: str) -> str:
    """`main still has snapshot 11`, `tag v2 of main keeps the same rows`."""
    name, _, root = twin.rpartition(" of ")
    if name.startswith("snapshot "):
        return f"{root} still has {name}"
    return f"{_plain(name)} of {root} keeps the same rows"


def what_goes(
    context: Context, table: TablePath, to_delete: ToDelete, refusals: list[Refusal]
) -> tuple[Freed, guard_tags.Repair]:
    """The files to delete, and the guards to repair first. Reasons against it are added to the refusals.

    While another change holds the table nothing is counted: that takes long, and every plan is refused then.
    """
    freed, repair = Freed(), guard_tags.repair_needed(context.files, table)
    if journal.refusals(context, table):
        return freed, repair
    try:
        freed = count_of(context.files, table, to_delete, context.progress, repair).freed()
    except Refused as error:
        refusals.append(Refusal(error.message, error.hint))
    return freed, repair


def count_of(
    files: Files, table: TablePath, to_delete: ToDelete, progress: Progress, repair: guard_tags.Repair
) -> FileCount:
    """Count the files that deleting the references frees, once the guards are repaired."""
    return FileCount(files, table, replace(to_delete, paths=to_delete.paths | repair.paths), progress)


def counted_before(work: Work, to_delete: ToDelete) -> FileCount:
    """Count the files to delete before the point of no return, for the removal after it.

    Raises `Refused` when the references can't be read, and `Cancelled`.
    """
    repair = guard_tags.repair_needed(work.files, work.table)
    count = count_of(work.files, work.table, to_delete, work.progress, repair)
    count.freed()
    return count


def freed_steps(freed: Freed) -> list[Step]:
    """One step for each kind of files to delete."""
    groups = (("data file", freed.data), ("manifest", freed.manifests), ("manifest list", freed.lists))
    return [_freed_step(noun, group) for noun, group in groups if group]


def _freed_step(noun: str, group: Sequence[StoredFile]) -> Step:
    return Step(
        "delete", counted(len(group), noun), "kept by nothing else", sum(each.size or 0 for each in group)
    )


def freed_items(table: TablePath, freed: Freed) -> Iterator[Item]:
    """What leaves the store, who needs the rest, and files that do not belong to the table."""
    if freed.files:
        keepers = list(dict.fromkeys(map(_keeper, freed.keepers)))
        need = "needs" if len(keepers) == 1 else "need"
        rest = f"{listed(keepers, 'other')} {need} the rest" if keepers else ""
        yield frees(len(freed.files), freed.size, rest)
    yield from iceberg_keeps(freed)
    for path in freed.strangers[:_SHOWN]:
        yield Item("keeps", stranger(table, path))
    if (more := len(freed.strangers) - _SHOWN) > 0:
        yield Item("keeps", f"{more} more files that are none of {table.full_name}")


def iceberg_keeps(freed: Freed) -> Iterator[Item]:
    """That files stay because Iceberg readers would miss them."""
    if count := freed.for_iceberg:
        verb, them = ("stays", "it") if count == 1 else ("stay", "them")
        text = f"{counted(count, 'data file')} {verb}: Iceberg readers of this table still need {them}"
        yield Item("keeps", text, "iceberg-needs", count=count, unit="files")


def still_read() -> Iterator[Item]:
    """That a statement reads what goes."""
    text = (
        "a statement reads it now, and goes on: the files stay until then, and `paimark recover` frees them"
    )
    yield Item("affects", text, "read-now")


def _keeper(reference: str) -> str:
    """`main` for its snapshots, `tag v2` and `savepoint 1` of main, `branch fix` for all of its own.

    `a statement that reads` for the tag of one.
    """
    name, of, root = reference.rpartition(" of ")
    if not of:
        return reference
    if is_of_read(name.removeprefix("tag ")):
        return "a statement that reads"
    if root != MAIN:
        return f"branch {root}"
    return root if name.startswith("snapshot ") else _plain(name)


def _plain(tag: str) -> str:
    """`savepoint 1` for `tag savepoint.1`; other names as they are."""
    number = tag.removeprefix(f"tag {SAVEPOINT_TAG_PREFIX}")
    return tag if number == tag else f"savepoint {number}"


class DeleteReference(Change[TargetState]):
    """Delete a savepoint or a tag, and every file that only it kept.

    The journal entry is the point of no return: after it the deletion is only finished.
    """

    State = TargetState

    def __init__(self, work: Work, state: TargetState) -> None:
        super().__init__(work, state)
        self._removed = Removed()
        self._count: FileCount | None = None
        # Paths of tags that others made since.
        self._stays: list[str] = []

    @classmethod
    @abstractmethod
    def find(cls, work: Work) -> tuple[DeletionTarget, list[Refusal]]:
        """The reference to delete, as it is now, and refusals. Raises `NotFound`."""

    @classmethod
    def begin(cls, work: Work) -> Self:
        target, _ = cls.find(work)
        require_unmoved(work.table, work.plan, target.fingerprint, _named(target))
        return cls(work, target.state)

    @property
    def _target(self) -> DeletionTarget:
        return DeletionTarget.of_state(self.work.table, self.state)

    @property
    def _what(self) -> str:
        return _named(self._target)

    def check(self, hold: Hold) -> None:
        # Counted first, because it may take minutes: the checks must still hold at the point of no return.
        self._count = counted_before(self.work, self._target.to_delete)
        freed = self._count.freed()
        target, refusals = self.find(self.work)
        require_unmoved(self.work.table, self.work.plan, target.fingerprint, _named(target))
        what = f"{_named(target)} of {self.work.table.full_name}"
        require_kept(self.work.plan, what, is_kept=bool(freed.twin))
        raise_first(refusals)

    def finish(self, hold: Hold) -> None:
        files, target = self.work.files, self._target
        if target.savepoint is not None:
            # The id is never given again, although its file is deleted.
            savepoint_claim.raise_hint(files, target.table, target.savepoint.id)
            files.delete(target.table.savepoint(target.savepoint.id))
        paths = {root: root.tag(target.tag_name) for root in target.roots}
        if _TAGS_GONE not in hold.steps:
            later = written_by_others(hold, paths.values())
            for root, path in paths.items():
                if path not in later and _is_still(files, root, target):
                    files.delete(path)
            if not any(map(files.exists, paths.values())):
                left_out.delete(files, target.home, target.tag_name, self.work.progress)
            hold.note(_TAGS_GONE)
        # Not earlier: it would guard the tag that is deleted.
        guard_tags.repair_held(files, target.table)
        self._stays = [path for path in paths.values() if files.exists(path)]
        if gone := [path for path in target.paths if path not in self._stays]:
            self.work.progress(f"deleted {' and '.join(gone)}")
        to_delete = replace(target.to_delete, paths=frozenset())
        self._removed = remove(self.work.context, hold, to_delete, self.work.progress, count=self._count)

    def no_way_back(self) -> str:
        return GONE

    def done(self) -> Done:
        removed, what, where = self._removed, self._what, _where(self.work.files, self._target)
        stays = f". {', '.join(self._stays)} stays: somebody made it since" if self._stays else ""
        return Done(
            message=f"Deleted {what} of {where}{removed.said(self.work.plan)}{stays}",
            result={**self.work.plan.arguments, **removed.facts},
            before=what,
            after=f"no {what}",
        )

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        if not interrupted.is_committed:
            return []
        files, paths = self.work.files, [] if _TAGS_GONE in interrupted.steps else self._target.paths
        later = written_later(files, self.work.table, interrupted, paths)
        return [
            *(Step("delete", path) for path in paths if path not in later and files.exists(path)),
            Step("delete", "the files that only it kept", "as far as they are still there"),
        ]


def _is_still(files: Files, root: Root, target: DeletionTarget) -> bool:
    """Whether the tag is the one to delete, and not a later one of the same name."""
    path = root.tag(target.tag_name)
    data = read_if_there(files, path)
    if data is None or target.tag is None:
        return False
    return is_same_commit(Tag.from_json(data, path), target.tag)
