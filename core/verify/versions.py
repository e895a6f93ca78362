"""Every version that a table holds: the snapshots, tags and changelogs of every root, and the savepoints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, NamedTuple

from paimark.core.actions.garbage.references import roots_and_guards
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import CHANGELOG_PREFIX, Root, TablePath, numbered, savepoint_tag
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, main_root
from paimark.core.table.records import Savepoint, Snapshot, Tag, commit_key, read_records
from paimark.core.table.savepoints import SavepointManager


class StoredVersion(NamedTuple):
    """One file that names a state of the table. `name` is its name for people, `path` that of the file.

    `schemas` is the root that has the schemas of its files. `record` is None for a savepoint.
    """

    kind: Literal["snapshot", "tag", "changelog", "savepoint"]
    name: str
    path: str
    schemas: Root
    record: Snapshot | None
    savepoint: Savepoint | None = None

    @property
    def schema_id(self) -> int:
        if self.record is not None:
            return self.record.schema_id
        return self.savepoint.schema_id if self.savepoint else 0


class Versions(NamedTuple):
    """Root by root, each with ascending ids. `damaged` maps the path of each unreadable file to the error."""

    roots: Sequence[Root]
    all: Sequence[StoredVersion]
    damaged: dict[str, str]


def versions(files: Files, table: TablePath) -> Versions:
    """Raises `NotFound`, and `Corrupt` if not even the roots can be determined."""
    main = main_root(files, table)
    roots = roots_and_guards(files, table)
    damaged: dict[str, str] = {}
    listed: list[StoredVersion] = []
    for of_root in each_of(partial(_of_root, files, main, damaged), roots):
        listed += of_root
    manager = SavepointManager(files, table)
    schemas_of = {each.path: each.schemas for each in listed}
    for each in manager.all():
        # The root with its tag: the root in which it was made may have another name now, or be gone.
        tags = (root.tag(savepoint_tag(each.id)) for root in roots)
        schemas = next((schemas_of[path] for path in tags if path in schemas_of), main)
        listed.append(
            StoredVersion("savepoint", f"savepoint {each.id}", table.savepoint(each.id), schemas, None, each)
        )
    return Versions(roots, listed, damaged | manager.unreadable)


def same_state(version: StoredVersion) -> tuple[object, ...]:
    """Equal for versions that need the same files, such as the copies of one commit in tags and branches."""
    if version.record is None:
        return ("savepoint", version.path)
    return (version.kind == "changelog", *commit_key(version.record))


def _of_root(files: Files, main: Root, damaged: dict[str, str], root: Root) -> list[StoredVersion]:
    # While a branch is main, the tags in the table directory are copies of its tags.
    is_guard = root.branch is None and root != main
    schemas = main if is_guard else root
    unreadable: dict[str, str] = {}

    def read(
        kind: Literal["snapshot", "changelog"], ids: list[int], path: Callable[[int], str]
    ) -> list[StoredVersion]:
        return [
            StoredVersion(kind, f"{kind} {record.id} of {root.label}", where, schemas, record)
            for where, record in read_records(Snapshot, files, list(map(path, ids)), unreadable)
        ]

    snapshots = read("snapshot", numbered(files.names(root.snapshots), "snapshot-"), root.snapshot)
    changelogs = read("changelog", numbered(files.names(root.changelogs), CHANGELOG_PREFIX), root.changelog)
    lineage = Lineage(files, root)
    tags = [_tag_version(root, schemas, name, tag, is_guard) for name, tag in lineage.tags()]
    if is_guard:
        # They are of a stale engine: their schemas moved away with the main that was in the table directory.
        known = set(Lineage(files, main).schema_ids())
        snapshots, tags = (
            [each if each.schema_id in known else _with_schema(files, each) for each in each_kind]
            for each_kind in (snapshots, tags)
        )
    damaged |= unreadable | lineage.unreadable
    return [*snapshots, *sorted(tags, key=_id), *changelogs]


def _with_schema(files: Files, version: StoredVersion) -> StoredVersion:
    """The version with the root that has its schema, if any has."""
    roots = all_roots(files, version.schemas.table)
    having = (each for each in roots if files.exists(each.schema(version.schema_id)))
    return version._replace(schemas=next(having, version.schemas))


def _tag_version(root: Root, schemas: Root, name: str, tag: Tag, is_guard: bool) -> StoredVersion:
    of = "the table directory, a guard" if is_guard else root.label
    return StoredVersion("tag", f"tag {name} of {of}", root.tag(name), schemas, tag)


def _id(version: StoredVersion) -> int:
    return version.record.id if version.record else 0
