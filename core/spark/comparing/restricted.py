"""Restrict two scans of a table, the sides of a difference, to the files that each needs to read."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace as replace_in

from msgspec.structs import replace

from paimark.core.errors import FileMissing, PaimarkError, Unavailable
from paimark.core.figures import counted
from paimark.core.spark.comparing.differing import Differing, ReadWhole, State, differing_files
from paimark.core.spark.datasource.scan import Beside, Scan
from paimark.core.storage.files import Files
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import data_manifests, live_entries
from paimark.core.table.manifests.manifests import read_deletion_vectors
from paimark.core.table.records import Snapshot, TableSchema

# The names of the files are sent with every task.
_MOST_FILES = 20_000


@dataclass(frozen=True, slots=True)
class Side:
    """`note` tells how many of its files are read, or why all are read."""

    scan: Scan
    note: str


def restricted(files: Files, old: Scan, new: Scan) -> tuple[Side, Side]:
    """The scans without the files that cancel out: rows that are equal in both may be missing.

    Raises `Unavailable`. If metadata can't be read, all files are read, and the readers report the error.
    """
    try:
        if old.root.table != new.root.table:
            raise ReadWhole("they are two tables")
        left, right = _state(files, old), _state(files, new)
        names = differing_files(left, right)
        if max(len(names.old), len(names.new)) > _MOST_FILES:
            raise ReadWhole(f"more than {_MOST_FILES:,} of them differ")
    except ReadWhole as why:
        return Side(old, f"All files are read: {why}."), Side(new, f"All files are read: {why}.")
    except Unavailable:
        raise
    except PaimarkError as error:
        note = f"All files are read: {error.message}."
        return Side(old, note), Side(new, note)
    before, after = _side(old, left, names.old), _side(new, right, names.new)
    return _beside(before, after.scan, names), _beside(after, before.scan, names)


def _beside(side: Side, other: Scan, names: Differing) -> Side:
    """Add the other state to the scan, so that readers can leave out rows of a file that are in both."""
    if not names.alike:
        return side
    told = Beside(other.branch, other.snapshot, other.schema, other.only, tuple(sorted(names.alike)))
    return replace_in(side, scan=replace(side.scan, beside=told))


def _side(scan: Scan, state: State, names: frozenset[str]) -> Side:
    count = counted(len(state.entries), "file")
    is_whole = len(names) == len(state.entries)
    note = f"Reads {len(names):,} of {count}" + (": the others are in both." if not is_whole else ".")
    return Side(replace(scan, only=None if is_whole else tuple(sorted(names))), note)


def _state(files: Files, scan: Scan) -> State:
    schema = scan.table_schema
    if not scan.snapshot:
        return State(schema, (), {}, {})
    root = scan.root
    snapshot = Snapshot.from_json(scan.snapshot.encode(), root.snapshots)
    entries = live_entries(files, root.table, data_manifests(files, root.table, snapshot))
    written = _schemas(files, scan, {entry.facts.schema_id for entry in entries})
    path = snapshot.index_manifest
    vectors = read_deletion_vectors(files, root.table.manifest(path)) if path else {}
    return State(schema, entries, written, vectors)


def _schemas(files: Files, scan: Scan, numbers: set[int]) -> dict[int, TableSchema]:
    lineage, found = Lineage(files, scan.root), dict[int, TableSchema]()
    for number in numbers:
        try:
            found[number] = TableSchema.from_path(files, lineage.root.schema(number))
        except FileMissing:
            # Files of a missing schema never cancel out.
            continue
    return found
