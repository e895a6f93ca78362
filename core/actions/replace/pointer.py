"""Replace main, step by step, by the main-branch file. Each step is idempotent.

Before the main-branch file names the branch, everything can be taken back; after it, everything is finished.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from core.actions.change.journal import Hold
from core.actions.checks import fingerprint
from core.actions.context import Progress
from core.actions.merge.fast_forward import point_at_newest
from core.actions.replace.takeover import Takeover
from core.actions.roots import guard_tags
from core.actions.roots.barrier import notice, put_barrier, remove_barrier
from core.actions.roots.json_edit import decoded, with_options
from core.actions.roots.root_files import (
    PARTS,
    SCHEMAS,
    SNAPSHOTS,
    TAGS,
    copy_files,
    delete_files,
    part_of,
    root_files,
    same_files,
    take_back_copy,
)
from core.actions.temp_files import delete_temporaries
from core.figures import counted
from core.storage.files import Files, read_if_there
from core.table.definition.retention import RETENTION_OFF
from core.table.layout import BARRIER, SCHEMA_PREFIX, SNAPSHOT_PREFIX, TAG_PREFIX, Root, TablePath
from core.table.lineage.lineage import Lineage
from core.table.reading import numbered
from core.table.records import Record, Snapshot, Tag, is_same_commit

_LATEST = f"{SNAPSHOTS}/LATEST"
_FIRST_SCHEMA = f"{SCHEMAS}/{SCHEMA_PREFIX}0"


class Replacement(Record, frozen=True, kw_only=True):
    """The state of a replacement in the journal, from which it is taken back or finished.

    `previous` was main before (None: the table directory, which is then kept as branch `archive`). Snapshots
    `first_older` to `last_older`, `tags` and `schema_ids` are copied to the branch. `earliest_hint`,
    `branch_schema` and `main_schema` are the earlier contents of these files; `seen` describes main and
    branch at the plan. The digests distinguish the copies from other files at their paths. `main_head` and
    `main_tags` belong to a main that is to be dropped: it is kept if it got more later, because nobody agreed
    to lose that. `shared` is the newest snapshot that both have.
    """

    branch: str
    previous: str | None = None
    archive: str | None = None
    first_older: int = 0
    last_older: int = -1
    tags: tuple[str, ...] = ()
    schema_ids: tuple[int, ...] = ()
    earliest_hint: str | None = None
    branch_schema_id: int
    branch_schema: str
    main_schema_id: int
    main_schema: str
    branch_head: int | None = None
    branch_head_digest: str = ""
    main_fingerprint: str = ""
    seen: str = ""
    tag_digests: tuple[str, ...] = ()
    drops_previous: bool = False
    main_head: int = 0
    main_head_digest: str = ""
    main_tags: tuple[str, ...] = ()
    shared: int = 0

    @property
    def older(self) -> range:
        return range(self.first_older, self.last_older + 1)


def replacement_of(
    takeover: Takeover, files: Files, archive: str | None, *, drops_previous: bool
) -> Replacement:
    """The state of a replacement that begins now, for the journal."""
    older, branch = takeover.older, takeover.branch
    return Replacement(
        branch=branch.root.label,
        previous=takeover.main.root.branch,
        archive=archive,
        first_older=older.start,
        last_older=older.stop - 1,
        tags=takeover.tags,
        schema_ids=takeover.schema_ids,
        earliest_hint=_hint(files, branch.root),
        branch_schema_id=branch.schema_id,
        branch_schema=branch.schema.decode(),
        main_schema_id=takeover.main.schema_id,
        main_schema=takeover.main.schema.decode(),
        branch_head=branch.head.snapshot.id if branch.head else None,
        branch_head_digest=fingerprint(branch.head.data) if branch.head else "",
        main_fingerprint=takeover.main.fingerprint,
        seen=takeover.description,
        tag_digests=tuple(_digests(files, [takeover.main.root.tag(name) for name in takeover.tags])),
        drops_previous=drops_previous,
        main_head=takeover.main.head.snapshot.id if takeover.main.head else 0,
        main_head_digest=fingerprint(takeover.main.head.data) if takeover.main.head else "",
        shared=(takeover.fork.snapshot_id or 0) if takeover.fork.is_proven else 0,
        main_tags=tuple(Lineage(files, takeover.main.root).tag_names()),
    )


@dataclass(frozen=True)
class Sides:
    """The roots of a replacement; `archive` is None when main was a branch already."""

    main: Root
    branch: Root
    archive: Root | None


def sides(table: TablePath, replacement: Replacement) -> Sides:
    archive = None if replacement.archive is None else table.root(replacement.archive)
    return Sides(table.root(replacement.previous), table.root(replacement.branch), archive)


def prepare(hold: Hold, replacement: Replacement, progress: Progress) -> None:
    """Do everything before the point of no return; it only adds files. Raises `Refused` for an obstacle."""
    files = hold.context.files
    between = sides(hold.table, replacement)
    copied = _older_names(replacement)
    if copied:
        copy_files(files, between.main, between.branch, copied)
        if replacement.older and replacement.earliest_hint is not None:
            files.replace(between.branch.earliest_hint, str(replacement.first_older).encode())
        progress(f"copied {counted(len(copied), 'older file')} to {replacement.branch}")
    switched_off = _switched_off(between.branch, replacement)
    if switched_off != replacement.branch_schema.encode():
        files.replace(between.branch.schema(replacement.branch_schema_id), switched_off)
        progress(f"switched stock retention off on {replacement.branch}")
    if between.archive is not None:
        _archive(files, between.main, between.archive, replacement)
        progress(f"kept the previous main as branch {replacement.archive}")


def restore(files: Files, table: TablePath, archive: Root, schema_id: int, schema: bytes) -> None:
    """Copy an archived main back into the table directory; its schema `schema_id` gets back its old bytes.

    Schemas are written last, in descending order: the first one that stock engines see is the newest.
    """
    own, names = table.root(), list(root_files(files, archive))
    for part in PARTS:
        if part != SCHEMAS:
            # LATEST names the barrier until the table directory is main.
            wanted = [name for name in part_of(names, part) if name != _LATEST]
            copy_files(files, archive, own, wanted, replacing=part != SNAPSHOTS)
    changed = _own_schemas(files, archive, schema_id, schema)
    for name in reversed(_schemas_ascending(names)):
        copy_files(files, archive, own, [name], changed, replacing=True)


def drop_guards(files: Files, table: TablePath, archive: Root) -> None:
    """After the table directory became main again: remove the barrier, and the tags that were only guards.

    The guard of a snapshot that main has itself stays, as main's tag: the branch keeps that snapshot.
    """
    [latest] = files.read_many([archive.latest_hint])
    remove_barrier(files, table, latest)
    own, kept = table.root(), part_of(root_files(files, archive), TAGS)
    for name in part_of(root_files(files, own), TAGS):
        tag_name = name.removeprefix(f"{TAGS}/{TAG_PREFIX}")
        if name in kept or guard_tags.is_last_of_savepoint(files, table, tag_name):
            continue
        if not _is_of_live_snapshot(files, own, own.tag(tag_name)):
            files.delete(own.tag(tag_name))


def _is_of_live_snapshot(files: Files, root: Root, path: str) -> bool:
    [data] = files.read_many([path])
    if data is None:
        return False
    tag = Tag.from_json(data, path)
    [snapshot] = files.read_many([root.snapshot(tag.id)])
    return snapshot is not None and is_same_commit(Snapshot.from_json(snapshot, path), tag)


def take_back(
    files: Files,
    table: TablePath,
    replacement: Replacement,
    progress: Progress,
    goes: Callable[[bool], bool],
) -> None:
    """Remove the files that `prepare` added; `goes` decides on the archive, as in `take_back_copy`."""
    between = sides(table, replacement)
    branch = between.branch
    if between.archive is not None:
        take_back_copy(files, between.archive, between.main, progress, goes)
    if (
        replacement.older
        and replacement.earliest_hint is not None
        and _hint(files, branch) == str(replacement.first_older)
    ):
        files.replace(branch.earliest_hint, replacement.earliest_hint.encode())
    # No other writer writes such old snapshots; tags and schemas that are no copies are others', and stay.
    copied = _older_names(replacement)
    snapshots = part_of(copied, SNAPSHOTS)
    schemas_there = part_of(copied, SCHEMAS)
    delete_files(files, branch, [*reversed(snapshots), *_copied_tags(files, branch, replacement)])
    # Main's schemas are never rewritten, and exist as long as main.
    delete_files(files, branch, list(same_files(files, between.main, branch, schemas_there)))
    schema = branch.schema(replacement.branch_schema_id)
    original = replacement.branch_schema.encode()
    switched_off = _switched_off(branch, replacement)
    if switched_off != original and read_if_there(files, schema) == switched_off:
        files.replace(schema, original)
    schemas = {f"{SCHEMA_PREFIX}{each}" for each in (*replacement.schema_ids, replacement.branch_schema_id)}
    delete_temporaries(files, branch.schemas, schemas)
    delete_temporaries(files, branch.tags, {TAG_PREFIX + each for each in replacement.tags})
    delete_temporaries(files, branch.snapshots, {f"{SNAPSHOT_PREFIX}{each}" for each in replacement.older})


def drop_expired(files: Files, main: Root, copy: Root, copied: Collection[int] | None = None) -> None:
    """Remove from a copy of main's snapshots those that expired in the table directory: their files are gone.

    `copied` are the ids of copies; all when None.
    """
    there = numbered(files.names(main.snapshots), SNAPSHOT_PREFIX)
    kept = numbered(files.names(copy.snapshots), SNAPSHOT_PREFIX)
    old = [number for number in kept if there and number < there[0]]
    gone = [number for number in old if copied is None or number in copied]
    if gone:
        left = [number for number in kept if number not in gone]
        files.replace(copy.earliest_hint, str(left[0] if left else there[0]).encode())
        delete_files(files, copy, [f"{SNAPSHOTS}/{SNAPSHOT_PREFIX}{number}" for number in gone])


def drop_copies(files: Files, main: Root, branch: Root, snapshots: range, tags: Collection[str]) -> None:
    """Remove from a branch that is no longer main its copies of main's past: they would outlive their files.

    The snapshots stay if main lacks one of them, because ids must not have gaps. Idempotent.
    """
    files_of_tags = [f"{TAGS}/{TAG_PREFIX}{each}" for each in tags]
    delete_files(files, branch, list(same_files(files, main, branch, files_of_tags)))
    there = numbered(files.names(branch.snapshots), SNAPSHOT_PREFIX)
    copies = [f"{SNAPSHOTS}/{SNAPSHOT_PREFIX}{each}" for each in there if each in snapshots]
    left = [each for each in there if each not in snapshots]
    if copies and left and len(list(same_files(files, main, branch, copies))) == len(copies):
        files.replace(branch.earliest_hint, str(left[0]).encode())
        delete_files(files, branch, copies)


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
    if not numbered(files.names(own.snapshots), SNAPSHOT_PREFIX):
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
    before = decoded(schema, source).get("options") or {}
    [newest] = _schemas_ascending(list(root_files(files, archive)))[-1:]
    if newest not in changed:
        data = files.read(f"{archive.directory}/{newest}")
        changed[newest] = with_options(data, {name: before.get(name) for name in RETENTION_OFF}, source)
    return changed


def _keep_late(files: Files, own: Root, main: Root, archive: Root) -> None:
    """Copy tags, consumers, changelogs and schemas that appeared after the archive was written."""
    known, guarded = root_files(files, archive), part_of(root_files(files, main), TAGS)
    late = [
        name
        for name in root_files(files, own)
        if name not in known and name not in guarded and name.partition("/")[0] != SNAPSHOTS
    ]
    if read_if_there(files, own.schema(0)) == notice(main.label) and _FIRST_SCHEMA in late:
        late.remove(_FIRST_SCHEMA)
    changed = {}
    for name in part_of(late, SCHEMAS):
        path = f"{own.directory}/{name}"
        changed[name] = with_options(files.read(path), RETENTION_OFF, path)
    copy_files(files, own, archive, late, changed)
    # If a tag's maker takes it back, either the maker finds this copy, or this check after copying sees it.
    tags = part_of(late, TAGS)
    there = files.read_many(f"{own.directory}/{name}" for name in tags)
    delete_files(files, archive, [name for name, data in zip(tags, there, strict=True) if data is None])


def _append_late(files: Files, own: Root, archive: Root) -> None:
    """Append to the archive the commits that jobs made to the table directory before the barrier was there.

    If the replacement's process died, that may be a long time. Idempotent.
    """
    there = numbered(files.names(own.snapshots), SNAPSHOT_PREFIX)
    kept = numbered(files.names(archive.snapshots), SNAPSHOT_PREFIX)
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


def _archive(files: Files, main: Root, archive: Root, replacement: Replacement) -> None:
    names = list(root_files(files, main))
    newest = f"{SCHEMAS}/{SCHEMA_PREFIX}{replacement.main_schema_id}"
    switched_off = with_options(
        replacement.main_schema.encode(), RETENTION_OFF, main.schema(replacement.main_schema_id)
    )
    # Schemas first, so that a root always has one; hints last.
    for part in PARTS:
        copy_files(files, main, archive, part_of(names, part), {newest: switched_off})


def _older_names(replacement: Replacement) -> list[str]:
    """Files of main before the fork that the branch lacks: newest snapshot first, so that no gap appears."""
    return [
        *(f"{SCHEMAS}/{SCHEMA_PREFIX}{each}" for each in replacement.schema_ids),
        *(f"{SNAPSHOTS}/{SNAPSHOT_PREFIX}{each}" for each in reversed(replacement.older)),
        *(f"{TAGS}/{TAG_PREFIX}{each}" for each in replacement.tags),
    ]


def _switched_off(branch: Root, replacement: Replacement) -> bytes:
    return with_options(
        replacement.branch_schema.encode(), RETENTION_OFF, branch.schema(replacement.branch_schema_id)
    )


def _copied_tags(files: Files, branch: Root, replacement: Replacement) -> list[str]:
    """The paths below the branch of its copies of main's tags, including tags that main has lost."""
    digests = _digests(files, [branch.tag(name) for name in replacement.tags])
    pairs = zip(replacement.tags, replacement.tag_digests, digests, strict=True)
    return [f"{TAGS}/{TAG_PREFIX}{name}" for name, was, now in pairs if was == now]


def _digests(files: Files, paths: list[str]) -> list[str]:
    return ["" if data is None else fingerprint(data) for data in files.read_many(paths)]


def _hint(files: Files, root: Root) -> str | None:
    data = read_if_there(files, root.earliest_hint)
    return None if data is None else data.decode(errors="replace")
