"""The table directory while a branch is main: only guards and a notice; and main's files again after that."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from paimark.core.actions.merge.fast_forward import newest_id, point_at_newest
from paimark.core.actions.plan import Item, Step
from paimark.core.actions.roots import guard_tags
from paimark.core.actions.roots.barrier import (
    branch_in_notice,
    has_barrier,
    notice,
    put_barrier,
    remove_barrier,
    restore_file,
)
from paimark.core.actions.roots.root_files import (
    SCHEMAS,
    SNAPSHOTS,
    TAGS,
    copy_files,
    delete_files,
    part_of,
    root_files,
    same_files,
    snapshot_ids,
)
from paimark.core.actions.temp_files import delete_temporaries
from paimark.core.errors import Corrupt
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.commits import stored
from paimark.core.table.definition.retention import fields_of, with_retention
from paimark.core.table.layout import (
    BARRIER,
    BARRIER_ID,
    MAIN,
    PARTS,
    SCHEMA_PREFIX,
    TAG_PREFIX,
    TRUNCATION_TAG_PREFIX,
    Root,
    TablePath,
    numbered,
)
from paimark.core.table.lineage.main_branch import main_branch_name, root_exists
from paimark.core.table.records import Tag, point_of

_HINTS = (f"{SNAPSHOTS}/LATEST", f"{SNAPSHOTS}/EARLIEST")
_FIRST_SCHEMA = f"{SCHEMAS}/{SCHEMA_PREFIX}0"


def restore(files: Files, table: TablePath, archive: Root, schema_id: int, schema: bytes) -> None:
    """Copy an archived main back into the table directory; its schema `schema_id` gets back its old bytes.

    Schemas are written last, in descending order: the first one that stock engines see is the newest.
    """
    own, names = table.root(), list(root_files(files, archive))
    for part in PARTS:
        if part != SCHEMAS:
            # LATEST names the barrier until the table directory is main.
            wanted = [name for name in part_of(names, part) if name not in _HINTS]
            copy_files(files, archive, own, wanted, replacing=part != SNAPSHOTS)
    _restore_earliest(files, own, read_if_there(files, archive.earliest_hint))
    changed = _own_schemas(files, archive, schema_id, schema)
    for name in reversed(_schemas_ascending(names)):
        copy_files(files, archive, own, [name], changed, replacing=True)


def drop_guards(
    files: Files, table: TablePath, archive: Root, tags: Collection[str], earliest: bytes | None
) -> None:
    """After the table directory became main again: remove the barrier, and the tags that were only guards.

    `tags` are the names of main's own, `earliest` is its EARLIEST. The guard of a snapshot that main has
    itself stays, as main's tag: the branch keeps that snapshot. So does a pin for the archive.
    """
    own, pins = table.root(), f"{TRUNCATION_TAG_PREFIX}{archive.label}."
    if has_barrier(files, table):
        _restore_earliest(files, own, earliest)
    # Not the archive's LATEST: a job may have committed there since, and engines fail on a hint to nothing.
    newest = newest_id(files, own)
    remove_barrier(files, table, str(newest).encode() if newest else None)
    for name in part_of(root_files(files, own), TAGS):
        tag_name = name.removeprefix(f"{TAGS}/{TAG_PREFIX}")
        if tag_name in tags or tag_name.startswith(pins):
            continue
        if guard_tags.is_last_of_savepoint(files, table, tag_name):
            continue
        if not _is_of_live_snapshot(files, own, own.tag(tag_name)):
            files.delete(own.tag(tag_name))


def _restore_earliest(files: Files, own: Root, earliest: bytes | None) -> None:
    """A stock expiry of the plain name may have written another: one that is too high hides snapshots."""
    restore_file(files, own.earliest_hint, earliest)


def _is_of_live_snapshot(files: Files, root: Root, path: str) -> bool:
    [data] = files.read_many([path])
    if data is None:
        return False
    return stored(files, root, point_of(Tag.from_json(data, path))) is not None


def clear_table_directory(files: Files, table: TablePath, main: Root, archive: Root | None) -> None:
    """While a branch is main: leave only guards and the notice in the table directory.

    Files of the previous main are deleted only if `archive` has them; files written since that copy are
    copied first. A commit that is not built on the archive's newest stays as a stray commit. The barrier is
    written before snapshots are deleted, and schemas are deleted first, so that stock engines fail and do not
    read an empty table.
    """
    own = table.root()
    if archive is not None:
        _keep_late(files, own, main, archive)
    if read_if_there(files, own.schema(0)) != notice(main.label):
        files.replace(own.schema(0), notice(main.label))
    put_barrier(files, table, main.label)
    if archive is None:
        guard_tags.reconcile(files, table, main)
        return
    _append_late(files, own, archive)
    there = root_files(files, own)
    kept = root_files(files, archive)
    delete_files(files, own, [n for n in part_of(there, SCHEMAS) if n in kept and n != _FIRST_SCHEMA])
    guard_tags.reconcile(files, table, main)
    going = [n for n in there if n.partition("/")[0] not in (SCHEMAS, TAGS)]
    delete_files(files, own, list(same_files(files, own, archive, going)))
    if not snapshot_ids(files, own):
        delete_files(files, own, [f"{SNAPSHOTS}/EARLIEST"])
    for directory in (own.changelogs, own.consumers):
        files.prune(directory)


def clean_table_directory(files: Files, table: TablePath, main: Root, archive: Root | None) -> None:
    """Remove the half-written files of processes that were killed while changing the table directory."""
    own = table.root()
    names = {name.rpartition("/")[2] for name in (root_files(files, archive) if archive else {})}
    guarded = {name.rpartition("/")[2] for name in part_of(root_files(files, main), TAGS)}
    for directory in (own.schemas, own.tags, own.snapshots, own.changelogs, own.consumers):
        delete_temporaries(files, directory, names | guarded | {f"{SCHEMA_PREFIX}0", BARRIER, "LATEST"})
    for directory in (own.snapshots, own.changelogs, own.consumers):
        files.prune(directory)


def _schemas_ascending(names: list[str]) -> list[str]:
    plain = [name.rpartition("/")[2] for name in part_of(names, SCHEMAS)]
    return [f"{SCHEMAS}/{SCHEMA_PREFIX}{number}" for number in numbered(plain, SCHEMA_PREFIX)]


def _own_schemas(files: Files, archive: Root, schema_id: int, schema: bytes) -> dict[str, bytes]:
    """The schemas in which retention was switched off, with their earlier bytes."""
    source = archive.schema(schema_id)
    changed = {f"{SCHEMAS}/{SCHEMA_PREFIX}{schema_id}": schema}
    [newest] = _schemas_ascending(list(root_files(files, archive)))[-1:]
    if newest not in changed:
        data = files.read(f"{archive.directory}/{newest}")
        changed[newest] = with_retention(data, source, fields_of(schema, source).get("options") or {})
    return changed


def _keep_late(files: Files, own: Root, main: Root, archive: Root) -> None:
    """Copy tags, consumers, changelogs and schemas that appeared after the archive was written."""
    known, guarded = root_files(files, archive), part_of(root_files(files, main), TAGS)
    late = [
        name
        for name in root_files(files, own)
        if name not in known and name.partition("/")[0] != SNAPSHOTS
        if name not in guarded or not _is_of_main(files, main, archive, name)
    ]
    if read_if_there(files, own.schema(0)) == notice(main.label) and _FIRST_SCHEMA in late:
        late.remove(_FIRST_SCHEMA)
    changed = {}
    for name in part_of(late, SCHEMAS):
        path = f"{own.directory}/{name}"
        changed[name] = with_retention(files.read(path), path)
    copy_files(files, own, archive, late, changed)
    # If a tag's maker takes it back, either the maker finds this copy, or this check after copying sees it.
    tags = part_of(late, TAGS)
    there = files.read_many(f"{own.directory}/{name}" for name in tags)
    delete_files(files, archive, [name for name, data in zip(tags, there, strict=True) if data is None])


def _is_of_main(files: Files, main: Root, archive: Root, name: str) -> bool:
    """Whether a tag of the table directory is a guard, maybe an outdated one, and not the previous main's."""
    if guard_tags.is_guard(files, main, name.removeprefix(f"{TAGS}/{TAG_PREFIX}")):
        return True
    path = f"{main.table.directory}/{name}"
    try:
        return _is_of_live_snapshot(files, main, path) and not _is_of_live_snapshot(files, archive, path)
    except Corrupt:
        # A half-written tag keeps nothing.
        return True


def _append_late(files: Files, own: Root, archive: Root) -> None:
    """Append to the archive the commits that jobs made to the table directory before the barrier was there.

    If the replacement's process died, that may be a long time. Idempotent.
    """
    there = snapshot_ids(files, own)
    kept = snapshot_ids(files, archive)
    late = [number for number in there if not kept or number > kept[-1]]
    # If all of the archive's snapshots expired here and were dropped there, the late ones are the next.
    if not late or (kept and (late[0] != kept[-1] + 1 or not _is_same_newest(files, own, archive, kept[-1]))):
        return
    last: int | None = None
    for number, data in zip(late, files.read_many(map(own.snapshot, late)), strict=True):
        path = archive.snapshot(number)
        # A job on the archive may have been faster.
        if data is None or not (files.create(path, data) or files.read(path) == data):
            break
        last = number
    # Only once, because each call lists the archive. Engines look beyond an outdated hint.
    if last is not None:
        point_at_newest(files, archive, last)


def _is_same_newest(files: Files, own: Root, archive: Root, number: int) -> bool:
    """Whether both have the snapshot. On a repeated run the table directory's is gone."""
    here, kept = files.read_many([own.snapshot(number), archive.snapshot(number)])
    return here is None or here == kept


# A process that stands still right before it replaces the main-branch file is recovered meanwhile: that
# writes the same. If an undo has taken it back before the process goes on, its write is wrong.
class Misdirected(NamedTuple):
    """What the main-branch file says, and what the table directory is made for; None is the directory."""

    named: str | None
    right: str | None

    def step(self, table: TablePath) -> Step:
        return Step("replace", table.main_branch_file, f"{self.named or 'blank'} -> {self.right or 'blank'}")

    def items(self) -> list[Item]:
        """What was read as main meanwhile stays, under its own name."""
        if self.named is None:
            return []
        text = f"commits to main since that process went on are on branch {self.named}, and stay there"
        return [Item("affects", text, "commits-leave-main")]

    def __str__(self) -> str:
        wrong = f"branch {self.named}" if self.named else "the table directory"
        right = f"branch {self.right}" if self.right else MAIN
        return f"{wrong} named as main by a process that went on after it was recovered: {right} is"


def misdirected(files: Files, table: TablePath) -> Misdirected | None:
    """The disagreement, if there is one; only while no change holds the table.

    A replacement gives the table directory a notice that names the branch, and the barrier. An undo takes
    both away. A branch that is named without them was made main by no change that has ended.
    """
    own = table.root()
    try:
        named = main_branch_name(files, table)
    except Corrupt:
        # It names nothing: reads say so.
        return None
    schema, barrier = files.read_many([own.schema(0), own.snapshot(BARRIER_ID)])
    right = branch_in_notice(schema)
    if right is None:
        is_main = schema is not None and barrier is None
        return Misdirected(named, None) if named is not None and is_main else None
    if right == named or barrier is None or not root_exists(files, table.root(right)):
        return None
    return Misdirected(named, right)


def redirect(files: Files, table: TablePath, wrong: Misdirected) -> None:
    """Let the main-branch file say what the table directory says, if it still disagrees. Idempotent."""
    if misdirected(files, table) == wrong:
        files.replace(table.main_branch_file, (wrong.right or "").encode())
