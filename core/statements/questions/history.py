"""`history`: what happened to the rows of a key, commit by commit, newest first.

Only commits count whose files may hold the key: their manifests tell the range of a file's values. The rows
before and after those are looked up in Spark.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from paimark.core.actions.context import Context, Progress
from paimark.core.actions.plan_wording import engine_of as engine_name
from paimark.core.actions.plan_wording import job_of
from paimark.core.actions.repair.row_condition import values_condition
from paimark.core.actions.rewrite.json_rows import decoded, typed
from paimark.core.actions.rewrite.spark_rewrite import engine_of
from paimark.core.errors import FileMissing, Refused, UsageError
from paimark.core.spark.native.conditions import value_at, value_reader
from paimark.core.statements.questions.one_version import VersionQuery, snapshot_of
from paimark.core.table.definition.column_types import UNPADDED_TEXTS, WHOLE, ColumnType
from paimark.core.table.definition.kind_signs import hides_written_rows, is_on
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.lineage.notes import note_of
from paimark.core.table.manifests.files import delta_entries
from paimark.core.table.manifests.manifests import ManifestEntry
from paimark.core.table.names import near_names
from paimark.core.table.records import COMMIT_USER, ROWLESS, Snapshot, TableSchema
from paimark.core.travel.when import Version, versions

# More rows of one key are no key, and would be a long answer.
_MOST_ROWS = 100
_FIRST = 1
_EPOCH = date(1970, 1, 1)

Values = Mapping[str, Any]
Kind = Literal["added", "changed", "removed", "there"]


@dataclass(frozen=True, slots=True)
class Change:
    """What came with `after`, or between the two if snapshots between them have expired.

    `old` and `new` are the rows that differ. `before` is None for the oldest version: of kind `there`, unless
    it is a table's first commit, are its rows, and nobody knows how they came.
    """

    kind: Kind
    before: Version | None
    after: Version
    commit: Snapshot
    old: tuple[Values, ...]
    new: tuple[Values, ...]

    @property
    def columns(self) -> Iterator[tuple[str, Any, Any]]:
        """Of one row that was changed: each column that differs, with its old and its new value."""
        if self.kind == "changed" and len(self.old) == len(self.new) == 1:
            [old], [new] = self.old, self.new
            for name in dict.fromkeys((*old, *new)):
                if old.get(name) != new.get(name):
                    yield name, old.get(name), new.get(name)


def key_values(pairs: Iterable[str], word: str) -> dict[str, str]:
    """The values by column, of `order_id=42`. Raises `UsageError` with `word`, what they were given as."""
    values = {}
    for each in pairs:
        name, sign, value = each.partition("=")
        if not name.strip() or not sign:
            raise UsageError(f"{word} {each} is no column with its value", "Write order_id=42.")
        values[name.strip()] = value
    return values


def written_by(commit: Snapshot) -> str:
    """Who made a commit: the engine with its job, as far as the snapshot tells."""
    if commit.commit_user.startswith(COMMIT_USER):
        author = note_of(commit).author
        return f"Paimark ({author})" if author else "Paimark"
    job = job_of(commit.commit_user)
    return engine_name(commit.writer_version) + (f" ({job})" if job else "")


@dataclass(frozen=True, slots=True)
class History:
    """The rows of one root whose columns have the values of `key`, as texts: `{"order_id": "42"}`."""

    context: Context
    table: TablePath
    branch: str | None
    key: Mapping[str, str]

    def find(self, progress: Progress) -> Iterator[Change]:
        """The changes, newest first, and last the rows that the oldest version has already.

        The versions are read with the columns that the table has now. Raises `UsageError` for values that do
        not fit their column, and `Refused` if more rows have them than a key has.
        """
        root, schema = self.root, self._schema()
        condition = values_condition(schema, self.key)
        looked = versions(self.context.files, root, None, None)
        candidates = self._candidates(root, schema, looked)
        with engine_of(self.context) as engine:
            query = VersionQuery(
                self.context, engine, root, schema, "*", condition, progress, f" LIMIT {_MOST_ROWS + 1}"
            )
            yield from _changes(looked[0], candidates, query)

    @property
    def root(self) -> Root:
        return branch_root(self.context.files, self.table, self.branch)

    def _schema(self) -> TableSchema:
        schema = Lineage(self.context.files, self.root).require_schema()
        names = [field.name for field in schema.fields]
        for name in self.key:
            if name not in names:
                raise UsageError(f"{self.table.full_name} has no column {name}", near_names(name, names))
        if lacking := [name for name in schema.primary_keys if name not in self.key]:
            raise UsageError(
                f"The key of {self.table.full_name} also has {', '.join(lacking)}",
                f"Write --key {lacking[0]}=VALUE, too.",
            )
        return schema

    def _candidates(
        self, root: Root, schema: TableSchema, looked: Sequence[Version]
    ) -> Iterator[tuple[Version, Version]]:
        """The pairs of versions between which the rows may have changed, newest first."""
        test = may_hold(schema, self.key)
        for before, after in reversed(list(pairwise(looked))):
            # Nothing is known of a commit between them that has expired.
            if after.snapshot_id > before.snapshot_id + 1 or self._may_change(root, schema, after, test):
                yield before, after

    def _may_change(
        self, root: Root, schema: TableSchema, after: Version, test: Callable[[ManifestEntry], bool]
    ) -> bool:
        snapshot = snapshot_of(self.context, root, after)
        if snapshot is None:
            # It has expired meanwhile: nothing is known of it.
            return True
        # In some tables readers see rows only after a compaction.
        if snapshot.commit_kind in ROWLESS and not hides_written_rows(schema):
            return False
        if snapshot.index_manifest is not None and is_on(schema.options, "deletion-vectors.enabled"):
            # Rows of files that it does not name may be marked as deleted.
            return True
        # Without its manifests nothing rules it out.
        with suppress(FileMissing):
            return any(map(test, delta_entries(self.context.files, self.table, snapshot)))
        return True


class _Found(NamedTuple):
    """The rows after a commit that may have changed them, and the version before it."""

    before: Version
    after: Version
    commit: Snapshot
    rows: tuple[str, ...]


def _changes(
    oldest: Version, candidates: Iterable[tuple[Version, Version]], query: VersionQuery
) -> Iterator[Change]:
    """The rows are the same from one candidate to the next: only theirs are looked up."""
    newer: _Found | None = None
    for before, after in candidates:
        if (found := _rows(query, after)) is None:
            # What changed there is told with the next newer commit.
            newer = newer and newer._replace(before=before)
            continue
        if newer is not None:
            yield from _change(query.schema, newer, found[1])
        newer = _Found(before, after, *found)
    first = _rows(query, oldest)
    if newer is not None:
        yield from _change(query.schema, newer, () if first is None else first[1])
    if first is not None and first[1]:
        # A table's rows of its first commit came with that.
        kind: Kind = "added" if first[0].id == _FIRST else "there"
        yield Change(kind, None, oldest, first[0], (), _decoded(query.schema, first[1]))


def _rows(query: VersionQuery, version: Version) -> tuple[Snapshot, tuple[str, ...]] | None:
    """The rows as JSON."""
    if (found := query.rows(version)) is None:
        return None
    snapshot, rows = found
    if len(rows) > _MOST_ROWS:
        raise Refused(
            f"More than {_MOST_ROWS} rows of {query.root.table.full_name} have these values",
            "Name more columns with --key.",
        )
    return snapshot, tuple(sorted(rows))


def _change(schema: TableSchema, newer: _Found, older: tuple[str, ...]) -> Iterator[Change]:
    # Without a key equal rows count by their number.
    was, now = Counter(older), Counter(newer.rows)
    old, new = (_decoded(schema, rows.elements()) for rows in (was - now, now - was))
    if old or new:
        kind: Kind = "changed" if old and new else "added" if new else "removed"
        yield Change(kind, newer.before, newer.after, newer.commit, old, new)


def _decoded(schema: TableSchema, rows: Iterable[str]) -> tuple[Values, ...]:
    return tuple(typed(schema, decoded(row)) for row in rows)


def may_hold(schema: TableSchema, key: Mapping[str, str]) -> Callable[[ManifestEntry], bool]:
    """A test whether a file may hold rows with these values, by its partition and the range of its keys."""
    kinds = {field.name: str(field.type) for field in schema.fields}
    known = {name: value for name, text in key.items() if (value := _known(kinds[name], text)) is not None}
    readers = {name: value_reader(kinds[name]) for name in known}
    partitions, keys = schema.partition_keys, schema.trimmed_primary_keys

    def holds(entry: ManifestEntry) -> bool:
        try:
            for place, name in enumerate(partitions):
                if (reader := readers.get(name)) is not None:
                    value = value_at(entry.partition, len(partitions), place, reader)
                    if value != known[name]:
                        return False
            # The smallest key has the smallest value of the first column.
            if keys and (reader := readers.get(keys[0])) is not None:
                low, high = (
                    value_at(entry.file[each], len(keys), 0, reader) for each in ("_MIN_KEY", "_MAX_KEY")
                )
                return bool(low <= known[keys[0]] <= high)
        except (struct.error, ValueError, IndexError, TypeError):
            # Ranges that can't be read rule nothing out.
            return True
        return True

    return holds


def _known(kind: str, text: str) -> Any:
    """The value as `value_reader` reads it; None for a type or a text that is not compared here."""
    column = ColumnType.of(kind)
    with suppress(ValueError, InvalidOperation):
        if column.name in WHOLE:
            return int(text)
        if column.name in UNPADDED_TEXTS:
            return text
        if column.name == "DATE":
            return (date.fromisoformat(text) - _EPOCH).days
        if column.name == "DECIMAL":
            return Decimal(text)
    return None
