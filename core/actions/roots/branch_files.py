"""Write the files of a new branch root in a safe order, and remove those of an unfinished one.

A root can be opened once it has a schema. So schemas are written last, the newest first: every commit of a
job is then built on the branch's snapshot. Until then, stock orphan cleaning of the table stops.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from paimark.core.actions.checks import fingerprint
from paimark.core.actions.roots.guard_tags import guard
from paimark.core.actions.roots.root_files import paths_below
from paimark.core.actions.temp_files import delete_temporaries, meant_for
from paimark.core.errors import FileMissing, Refused
from paimark.core.storage.files import Files
from paimark.core.storage.paths import is_inside
from paimark.core.table.definition.retention import with_retention, without_time_to_live
from paimark.core.table.layout import SCHEMA_PREFIX, Root, TablePath, numbered
from paimark.core.table.manifests.files import data_manifests
from paimark.core.table.manifests.manifests import read_facts
from paimark.core.table.records import DECODE_ERRORS, Tag, is_same_commit


@dataclass(frozen=True)
class BranchSource:
    """Files of main that a branch starts with: the tag, its snapshot, and schemas 0 to the highest needed.

    `pin` names a permanent tag of the same snapshot, if engines may delete the tag by themselves; else empty.
    Both are one if the branch is made from a snapshot: this tag is made for it.
    """

    root: Root
    tag_name: str
    tag_data: bytes
    snapshot_id: int
    snapshot_data: bytes
    schemas: tuple[bytes, ...]
    pin: str = ""

    @property
    def pin_data(self) -> bytes:
        return without_time_to_live(self.tag_data, self.root.tag(self.tag_name))

    @property
    def highest_schema(self) -> int:
        return len(self.schemas) - 1

    @property
    def fingerprint(self) -> str:
        # Without the snapshot's bytes: its file may expire, and the tag's bytes then replace it.
        return fingerprint(self.root.directory, self.tag_name, self.tag_data, *self.schemas)

    def groups(self, branch: Root) -> list[tuple[str, list[tuple[str, bytes]]]]:
        """Groups of files to write to the branch, in order: a sentence, and the paths with their bytes."""
        newest = self.highest_schema
        schemas = [(branch.schema(number), data) for number, data in enumerate(self.schemas)]
        switched_off = with_retention(self.schemas[newest], self.root.schema(newest))
        schemas[newest] = (branch.schema(newest), switched_off)
        hint = str(self.snapshot_id).encode()
        return [
            (
                f"copied snapshot {self.snapshot_id}",
                [(branch.snapshot(self.snapshot_id), self.snapshot_data)],
            ),
            ("wrote EARLIEST and LATEST", [(branch.earliest_hint, hint), (branch.latest_hint, hint)]),
            (f"copied tag {self.tag_name}", [(branch.tag(name), data) for name, data in self._tags()]),
            (
                f"copied schemas {newest} to 0, retention off in the newest"
                if newest
                else "copied schema 0, retention off in it",
                schemas[::-1],
            ),
        ]

    def _tags(self) -> Iterator[tuple[str, bytes]]:
        if self.pin:
            # With the pin, the tag's files stay when an engine deletes the tag on the branch.
            yield self.pin, self.pin_data
        if self.pin != self.tag_name:
            yield self.tag_name, self.tag_data


def branch_source(
    files: Files, root: Root, tag_name: str, highest_schema: int, pin: str = "", data: bytes | None = None
) -> BranchSource:
    """Read the files for a branch from this tag. Raises `FileMissing`, also for a missing schema.

    `data` are the bytes of a tag that is not made yet.
    """
    tag_data = files.read(root.tag(tag_name)) if data is None else data
    tag = Tag.from_json(tag_data, root.tag(tag_name))
    schemas = []
    # Read one after the other: the number may be a damaged one, of schemas that nobody could count.
    for number, data in enumerate(files.read_many(map(root.schema, range(highest_schema + 1)))):
        if data is None:
            raise FileMissing(root.schema(number))
        schemas.append(data)
    return BranchSource(
        root, tag_name, tag_data, tag.id, _snapshot_data(files, root, tag.id, tag_data), tuple(schemas), pin
    )


def highest_schema_id(files: Files, table: TablePath, tag: Tag) -> int:
    """The highest schema id in the tag, its manifests and their entries. Raises `FileMissing`.

    Writers may stamp a file with a newer schema than its snapshot's.
    """
    manifests = data_manifests(files, table, tag)
    highest = max([tag.schema_id, *(meta.schema_id for meta in manifests)])
    sizes = {table.manifest(meta.file_name): meta.file_size for meta in manifests}
    return max([highest, *(each.schema_id for _, each in read_facts(files, sizes))])


def pin_tag(files: Files, source: BranchSource) -> None:
    """Before the branch is written: make main keep the tag's files. Idempotent.

    Raises `Refused` if another tag has the name of the pin.
    """
    if not source.pin:
        return
    path = source.root.tag(source.pin)
    if not files.create(path, source.pin_data):
        there = Tag.from_json(files.read(path), path)
        if not is_same_commit(there, Tag.from_json(source.tag_data, path)):
            raise Refused(f"{path} is of another snapshot {there.id}", "Choose another name for the branch.")
    guard(files, source.root, source.pin)


def write_branch(
    files: Files, source: BranchSource, branch: Root, written: list[str] | None
) -> Iterator[str]:
    """Write the branch, yielding a sentence after each step. Paths that may be new are added to `written`.

    `written` is None when an interrupted creation is continued: existing files then stay. Otherwise raises
    `Refused` when another process writes the same branch.
    """
    for sentence, group in source.groups(branch):
        for path, data in group:
            if written is None:
                files.create(path, data)
                continue
            # Added before the call: a store that fails may have written the file nevertheless.
            written.append(path)
            if not files.create(path, data):
                written.pop()
                raise _taken(path)
        yield sentence
    if written is not None:
        _require_own(files, source, branch, written)


def _require_own(files: Files, source: BranchSource, branch: Root, written: list[str]) -> None:
    """Check all files again: another engine that makes this branch may have overwritten one.

    Its files are removed from `written`. Raises `Refused`.
    """
    expected = dict(pair for _, group in source.groups(branch) for pair in group)
    taken = []
    for (path, data), there in zip(expected.items(), files.read_many(expected), strict=True):
        # Hints change with each commit.
        if path not in (branch.earliest_hint, branch.latest_hint) and there not in (data, None):
            written.remove(path)
            taken.append(path)
    if taken:
        raise _taken(taken[0])


def _taken(path: str) -> Refused:
    return Refused(f"Somebody else has just written {path}", "Choose another name for the branch.")


def take_back(files: Files, branch: Root, written: list[str]) -> None:
    """Remove the files that `write_branch` created."""
    for path in reversed(written):
        files.delete(path)
    files.prune(branch.directory)


def others_files(files: Files, source_names: list[str], branch: Root) -> list[str]:
    """The files of a branch besides those that its creation writes, which have these paths."""
    expected = set(source_names)
    paths = paths_below(files, branch.directory)
    return sorted(path for path in paths if path not in expected and _finished(path) not in expected)


def remove_unfinished(files: Files, source_names: list[str], branch: Root, newest_schema: int) -> bool:
    """Remove an interrupted creation; its files have these paths.

    Returns False, and removes nothing, if another engine made the branch.
    """
    if is_anothers(files, branch, newest_schema):
        return False
    paths = list(filter(is_inside, paths_below(files, branch.directory)))
    left = [path for path in paths if path not in set(source_names)]
    for path in [*left, *(path for path in reversed(source_names) if path in paths)]:
        files.delete(path)
    files.prune(branch.directory)
    return True


def is_anothers(files: Files, branch: Root, newest_schema: int) -> bool:
    """Whether another engine has made the branch: it lacks the file that Paimark's creation writes first.

    Among the schemas that is the newest, with stock expiry off. Another engine may end with its snapshot's.
    """
    path = branch.schema(newest_schema)
    [schema] = files.read_many([path])
    if schema is None:
        return bool(numbered(files.names(branch.schemas), SCHEMA_PREFIX))
    return not is_protected(schema, path)


def is_protected(schema: bytes, path: str) -> bool:
    """Whether a schema disables stock expiry; copies by other engines never do."""
    return with_retention(schema, path) == schema


def clean_unfinished(files: Files, branch: Root, source_names: list[str]) -> None:
    """Remove the half-written files of a creation that was finished after all.

    Those of hints stay: the branch may have writers by now.
    """
    hints = {branch.earliest_hint, branch.latest_hint}
    for path in source_names:
        directory, _, name = path.rpartition("/")
        if path not in hints:
            delete_temporaries(files, directory, {name})


def _finished(path: str) -> str | None:
    """The intended path of a half-written file."""
    directory, _, name = path.rpartition("/")
    meant = meant_for(name)
    return None if meant is None else f"{directory}/{meant}"


def _snapshot_data(files: Files, root: Root, snapshot_id: int, tag_data: bytes) -> bytes:
    """The snapshot's bytes if it exists: both lineages then have the same file. Else the tag's bytes."""
    plain = without_time_to_live(tag_data, root.tag(""))
    try:
        data = files.read(root.snapshot(snapshot_id))
        if msgspec.json.decode(data) == msgspec.json.decode(plain):
            return data
    except (FileMissing, *DECODE_ERRORS):
        pass
    return plain
