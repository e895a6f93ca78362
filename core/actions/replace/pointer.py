"""Replace main, step by step, by the main-branch file. Each step is idempotent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from paimark.core.actions.change.journal import Hold
from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Progress, Remark
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
    take_back_copy,
)
from paimark.core.actions.roots.root_state import changed_tags, drop_lost_tags, is_lost
from paimark.core.actions.temp_files import delete_temporaries
from paimark.core.errors import Refused
from paimark.core.figures import counted
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.commits import stored
from paimark.core.table.definition.retention import with_retention, without_time_to_live
from paimark.core.table.layout import PARTS, SCHEMA_PREFIX, SNAPSHOT_PREFIX, TAG_PREFIX, Root, TablePath
from paimark.core.table.records import Point, Record


class Replacement(Record, frozen=True, kw_only=True):
    """The state of a replacement in the journal, from which it is taken back or finished.

    The digests tell the copies from other files at their paths. A main that is to be dropped is kept if it
    got more later, because nobody agreed to lose that.
    """

    branch: str  # the branch that becomes main
    previous: str | None = None  # what was main
    archive: str | None = None  # the branch that keeps the table directory's main
    first_older: int = 0  # main's snapshots from here
    last_older: int = -1  # to here are copied to the branch; none where this is lower
    tags: tuple[str, ...] = ()  # main's tags that are copied to the branch
    schema_ids: tuple[int, ...] = ()  # main's schemas that are copied to the branch
    earliest_hint: str | None = None  # the branch's `EARLIEST` before
    branch_schema_id: int  # the branch's newest schema
    branch_schema: str  # its text before
    main_schema_id: int  # main's newest schema
    main_schema: str  # its text before
    branch_head: Point  # the branch's newest snapshot, as a point
    # of main: directory, newest snapshot and schema, all names, and the content of tags
    main_fingerprint: str = ""
    # fingerprints of the tags in `tags`, in their order; empty for one that is gone
    tag_digests: tuple[str, ...] = ()
    drops_previous: bool = False  # the previous main is to be dropped
    # main's newest snapshot, as a point: what main gets later is not dropped
    main_head: Point | None = None
    main_tags: tuple[str, ...] = ()  # main's tags: others are not dropped
    shared: int = 0  # the newest snapshot that both have; 0 where that is not proven

    @property
    def older(self) -> range:
        return range(self.first_older, self.last_older + 1)


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
        # Another engine may have made another branch of this name since: its schema is not to be overwritten.
        if not has_head(files, between.branch, replacement):
            raise Refused(
                f"Branch {replacement.branch} of {hold.table.full_name} has just changed", "Make a new plan."
            )
        files.replace(between.branch.schema(replacement.branch_schema_id), switched_off)
        progress(f"switched stock retention off on {replacement.branch}")
    if between.archive is not None:
        _archive(files, between.main, between.archive, replacement)
        progress(f"kept the previous main as branch {replacement.archive}")


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
    if not is_that_branch(files, branch, replacement):
        why = f"branch {branch.label} stays as it is: it may be another of this name, made since"
        progress(Remark(f"{why}; copies of main's earlier snapshots and tags may be in it"))
        return
    if (
        replacement.older
        and replacement.earliest_hint is not None
        and earliest_of(files, branch) == str(replacement.first_older)
    ):
        files.replace(branch.earliest_hint, replacement.earliest_hint.encode())
    # No other writer writes such old snapshots; tags and schemas that are no copies are others', and stay.
    copied = _older_names(replacement)
    snapshots = part_of(copied, SNAPSHOTS)
    schemas_there = part_of(copied, SCHEMAS)
    delete_files(files, branch, [*reversed(snapshots), *_copied_tags(files, branch, replacement)])
    # Main's schemas are never rewritten, and exist as long as main.
    delete_files(files, branch, list(same_files(files, between.main, branch, schemas_there)))
    schemas = {f"{SCHEMA_PREFIX}{each}" for each in (*replacement.schema_ids, replacement.branch_schema_id)}
    delete_temporaries(files, branch.schemas, schemas)
    delete_temporaries(files, branch.tags, {TAG_PREFIX + each for each in replacement.tags})
    delete_temporaries(files, branch.snapshots, {f"{SNAPSHOT_PREFIX}{each}" for each in replacement.older})
    # Last, because it may be the only proof, for a repeated run, that this is the branch.
    schema = branch.schema(replacement.branch_schema_id)
    original = replacement.branch_schema.encode()
    switched_off = _switched_off(branch, replacement)
    if switched_off != original and read_if_there(files, schema) == switched_off:
        files.replace(schema, original)


def is_that_branch(files: Files, branch: Root, replacement: Replacement) -> bool:
    """Whether the root is the branch that was planned, or is gone; False if that can't be told.

    Another engine may have deleted the branch, and made another of its name. That one may begin with bytes
    that are copies of ours too: main's.
    """
    # Nobody commits to a root without a schema: there is nothing to lose.
    if has_head(files, branch, replacement) or not files.names(branch.schemas):
        return True
    # The head has expired, or was rolled back, or this is another branch. Other engines copy a new branch's
    # schemas from the table directory, where retention is never switched off.
    number, switched_off = replacement.branch_schema_id, _switched_off(branch, replacement)
    paths = [branch.schema(number), branch.table.root().schema(number)]
    here, of_table = files.read_many(paths)
    return here == switched_off != of_table


def has_head(files: Files, branch: Root, replacement: Replacement) -> bool:
    """Whether the branch has the very snapshot that was its newest at the plan."""
    return stored(files, branch, replacement.branch_head) is not None


def drop_expired(files: Files, main: Root, copy: Root, copied: Collection[int] | None = None) -> None:
    """Remove from a copy of main's snapshots those that expired in main since: their files are gone.

    `copied` are the ids of copies; all when None.
    """
    there = snapshot_ids(files, main)
    kept = snapshot_ids(files, copy)
    old = [number for number in kept if there and number < there[0]]
    gone = [number for number in old if copied is None or number in copied]
    if gone:
        left = [number for number in kept if number not in gone]
        files.replace(copy.earliest_hint, str(left[0] if left else there[0]).encode())
        delete_files(files, copy, [f"{SNAPSHOTS}/{SNAPSHOT_PREFIX}{number}" for number in gone])


def follow_tags(files: Files, between: Sides, archive: Root, names: Sequence[str]) -> None:
    """Bring an archive's copies of main's tags `names` up to what main has now. Idempotent.

    Engines may have deleted or moved tags since the copy.
    """
    for name, now, copy in changed_tags(files, between.main, archive, names):
        if now is not None and now != _guard_of(files, between.branch, name):
            files.replace(archive.tag(name), now)
        elif now is None and is_lost(files, archive, name, copy):
            files.delete(archive.tag(name))


def drop_lost_copies(files: Files, main: Root, branch: Root, replacement: Replacement) -> None:
    """Delete the branch's copies of tags that main has no more, if files of theirs are gone. Idempotent."""
    prefix = len(f"{TAGS}/{TAG_PREFIX}")
    copied = [path[prefix:] for path in _copied_tags(files, branch, replacement)]
    drop_lost_tags(files, main, branch, copied)


def _guard_of(files: Files, branch: Root, name: str) -> bytes | None:
    """The guard of a branch's tag: who makes a tag of the new main writes it beside this change."""
    data = read_if_there(files, branch.tag(name))
    return None if data is None else without_time_to_live(data, branch.tag(name))


def drop_copies(files: Files, main: Root, branch: Root, snapshots: range, tags: Collection[str]) -> None:
    """Remove from a branch that is no longer main its copies of main's past: they would outlive their files.

    The snapshots stay if main lacks one of them, because ids must not have gaps. Idempotent.
    """
    files_of_tags = [f"{TAGS}/{TAG_PREFIX}{each}" for each in tags]
    delete_files(files, branch, list(same_files(files, main, branch, files_of_tags)))
    there = snapshot_ids(files, branch)
    copies = [f"{SNAPSHOTS}/{SNAPSHOT_PREFIX}{each}" for each in there if each in snapshots]
    left = [each for each in there if each not in snapshots]
    if copies and left and len(list(same_files(files, main, branch, copies))) == len(copies):
        files.replace(branch.earliest_hint, str(left[0]).encode())
        delete_files(files, branch, copies)


def _archive(files: Files, main: Root, archive: Root, replacement: Replacement) -> None:
    names = list(root_files(files, main))
    newest = f"{SCHEMAS}/{SCHEMA_PREFIX}{replacement.main_schema_id}"
    switched_off = with_retention(replacement.main_schema.encode(), main.schema(replacement.main_schema_id))
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
    return with_retention(replacement.branch_schema.encode(), branch.schema(replacement.branch_schema_id))


def _copied_tags(files: Files, branch: Root, replacement: Replacement) -> list[str]:
    """The paths below the branch of its copies of main's tags, including tags that main has lost."""
    now_there = digests(files, [branch.tag(name) for name in replacement.tags])
    pairs = zip(replacement.tags, replacement.tag_digests, now_there, strict=True)
    return [f"{TAGS}/{TAG_PREFIX}{name}" for name, was, now in pairs if was == now]


def digests(files: Files, paths: list[str]) -> list[str]:
    """Fingerprints of these files; empty for one that is gone."""
    return ["" if data is None else fingerprint(data) for data in files.read_many(paths)]


def earliest_of(files: Files, root: Root) -> str | None:
    """The text of a root's EARLIEST."""
    data = read_if_there(files, root.earliest_hint)
    return None if data is None else data.decode(errors="replace")
