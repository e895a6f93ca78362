"""The two versions of a difference: the typed text, its root, and its columns.

12  snapshot.12  savepoint.3  v2        of main (a savepoint: of the branch that has it)
fix  branch.fix  main                   the head of a branch
fix:savepoint.1                         a version of a branch
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from paimark.core.errors import NotFound, UsageError
from paimark.core.storage.files import Files
from paimark.core.table.layout import MAIN, Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, branch_names, branch_root, main_root
from paimark.core.table.names import is_safe_name
from paimark.core.table.records import Snapshot, TableSchema
from paimark.core.travel.requested_version import RequestedVersion
from paimark.core.travel.version import resolve_latest, resolve_version

_BRANCH = "branch."
_SAVEPOINT = re.compile(r"savepoint\.[0-9]{1,18}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DiffVersion:
    """One side. `name` is a version that resolves to it, None for the head of its root.

    `snapshot` is None if the root has none yet; `note` is the note of its resolution.
    """

    root: Root
    label: str
    name: str | None
    snapshot: Snapshot | None
    schema: TableSchema
    note: str = ""


def parse_version(files: Files, table: TablePath, text: str) -> RequestedVersion:
    """Parse a typed version. Raises `UsageError` for a name that is both a branch and a tag."""
    if text == MAIN:
        return RequestedVersion()
    known = branch_names(files, table)
    branch = text.removeprefix(_BRANCH)
    if text.startswith(_BRANCH) and (branch in known or branch == MAIN):
        return RequestedVersion(_branch(branch))
    is_tag = is_safe_name(text) and Lineage(files, main_root(files, table)).has_tag(text)
    if text in known and is_tag:
        raise UsageError(
            f"{table.full_name} has both a branch and a tag {text}",
            f"Write {_BRANCH}{text} for the branch, {MAIN}:{text} for the tag.",
        )
    if text in known:
        return RequestedVersion(text)
    positions = (position for position, letter in enumerate(text) if letter == ":")
    for position in positions if not is_tag else ():
        if text[:position] in (*known, MAIN):
            return RequestedVersion(_branch(text[:position]), text[position + 1 :])
    return RequestedVersion(None, text)


def find_version(files: Files, table: TablePath, requested: RequestedVersion) -> DiffVersion:
    """Look up a version. Raises `NotFound` and `Corrupt`."""
    root = branch_root(files, table, requested.branch)
    if requested.version is None:
        return _head(files, root)
    if requested.branch is None:
        root = _root_with(files, root, requested.version)
    try:
        resolved = resolve_version(files, root, requested.version)
    except NotFound as error:
        known = ", ".join([MAIN, *branch_names(files, table)][:5])
        hint = f"{error.hint} Branches: {known}.".strip()
        raise NotFound(error.message, hint) from error
    schema = Lineage(files, root).schema(resolved.snapshot.schema_id)
    is_main = root == main_root(files, table)
    label = resolved.name if is_main else f"{root.label}:{resolved.name}"
    return DiffVersion(root, label, resolved.name, resolved.snapshot, schema, resolved.note)


def shared_field_id(files: Files, old: Root, new: Root) -> int:
    """The highest field id that means the same column in both roots; -1 if no id certainly does.

    A branch begins with main's schemas. After they diverge, both assign the same ids to different columns.
    """
    if old == new:
        return max((each.highest_field_id for each in Lineage(files, old).schemas()), default=-1)
    left, right = ({each.id: each for each in Lineage(files, root).schemas()} for root in (old, new))
    return max(
        (
            left[each].highest_field_id
            for each in left.keys() & right.keys()
            if _same(left[each], right[each])
        ),
        default=-1,
    )


def _branch(name: str) -> str | None:
    return None if name == MAIN else name


def _same(left: TableSchema, right: TableSchema) -> bool:
    return [(each.id, each.name, each.type) for each in left.fields] == [
        (each.id, each.name, each.type) for each in right.fields
    ]


def _head(files: Files, root: Root) -> DiffVersion:
    newest = resolve_latest(files, root)
    schema = Lineage(files, root).require_schema()
    label = MAIN if root == main_root(files, root.table) else root.label
    return DiffVersion(root, label, None, newest.snapshot if newest else None, schema)


def _root_with(files: Files, main: Root, version: str) -> Root:
    """Main, or the branch that has the savepoint if main lacks it: savepoint ids are unique in a table."""
    if not _SAVEPOINT.fullmatch(version) or _has(files, main, version):
        return main
    others: Sequence[Root] = [root for root in all_roots(files, main.table) if _has(files, root, version)]
    return others[0] if others else main


def _has(files: Files, root: Root, version: str) -> bool:
    return Lineage(files, root).has_tag(version.lower())
