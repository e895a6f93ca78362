"""The difference between two versions of a table (rows added, removed and changed): its SQL, and its results.

Rows with a key are matched by it. Rows without a key are counted, because a table may contain a row twice.
Only `make_difference` and `require_old` read metadata; the rest is pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any

from paimark.core.errors import Refused
from paimark.core.quoting import literal, quoted
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.main_branch import branch_root, main_root
from paimark.core.table.records import Point, is_same_commit
from paimark.core.text import clean_text
from paimark.core.travel.diff import counted, keyed
from paimark.core.travel.diff.columns import ColumnPair, Sides, column_notes, key_pairs, pair_columns
from paimark.core.travel.diff.rows import CHANGES, Change, DiffRow, Page, Totals, page_rows, read_totals
from paimark.core.travel.diff.versions import DiffVersion, find_version, shared_field_id
from paimark.core.travel.requested_version import RequestedVersion
from paimark.core.travel.version import resolve_version


@dataclass(frozen=True)
class Difference:
    """The difference from `old` to `new`. `keys` is a subset of `pairs`; if it is empty, rows are counted.

    `is_unique`: no two rows of a version can have the same key.
    """

    table: TablePath
    old: DiffVersion
    new: DiffVersion
    pairs: tuple[ColumnPair, ...]
    keys: tuple[ColumnPair, ...]
    is_unique: bool
    is_main: tuple[bool, bool]

    @property
    def cancels(self) -> bool:
        """Whether the inputs may lack rows that are equal in both: no row is compared with several."""
        return self.is_unique or not self.keys

    @property
    def notes(self) -> list[str]:
        """Notes on the two versions and their columns, one sentence each."""
        notes = [each.note for each in (self.old, self.new) if each.note]
        return [*notes, *column_notes(self.old, self.new, self.pairs)]

    @property
    def title(self) -> str:
        return f"{self.table.full_name}: from {self.old.label} to {self.new.label}"

    @property
    def statement(self) -> str:
        """The SQL under comment lines with the title and the notes, for an editor."""
        # A backslash at the end of a comment line would make the next line part of the comment.
        lines = [re.sub(r"\\\Z", "\\\\ ", clean_text(line)) for line in (self.title, *self.notes)]
        return "".join(f"-- {line}\n" for line in lines) + self.sql

    @property
    def changes(self) -> tuple[Change, ...]:
        """The kinds of change that a row can have."""
        return CHANGES if self.keys else CHANGES[:2]

    @property
    def row_counts(self) -> tuple[int, int] | None:
        """The row counts of both versions; None if the two snapshots don't give them."""
        old, new = _row_count(self.old), _row_count(self.new)
        return None if old is None or new is None else (old, new)

    def require_read(self, point: Point | None) -> None:
        """Raises `Refused` if a statement has read another snapshot: one that has got the number since."""
        snapshots = (self.old.snapshot, self.new.snapshot)
        if point is not None and not any(each and point.is_of(each) for each in snapshots):
            raise _moved(self, f"snapshot.{point.id}")

    @cached_property
    def sides(self) -> Sides:
        return Sides(self._source(new=False), self._source(new=True), self.pairs, self.keys)

    # Statements, and their results

    @property
    def sql(self) -> str:
        """Selects all rows that differ, with all columns: see `wide_sql` of `keyed` and `counted`."""
        return str(self._by.wide_sql(self.sides))

    @property
    def totals_sql(self) -> str:
        return str(self._by.totals_sql(self.sides))

    def page_sql(self, page: Page) -> str:
        return str(self._by.page_sql(self.sides, page))

    def totals(self, rows: Iterable[Sequence[Any]]) -> Totals:
        """Parse the rows of `totals_sql`."""
        return read_totals(self.sides, rows)

    def rows(self, batch: Any) -> Iterator[DiffRow]:
        """Parse a batch (a pyarrow RecordBatch) of `page_sql`."""
        return page_rows(self.sides, batch)

    @property
    def duplicate_sql(self) -> str:
        """Selects one duplicate key of a version, as JSON; no row if all keys are unique."""
        sides = [
            f"SELECT to_json(struct({keys})) AS key FROM {self.sides.source(new)} "
            f"GROUP BY {keys} HAVING count(*) > 1"
            for new in (False, True)
            for keys in [", ".join(self.sides.keys_of(new))]
        ]
        return f"SELECT key FROM ({' UNION ALL '.join(sides)}) LIMIT 1"

    @property
    def _by(self) -> ModuleType:
        return keyed if self.keys else counted

    def _source(self, new: bool) -> str:
        version = self.new if new else self.old
        root, table = version.root, self.table
        name = table.name if self.is_main[new] else f"{table.name}$branch_{root.label}"
        at = "" if version.name is None else f" VERSION AS OF {literal(version.name)}"
        return f"{quoted(table.database)}.{quoted(name)}{at}"


def make_difference(
    files: Files, table: TablePath, old: RequestedVersion, new: RequestedVersion, keys: Sequence[str] = ()
) -> Difference:
    """Look up both versions. A head is pinned to its newest snapshot, so that totals and pages read the same
    two states. `keys` are columns that replace the primary key.

    Raises `NotFound` for a missing version or key, `Refused` if the primary keys differ.
    """
    left, right = _pinned(find_version(files, table, old)), _pinned(find_version(files, table, new))
    pairs = pair_columns(left.schema, right.schema, shared_field_id(files, left.root, right.root))
    key_columns = key_pairs(left, right, pairs, keys)
    primary = set(right.schema.primary_keys)
    main = main_root(files, table)
    return Difference(
        table,
        left,
        right,
        tuple(pairs),
        tuple(key_columns),
        is_unique=bool(primary) and primary <= {pair.name for pair in key_columns},
        is_main=(left.root == main, right.root == main),
    )


def require_old(files: Files, difference: Difference) -> None:
    """Raises `Refused` or `NotFound` unless the older version is what its name means in the newer root."""
    old, is_main = difference.old, difference.is_main[1]
    if old.name is None or old.snapshot is None:
        return
    root = branch_root(files, difference.table, None if is_main else difference.new.root.label)
    if not is_same_commit(resolve_version(files, root, old.name).snapshot, old.snapshot):
        raise _moved(difference, old.name)


def _moved(difference: Difference, name: str) -> Refused:
    reason = f"{name} of {difference.table.full_name} is another version by now than the one compared"
    return Refused(reason, "Compare the versions again.")


def _row_count(version: DiffVersion) -> int | None:
    """None if the files' row counts are not the version's: rows are merged, deleted, or in several files."""
    snapshot, schema = version.snapshot, version.schema
    if schema.primary_keys or "data-evolution.enabled" in schema.options:
        return None
    if snapshot is None:
        return 0
    return None if snapshot.index_manifest else snapshot.total_record_count


def _pinned(version: DiffVersion) -> DiffVersion:
    """Pin a head to its newest snapshot, unless that has an older schema and so lacks new columns."""
    newest = version.snapshot
    if version.name is not None or newest is None or newest.schema_id != version.schema.id:
        return version
    return replace(version, name=f"snapshot.{newest.id}")
