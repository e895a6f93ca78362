"""A branch root as a plan saw it, to find out whether it has changed since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import filterfalse

import msgspec

from paimark.core.actions.change.landing import is_own_reader
from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Refusal
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot, choose
from paimark.core.actions.roots.root_files import TAGS, part_of, unwritable_paths
from paimark.core.actions.roots.savepoint_claim import claimed_ids, read_claim
from paimark.core.actions.temp_files import meant_for
from paimark.core.errors import Corrupt, NotFound, Refused
from paimark.core.figures import counted
from paimark.core.storage.files import Files
from paimark.core.storage.paths import unwritable
from paimark.core.table.layout import BARRIER, HINTS, PARTS, Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.lost_newest import lost_newest
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.manifests.files import missing_of
from paimark.core.table.read_tags import is_file_of_read
from paimark.core.table.records import TableSchema, Tag

_DERIVED = (*HINTS, BARRIER)


@dataclass(frozen=True)
class RootState:
    """A root as a plan saw it: its newest snapshot and its newest schema, with their bytes.

    `held` is the fingerprint of all its other files.
    """

    root: Root
    head: ChosenSnapshot | None
    schema_id: int
    schema: bytes
    held: str

    @property
    def newest(self) -> str:
        """The fingerprint of its newest state, for changes that leave the root in its place."""
        head = self.head.data if self.head else b""
        return fingerprint(self.root.directory, head, str(self.schema_id), self.schema)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of everything that moves or goes with the root."""
        return fingerprint(self.newest, self.held)

    @property
    def description(self) -> str:
        """`fix at snapshot 7`."""
        at = f"snapshot {self.head.snapshot.id}" if self.head else "no snapshot"
        return f"{self.root.label} at {at}"


def state(files: Files, root: Root) -> RootState:
    """The present state of a root. Raises `NotFound` for a root without a schema, and `Corrupt`."""
    lineage = Lineage(files, root)
    ids = lineage.schema_ids()
    if not ids:
        raise NotFound(
            f"{root.label} of {root.table.full_name} has no schema", "`paimark doctor` looks into it."
        )
    held = held_by(files, root)
    # The newest snapshot is read last, so that a concurrent move is noticed.
    schema = files.read(root.schema(ids[-1]))
    return RootState(root, choose(files, root, None), ids[-1], schema, held)


def held_by(files: Files, root: Root) -> str:
    """A fingerprint of the names of all files of a root, and of its tags, whose content may change.

    A changed snapshot also changes the newest one. Hints do not count, nor what Paimark's changes add, the
    mark of a root that goes, and consumers that hold expiry; nor the tags of statements that read.
    """
    names = [
        f"{part}/{name}"
        for part in PARTS
        for name in sorted(files.names(f"{root.directory}/{part}"))
        if meant_for(name) is None
        and not is_own_reader(name)
        and not is_file_of_read(name)
        and name not in _DERIVED
    ]
    tags = files.read_many(f"{root.directory}/{each}" for each in part_of(names, TAGS))
    return fingerprint(*names, *(data or b"" for data in tags))


def schema_state(root: Root, schema: TableSchema) -> str:
    """The fingerprint of what a root's schema defines: equal for a later one that defines the same again."""
    fields = [each.as_written() for each in schema.fields]
    keys = (schema.partition_keys, schema.primary_keys, sorted(schema.options.items()), schema.comment)
    return fingerprint(root.directory, msgspec.json.encode((fields, *keys)))


def own_state(files: Files, root: Root) -> str:
    """The fingerprint of a root's newest snapshot, its definition, and the tags that only it has.

    A statement that reads it changes nothing of it.
    """
    there = filterfalse(is_file_of_read, files.names(root.tags))
    names = sorted(name for name in there if meant_for(name) is None)
    own = files.read_many(f"{root.tags}/{name}" for name in names)
    mains = files.read_many(f"{main_root(files, root.table).tags}/{name}" for name in names)
    alone = [name for name, data, other in zip(names, own, mains, strict=True) if data != other]
    root_state = state(files, root)
    head = root_state.head.data if root_state.head else b""
    schema = TableSchema.from_json(root_state.schema, root.schema(root_state.schema_id))
    return fingerprint(head, schema_state(root, schema), *alone)


def changed_tags(
    files: Files, source: Root, copy: Root, names: Sequence[str]
) -> Iterator[tuple[str, bytes | None, bytes]]:
    """The name of each copy that differs from its source, and both contents; None if the source is gone."""
    here, there = (files.read_many(map(root.tag, names)) for root in (source, copy))
    for name, now, copied in zip(names, here, there, strict=True):
        if copied is not None and now != copied:
            yield name, now, copied


def drop_lost_tags(files: Files, source: Root, copy: Root, names: Sequence[str]) -> None:
    """Delete the copies of tags that the source has no more, if files of theirs are gone. Idempotent."""
    for name, _, data in changed_tags(files, source, copy, names):
        if is_lost(files, copy, name, data):
            files.delete(copy.tag(name))


def is_lost(files: Files, root: Root, name: str, data: bytes) -> bool:
    """Whether a file of the tag is certainly gone."""
    try:
        return bool(missing_of(files, root, Tag.from_json(data, root.tag(name))))
    except (Corrupt, NotFound, Refused):
        return False


def unreadable_refusals(context: Context, branch: RootState) -> list[Refusal]:
    """Why the newest state of the branch can't be read; every file of it is looked for."""
    files, name = context.files, f"{branch.root.label} of {branch.root.table.full_name}"
    if branch.head is None:
        return [Refusal(f"{name} has no snapshot: main would be empty", "Commit rows to the branch first.")]
    if (lost := lost_newest(files, branch.root)) is not None:
        return [Refusal(lost.reason, lost.hint)]
    try:
        missing = missing_of(files, branch.root, branch.head.snapshot)
    except (Corrupt, NotFound, Refused) as error:
        return [Refusal(f"{name} can't be read: {error.message}", "Repair the branch first.")]
    if missing:
        more = f" and {counted(len(missing) - 1, 'more file')}" if len(missing) > 1 else ""
        return [Refusal(f"{name} can't be read: {missing[0]}{more} is missing", "Repair the branch first.")]
    return []


def moving_refusals(context: Context, root: Root) -> list[Refusal]:
    """Why a root can't be moved or removed now: savepoints in the making would lose their tags there, and
    files of others whose names can't be written would stay behind.
    """
    strange = map(unwritable, unwritable_paths(context.files, root))
    refusals = [Refusal(each.message, each.hint) for each in strange]
    for number in claimed_ids(context, root.table):
        claim = read_claim(context, root.table, number)
        if claim is not None and claim.root == root.branch:
            reason = f"Savepoint {number} of {root.label} is still being made"
            refusals.append(Refusal(reason, "Wait for it, or run `paimark recover`."))
    return refusals
