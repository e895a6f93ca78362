"""The references of a table: every snapshot, tag, changelog, savepoint and claim of every root.

Reading all of them would cost as much as orphan cleaning, and most can't change the answer. In a lineage,
each snapshot was committed on the one before, so the life of a file is one unbroken run of ids: a file that a
commit drops never returns. That holds for data and index files, for statistics, and for manifests, which a
merge drops for good. So in a root only these decide whether a file of the leaving ids is needed: the
references among those ids, the nearest one before and the nearest one after. A root that forked earlier
shares the lineage up to the fork, and its references around the fork decide. If the fork is only known to lie
within some ids, those within and around them decide. A root is read completely if its lineage can't be
proven, or has ids twice (after a rollback or a replacement by another engine): when unsure, keep.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from paimark.core.actions.context import with_progress
from paimark.core.actions.roots.savepoint_claim import Claim
from paimark.core.errors import Corrupt, FileMissing
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import (
    CHANGELOG_PREFIX,
    CLAIM_PREFIX,
    SAVEPOINT_TAG_PREFIX,
    SNAPSHOT_PREFIX,
    Root,
    TablePath,
    numbered,
    savepoint_tag,
)
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, main_branch_name
from paimark.core.table.read_tags import is_of_read
from paimark.core.table.records import Savepoint, Snapshot, Tag, commit_key, is_apart, is_same_commit
from paimark.core.table.savepoints import SavepointManager


@dataclass(frozen=True)
class ToDelete:
    """References to delete: snapshots of one lineage, ascending (a tag is one), held by `roots`.

    A savepoint without its tag has no record. `schema_id` is one of the first root's, and names the
    partitions; `paths` are files that still exist and no longer count; `full_list` is the path of a
    savepoint's own manifest list. `is_expiry`: the snapshots themselves are deleted, with their changelogs.
    """

    roots: tuple[Root, ...]
    schema_id: int
    records: tuple[Snapshot, ...]
    paths: frozenset[str] = frozenset()
    full_list: str | None = None
    is_expiry: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """Something that keeps files. `name` is its name for people.

    `full_list` is set for a savepoint without a tag, whose snapshot is unknown. A reference that `is_partial`
    may have lost some files, and keeps those that it still names. No tag keeps its snapshot's changelog. One
    `of_read` goes when a statement ends: a person is told of another of the same commit, if there is one.
    """

    name: str
    record: Snapshot | None
    full_list: str | None = None
    is_partial: bool = False
    keeps_changelog: bool = False
    of_read: bool = False


def roots_and_guards(files: Files, table: TablePath) -> list[Root]:
    """Every root, and always the table directory: while a branch is main, it has the guards.

    The table directory comes first while it is main, else last, because it then has no schema of its own.
    """
    own = table.root()
    branches = [root for root in all_roots(files, table) if root != own]
    return [own, *branches] if main_branch_name(files, table) is None else [*branches, own]


def surviving(
    files: Files,
    table: TablePath,
    to_delete: ToDelete,
    *,
    everything: bool = False,
    among: Collection[Root] | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> list[Reference]:
    """The references that decide which files go with those to delete; all of them when `everything`.

    With `among`, only those of these roots, and no savepoints without a tag. Raises `Corrupt` for one that
    can't be read, and `FileMissing` for one that disappeared after it was listed.
    """
    claimed = _claimed_snapshots(files, table)
    # Read before the tags: the tag of a savepoint is written before the savepoint.
    savepoints = _savepoints(files, table, to_delete) if among is None else []
    near = (*to_delete.roots[:1], *(among or ()))
    roots = roots_and_guards(files, table) if among is None else list(dict.fromkeys(near))
    views_of = each_of(lambda root: _RootView(files, root, to_delete, claimed[root.branch]), roots)
    views = list(with_progress(views_of, len(roots), "branches", progress))
    home = next((view for view in views if view.root in to_delete.roots[:1]), None)

    def deciding(view: _RootView) -> list[Reference]:
        span = None if everything or home is None else _span(home, view, to_delete)
        return [*view.references(span), *view.changelogs()]

    by_key: dict[tuple[object, ...], Reference] = {}
    for of_root in with_progress(each_of(deciding, views), len(views), "branches' histories", progress):
        for each in of_root:
            key = commit_key(each.record) if each.record else ()
            key = (*key, each.is_partial, each.keeps_changelog)
            if key not in by_key or by_key[key].of_read:
                by_key[key] = each
    references = [*by_key.values(), *_loose(savepoints, table, views)]
    # A staying reference to the same commit keeps all files of the deleted tag.
    return sorted(twins(to_delete, references), key=lambda each: each.of_read)[:1] or references


def twins(to_delete: ToDelete, references: Iterable[Reference]) -> list[Reference]:
    """The references to the same commit as the one record to delete: each keeps all of its files."""
    if to_delete.is_expiry or len(to_delete.records) != 1:
        return []
    [wanted] = to_delete.records
    return [
        each
        for each in references
        if each.record and not each.is_partial and is_same_commit(each.record, wanted)
    ]


class _RootView:
    """The references of one root; a snapshot is read when it is needed."""

    def __init__(self, files: Files, root: Root, to_delete: ToDelete, claimed: Mapping[int, int]) -> None:
        """`claimed`: the snapshots of savepoints that are being made here, by the savepoints' ids."""
        self.root = root
        self._files = files
        self._to_delete = to_delete
        self._snapshot_ids = numbered(files.names(root.snapshots), SNAPSHOT_PREFIX)
        self._on_disk = set(self._snapshot_ids)
        self._snapshots: dict[int, Snapshot] = {}
        self.tags = _tags(files, root, to_delete)
        self._known: dict[int, Snapshot] = {tag.id: tag for _, tag in self.tags}
        if root in to_delete.roots:
            self._known |= {record.id: record for record in to_delete.records}
        by_read = sorted(self.tags, key=lambda each: not is_of_read(each[0]))
        self._kept_tags = {tag.id: name for name, tag in by_read if self._is_kept(name)}
        self._kept_snapshots = {n for n in self._snapshot_ids if root.snapshot(n) not in to_delete.paths}
        # The ids whose record can be read, including those to delete.
        self.ids = {*self._snapshot_ids, *self._known}
        self._claims = {number: claim for claim, number in claimed.items() if number in self.ids}
        self._kept = sorted({*self._kept_tags, *self._kept_snapshots, *self._claims})
        self.is_linear = self._check_linear()

    def record(self, snapshot_id: int) -> Snapshot:
        return self._known.get(snapshot_id) or self._read([snapshot_id])[snapshot_id]

    def references(self, span: tuple[float, float] | None) -> list[Reference]:
        """References within the span of ids and the nearest on both sides; all when None."""
        if span is not None:
            low, high = bisect_left(self._kept, span[0]), bisect_right(self._kept, span[1])
            chosen = self._kept[max(0, low - 1) : high + 1]
            return [self._reference(each) for each in self._loaded(chosen)]
        # Ids may exist twice: then the tag of an id is not its snapshot.
        return [
            *(self._tag(name, tag) for name, tag in self.tags if self._is_kept(name)),
            *(self._snapshot(each) for each in self._loaded(sorted(self._kept_snapshots))),
            *(self._claim(each) for each in self._loaded(sorted(self._claims))),
        ]

    def changelogs(self) -> list[Reference]:
        """All changelogs, because engines keep of a changelog's files only those that its readers need."""
        kept = []
        ids = numbered(self._files.names(self.root.changelogs), CHANGELOG_PREFIX)
        paths = [self.root.changelog(each) for each in ids]
        for number, path, data in zip(ids, paths, self._files.read_many(paths), strict=True):
            if data is not None:
                record = Snapshot.from_json(data, path)
                name = self._named(f"changelog {number}")
                kept.append(Reference(name, record, is_partial=True, keeps_changelog=True))
        return kept

    def _reference(self, snapshot_id: int) -> Reference:
        # Prefer the snapshot to its tag: it keeps its changelog too.
        if snapshot_id in self._kept_snapshots:
            return self._snapshot(snapshot_id)
        if snapshot_id in self._kept_tags:
            return self._tag(self._kept_tags[snapshot_id], self._known[snapshot_id])
        return self._claim(snapshot_id)

    def _snapshot(self, snapshot_id: int) -> Reference:
        record = self._snapshots[snapshot_id]
        return Reference(self._named(f"snapshot {snapshot_id}"), record, keeps_changelog=True)

    def _tag(self, name: str, record: Snapshot) -> Reference:
        return Reference(self._named(f"tag {name}"), record, of_read=is_of_read(name))

    def _claim(self, snapshot_id: int) -> Reference:
        record = self._snapshots.get(snapshot_id) or self._known[snapshot_id]
        return Reference(self._named(f"savepoint {self._claims[snapshot_id]}, being made"), record)

    def _is_kept(self, tag_name: str) -> bool:
        return self.root.tag(tag_name) not in self._to_delete.paths

    def _loaded(self, ids: Sequence[int]) -> Sequence[int]:
        self._read(each for each in ids if each in self._kept_snapshots or each in self._claims)
        return ids

    def _named(self, what: str) -> str:
        return f"{what} of {self.root.label}"

    def _read(self, ids: Iterable[int]) -> Mapping[int, Snapshot]:
        wanted = [each for each in ids if each not in self._snapshots and each in self._on_disk]
        paths = [self.root.snapshot(each) for each in wanted]
        for number, path, data in zip(wanted, paths, self._files.read_many(paths), strict=True):
            if data is None:
                raise FileMissing(path)
            self._snapshots[number] = Snapshot.from_json(data, path)
        return self._snapshots

    def _check_linear(self) -> bool:
        """Whether no evidence contradicts one line: each id exists once, and times rise with the ids.

        Nor may a tag say that its history was rolled back.
        """
        if any(is_apart(tag) for _, tag in self.tags):
            return False
        ends = self._snapshot_ids[:1] + self._snapshot_ids[-1:]
        records: list[Snapshot] = [tag for _, tag in self.tags]
        if self.root in self._to_delete.roots and not self._to_delete.is_expiry:
            records += self._to_delete.records
        wanted = {*ends, *(each.id for each in records if each.id in self._on_disk)}
        self._read(wanted)
        records += [self._snapshots[each] for each in wanted]
        by_id: dict[int, Snapshot] = {}
        for each in records:
            if not is_same_commit(by_id.setdefault(each.id, each), each):
                return False
        if ends and max(by_id) > ends[-1]:
            return False
        times = [by_id[each].time_millis for each in sorted(by_id)]
        return times == sorted(times)


def _span(home: _RootView, other: _RootView, to_delete: ToDelete) -> tuple[float, float] | None:
    """The ids of `other` around which its references decide; None when its lineage can't be placed."""
    if not (to_delete.records and home.is_linear and other.is_linear):
        return None
    first, last = to_delete.records[0].id, to_delete.records[-1].id
    if other is home:
        return first, last
    fork = _fork(home, other)
    return None if fork is None else (min(first, fork[0]), min(last, fork[1]))


def _fork(left: _RootView, right: _RootView) -> tuple[float, float] | None:
    """The ids between which two lineages fork: the newest that both hold, and the last that both may hold.

    None if they share no known id.
    """
    common = sorted(left.ids & right.ids)
    low, high = 0, len(common)
    while low < high:
        middle = (low + high) // 2
        if is_same_commit(left.record(common[middle]), right.record(common[middle])):
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return None
    return common[low - 1], (common[low] - 1 if low < len(common) else math.inf)


def _tags(files: Files, root: Root, to_delete: ToDelete) -> list[tuple[str, Tag]]:
    lineage = Lineage(files, root)
    tags = lineage.tags()
    for path, message in lineage.unreadable.items():
        if path not in to_delete.paths:
            raise Corrupt(message)
    return tags


def _claimed_snapshots(files: Files, table: TablePath) -> Mapping[str | None, dict[int, int]]:
    """The snapshots of savepoints that are being made, by root and savepoint id."""
    claimed: defaultdict[str | None, dict[int, int]] = defaultdict(dict)
    ids = numbered(files.names(table.savepoints), CLAIM_PREFIX)
    paths = [table.savepoint_claim(each) for each in ids]
    for path, data in zip(paths, files.read_many(paths), strict=True):
        if data is not None:
            claim = Claim.from_json(data, path)
            claimed[claim.root][claim.id] = claim.snapshot_id
    return claimed


def _savepoints(files: Files, table: TablePath, to_delete: ToDelete) -> list[Savepoint]:
    """The savepoints that stay. Raises `Corrupt` for one that can't be read."""
    manager = SavepointManager(files, table)
    staying = [each for each in manager.all() if table.savepoint(each.id) not in to_delete.paths]
    for message in manager.unreadable.values():
        raise Corrupt(message)
    return staying


def _loose(savepoints: Iterable[Savepoint], table: TablePath, views: Iterable[_RootView]) -> list[Reference]:
    """The savepoints without a tag of their snapshot: they keep the files that their own list names."""
    tagged = {
        (name, tag.id) for view in views for name, tag in view.tags if name.startswith(SAVEPOINT_TAG_PREFIX)
    }
    return [
        Reference(
            f"savepoint {each.id}, which has no tag",
            None,
            full_list=table.savepoint_file(each.full_manifest_list),
            is_partial=True,
        )
        for each in savepoints
        if (savepoint_tag(each.id), each.saved_snapshot_id) not in tagged
    ]
