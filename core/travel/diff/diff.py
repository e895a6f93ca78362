"""The SQL of a difference between two versions of a table: what was added, removed and changed.

Rows with a key are found by it; rows without are counted, for a table may hold one twice. Reading metadata is
`make_difference`'s; the rest is pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.quoting import literal, quoted
from core.storage.files import Files
from core.table.layout import TablePath
from core.table.lineage.main_branch import main_root
from core.table.records import SchemaField
from core.text import clean_text, distinct
from core.travel.diff.columns import (
    ColumnPair,
    column_notes,
    comparable,
    has_no_order,
    key_pairs,
    pair_columns,
)
from core.travel.diff.versions import DiffVersion, find_version, shared_field_id
from core.travel.wanted import Wanted

CHANGES = ("added", "removed", "changed")
# Only seen inside the statement, beside columns that it names by their places: no table's can clash with it.
_SIDE, _CHANGE, _TIMES = "__paimark_side", "change", "times"


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
    def sql(self) -> str:
        """Its columns: `change`, the keys, `changed_columns`, then `old_x` and `new_x` of each other column.

        Without keys: `change`, `times` (how many more, or fewer, of that row there are), the columns.
        """
        return self._by_key if self.keys else self._by_count

    @property
    def count_sql(self) -> str:
        """How many rows of each change."""
        times = "count(*)" if self.keys else f"sum({_TIMES})"
        return f"SELECT {_CHANGE}, {times} AS {_TIMES} FROM (\n{self.sql}\n) GROUP BY {_CHANGE}"

    @property
    def duplicate_sql(self) -> str:
        """A row with a key that is not the only one of its kind, as JSON; none where keys are unique."""
        sides = [
            f"SELECT to_json(struct({', '.join(self._keys_of(new))})) AS key FROM {self._source(new)} "
            f"GROUP BY {', '.join(self._keys_of(new))} HAVING count(*) > 1"
            for new in (False, True)
        ]
        return f"SELECT key FROM ({' UNION ALL '.join(sides)}) LIMIT 1"

    @property
    def changes(self) -> tuple[str, ...]:
        """The kinds of change that a row can have."""
        return CHANGES if self.keys else CHANGES[:2]

    def tally(self, batch: Any) -> Counter[str]:
        """How many rows of each change there are in a batch of the result (a pyarrow RecordBatch)."""
        times = [1] * batch.num_rows if self.keys else batch.column(1).to_pylist()
        counts: Counter[str] = Counter()
        for change, number in zip(batch.column(0).to_pylist(), times, strict=True):
            counts[change] += number
        return counts

    # By key

    @property
    def _by_key(self) -> str:
        columns = list(zip(self._names(), self._selected(), strict=True))
        listed = ",\n       ".join(f"{text} AS {quoted(name)}" for name, text in columns)
        joined = " AND ".join(f"o.k{index} <=> n.k{index}" for index in range(len(self.keys)))
        ordered = ", ".join(f"coalesce(n.k{index}, o.k{index})" for index in range(len(self.keys)))
        same = " AND ".join(self._same(index) for index in self._compared) or "true"
        return (
            f"SELECT {listed}\n"
            f"FROM ({self._side(new=False)}) o\n"
            f"FULL OUTER JOIN ({self._side(new=True)}) n\n"
            f"  ON {joined}\n"
            f"WHERE o.{_SIDE} IS NULL OR n.{_SIDE} IS NULL\n"
            f"   OR NOT ({same})\n"
            f"ORDER BY {ordered}"
        )

    @property
    def _others(self) -> list[int]:
        return [index for index, pair in enumerate(self.pairs) if pair not in self.keys]

    @property
    def _compared(self) -> list[int]:
        return [index for index in self._others if not self.pairs[index].dropped]

    def _names(self) -> list[str]:
        names = [_CHANGE, *(pair.name for pair in self.keys), "changed_columns"]
        for index in self._others:
            pair = self.pairs[index]
            names += [f"old_{pair.name}"] if pair.old else []
            names += [f"new_{pair.name}"] if pair.new else []
        return distinct(names, str.lower)

    def _selected(self) -> list[str]:
        change = (
            f"CASE WHEN o.{_SIDE} IS NULL THEN 'added' WHEN n.{_SIDE} IS NULL THEN 'removed' "
            "ELSE 'changed' END"
        )
        keys = [f"coalesce(n.k{index}, o.k{index})" for index in range(len(self.keys))]
        which = [f"IF({self._same(each)}, NULL, {literal(self.pairs[each].name)})" for each in self._compared]
        named = f"IF(o.{_SIDE} AND n.{_SIDE}, concat_ws(', ', {', '.join(which)}), NULL)" if which else "NULL"
        values = []
        for index in self._others:
            pair = self.pairs[index]
            values += [f"o.c{index}"] if pair.old else []
            values += [f"n.c{index}"] if pair.new else []
        return [change, *keys, named, *values]

    def _same(self, index: int) -> str:
        pair = self.pairs[index]
        before = "NULL" if pair.old is None else _ordered(f"o.c{index}", pair.old)
        after = "NULL" if pair.new is None else _ordered(f"n.c{index}", pair.new)
        if not comparable(pair):
            before, after = f"CAST({before} AS STRING)", f"CAST({after} AS STRING)"
        return f"{before} <=> {after}"

    def _side(self, *, new: bool) -> str:
        """The version's rows under names that no table's columns can clash with."""
        keys = [f"{name} AS k{index}" for index, name in enumerate(self._keys_of(new))]
        values = [(index, _field(self.pairs[index], new)) for index in self._others]
        named = [f"{quoted(field.name)} AS c{index}" for index, field in values if field is not None]
        return f"SELECT {', '.join([*keys, *named, f'true AS {_SIDE}'])}\n      FROM {self._source(new)}"

    def _keys_of(self, new: bool) -> list[str]:
        fields = [_field(pair, new) for pair in self.keys]
        return [quoted(field.name) for field in fields if field is not None]

    # By count

    @property
    def _by_count(self) -> str:
        kept = [index for index, pair in enumerate(self.pairs) if not pair.dropped]
        names = distinct([_CHANGE, _TIMES, *(self.pairs[index].name for index in kept)], str.lower)
        change = f"IF(sum({_SIDE}) > 0, 'added', 'removed')"
        values = [
            f"first(c{index})" if self._grouped(index) != f"c{index}" else f"c{index}" for index in kept
        ]
        selected = zip(names, [change, f"abs(sum({_SIDE}))", *values], strict=True)
        listed = ",\n       ".join(f"{text} AS {quoted(name)}" for name, text in selected)
        groups = ", ".join(self._grouped(index) for index in kept)
        return (
            f"SELECT {listed}\n"
            f"FROM ({self._counted(kept, new=False)}\n"
            f"      UNION ALL\n"
            f"      {self._counted(kept, new=True)})\n"
            f"GROUP BY {groups}\n"
            f"HAVING sum({_SIDE}) <> 0\n"
            f"ORDER BY {groups}"
        )

    def _grouped(self, index: int) -> str:
        """The expression by which rows are grouped on a column."""
        pair = self.pairs[index]
        assert pair.new is not None
        return _ordered(f"c{index}", pair.new)

    def _counted(self, kept: Sequence[int], *, new: bool) -> str:
        values = []
        for index in kept:
            pair = self.pairs[index]
            field = _field(pair, new)
            text = "NULL" if field is None else quoted(field.name)
            values.append(f"{text if comparable(pair) else f'CAST({text} AS STRING)'} AS c{index}")
        side = 1 if new else -1
        return f"SELECT {', '.join([*values, f'{side} AS {_SIDE}'])} FROM {self._source(new)}"

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


def _pinned(version: DiffVersion) -> DiffVersion:
    """A head whose schema no commit has yet can't be: its new columns are not in the snapshot."""
    newest = version.snapshot
    if version.name is not None or newest is None or newest.schema_id != version.schema.id:
        return version
    return replace(version, name=f"snapshot.{newest.id}")


def _field(pair: ColumnPair, new: bool) -> SchemaField | None:
    return pair.new if new else pair.old


def _ordered(text: str, field: SchemaField) -> str:
    """A value in a form that Spark compares and groups by."""
    if not has_no_order(field):
        return text
    return f"to_json(struct({text}), map('ignoreNullFields', 'false'))"
