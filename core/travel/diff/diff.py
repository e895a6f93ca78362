"""The difference between two versions of a table, what was added, removed and changed: as SQL, and answered.

Rows with a key are found by it; rows without are counted, for a table may hold one twice. Reading metadata is
`make_difference`'s; the rest is pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any

from core.quoting import literal, quoted
from core.storage.files import Files
from core.table.layout import TablePath
from core.table.lineage.main_branch import main_root
from core.text import clean_text
from core.travel.diff import counted, keyed
from core.travel.diff.columns import ColumnPair, column_notes, key_pairs, pair_columns
from core.travel.diff.page import CHANGES, Change, Page
from core.travel.diff.rows import DiffRow, Totals, page_rows, read_totals
from core.travel.diff.sides import Sides
from core.travel.diff.versions import DiffVersion, find_version, shared_field_id
from core.travel.wanted import Wanted


@dataclass(frozen=True)
class Difference:
    """From `old` to `new`. `keys` are some of `pairs`; without any, rows are counted.

    `is_unique` says that no two rows of a version can have the same key.
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
        """Whether rows that are the same in both may be missing: no row is compared with several."""
        return self.is_unique or not self.keys

    @property
    def notes(self) -> list[str]:
        """Notes on the two versions and their columns, a sentence each."""
        notes = [each.note for each in (self.old, self.new) if each.note]
        return [*notes, *column_notes(self.old, self.new, self.pairs)]

    @property
    def title(self) -> str:
        return f"{self.table.full_name}: from {self.old.label} to {self.new.label}"

    @property
    def statement(self) -> str:
        """The statement with what it is above it, as a person finds it in an editor."""
        # A backslash before the end of the line would make the next one part of the comment.
        lines = [re.sub(r"\\\Z", "\\\\ ", clean_text(line)) for line in (self.title, *self.notes)]
        return "".join(f"-- {line}\n" for line in lines) + self.sql

    @property
    def changes(self) -> tuple[Change, ...]:
        """The kinds of change that a row can have."""
        return CHANGES if self.keys else CHANGES[:2]

    @property
    def row_counts(self) -> tuple[int, int] | None:
        """How many rows each version has, where both snapshots say so; None for where they don't."""
        old, new = _row_count(self.old), _row_count(self.new)
        return None if old is None or new is None else (old, new)

    @cached_property
    def sides(self) -> Sides:
        return Sides(self._source(new=False), self._source(new=True), self.pairs, self.keys)

    # Statements, and what they answer

    @property
    def sql(self) -> str:
        """All rows, with all their columns: see `wide_sql` of `keyed` and `counted`."""
        return str(self._by.wide_sql(self.sides))

    @property
    def totals_sql(self) -> str:
        return str(self._by.totals_sql(self.sides))

    def page_sql(self, page: Page) -> str:
        return str(self._by.page_sql(self.sides, page))

    def totals(self, rows: Iterable[Sequence[Any]]) -> Totals:
        """From the rows of `totals_sql`."""
        return read_totals(self.sides, rows)

    def rows(self, batch: Any) -> Iterator[DiffRow]:
        """From a batch (a pyarrow RecordBatch) of `page_sql`."""
        return page_rows(self.sides, batch)

    @property
    def duplicate_sql(self) -> str:
        """A row with a key that is not the only one of its kind, as JSON; none where keys are unique."""
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
    files: Files, table: TablePath, old: Wanted, new: Wanted, keys: Sequence[str] = ()
) -> Difference:
    """Look both versions up, heads at the snapshot that is the newest now, so that what is counted and what
    is shown are of the same two. `keys` are columns in place of the primary key.

    Raises `NotFound` for a version or key that is not there, `Refused` where the primary keys differ.
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


def _row_count(version: DiffVersion) -> int | None:
    """None where rows are merged, hidden, or put together from several files."""
    snapshot, schema = version.snapshot, version.schema
    if schema.primary_keys or "data-evolution.enabled" in schema.options:
        return None
    if snapshot is None:
        return 0
    return None if snapshot.index_manifest else snapshot.total_record_count


def _pinned(version: DiffVersion) -> DiffVersion:
    """A head whose schema no commit has yet can't be: its new columns are not in the snapshot."""
    newest = version.snapshot
    if version.name is not None or newest is None or newest.schema_id != version.schema.id:
        return version
    return replace(version, name=f"snapshot.{newest.id}")
