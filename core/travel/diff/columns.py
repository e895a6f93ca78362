"""Match the columns of two versions: by id as far as ids mean the same in both, else by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from paimark.core.errors import NotFound, Refused
from paimark.core.quoting import quoted
from paimark.core.table.definition.column_types import NUMBERS, TEXTS, type_text, unordered_part
from paimark.core.table.records import SchemaField, TableSchema
from paimark.core.travel.diff.versions import DiffVersion


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """One column of the difference; at least one side has it."""

    old: SchemaField | None
    new: SchemaField | None

    @property
    def name(self) -> str:
        field = self.new or self.old
        assert field is not None
        return field.name

    @property
    def dropped(self) -> bool:
        return self.new is None


def pair_columns(old: TableSchema, new: TableSchema, shared_id: int) -> list[ColumnPair]:
    """Pair the columns of both versions: in the new version's order, then those that only the old one has.

    `shared_id` is the highest id that means the same column in both. A column that was dropped and added
    again under the same name counts as one column.
    """
    by_id = {field.id: field for field in old.fields if field.id <= shared_id}
    matched: dict[int, SchemaField] = {}
    for index, field in enumerate(new.fields):
        if field.id <= shared_id and field.id in by_id:
            matched[index] = by_id[field.id]
    left = {field.name: field for field in _without(old.fields, matched.values())}
    for index, field in enumerate(new.fields):
        if index not in matched and field.name in left:
            matched[index] = left.pop(field.name)
    pairs = [ColumnPair(matched.get(index), field) for index, field in enumerate(new.fields)]
    return pairs + [ColumnPair(field, None) for field in _without(old.fields, matched.values())]


def _without(fields: Sequence[SchemaField], matched: Iterable[SchemaField]) -> list[SchemaField]:
    """Those of the fields that are not matched, by identity: a table may have thousands of columns."""
    known = {id(field) for field in matched}
    return [field for field in fields if id(field) not in known]


def key_pairs(
    old: DiffVersion, new: DiffVersion, pairs: Sequence[ColumnPair], key_names: Sequence[str]
) -> list[ColumnPair]:
    """The columns that identify a row: the requested ones, else the primary key; empty without either.

    Raises `NotFound` for a column that one of the two lacks, `Refused` if their primary keys differ.
    """
    if key_names:
        return [_key_pair(name, pairs, old, new) for name in key_names]
    keys = [pair for pair in pairs if pair.new is not None and pair.new.name in new.schema.primary_keys]
    before = {pair.old.name for pair in keys if pair.old is not None}
    if before != set(old.schema.primary_keys):
        raise Refused(
            f"The primary keys of {old.label} and {new.label} are not the same",
            "Say which columns tell the rows apart: --keys a,b.",
        )
    return sorted(keys, key=lambda pair: new.schema.primary_keys.index(pair.name))


def column_notes(old: DiffVersion, new: DiffVersion, pairs: Sequence[ColumnPair]) -> list[str]:
    """Describe the changes of the columns between the two, one sentence each."""
    notes = []
    for pair in pairs:
        if pair.old is None:
            notes.append(f"Column {pair.name} is only in {new.label}: compared with null")
        elif pair.new is None:
            notes.append(f"Column {pair.name} is only in {old.label}: not compared")
        else:
            if pair.old.name != pair.new.name:
                notes.append(f"Column {pair.new.name} is called {pair.old.name} in {old.label}")
            before, after = _plain_type(pair.old.type), _plain_type(pair.new.type)
            if before != after:
                comparison = "" if comparable(pair) else ", compared as text"
                notes.append(
                    f"Column {pair.name} is {before} in {old.label} and {after} in {new.label}{comparison}"
                )
    return notes


def comparable(pair: ColumnPair) -> bool:
    """Whether values of both sides can be compared without a cast."""
    if pair.old is None or pair.new is None:
        return True
    before, after = _plain_type(pair.old.type), _plain_type(pair.new.type)
    return before == after or any(
        _base(before) in family and _base(after) in family for family in (NUMBERS, TEXTS)
    )


def _key_pair(name: str, pairs: Sequence[ColumnPair], old: DiffVersion, new: DiffVersion) -> ColumnPair:
    for pair in pairs:
        if name.lower() in (each.name.lower() for each in (pair.new, pair.old) if each is not None):
            if pair.old is not None and pair.new is not None:
                return pair
            lacking = new if pair.dropped else old
            raise NotFound(f"{lacking.label} has no column {name}", "A key is a column that both have.")
    known = ", ".join(pair.name for pair in pairs)
    raise NotFound(f"{new.root.table.full_name} has no column {name}", f"It has {known}.")


def _plain_type(kind: object) -> str:
    return type_text(kind).replace(" NOT NULL", "")


def _base(text: str) -> str:
    return text.partition("(")[0]


# Used only inside statements. Those name the table's columns by index, so no column can clash with it.
SIDE = "__paimark_side"


@dataclass(frozen=True, slots=True)
class Sides:
    """`old` and `new` are tables with their clauses, as FROM takes them. `keys` is a subset of `pairs`."""

    old: str
    new: str
    pairs: tuple[ColumnPair, ...]
    keys: tuple[ColumnPair, ...]

    @property
    def others(self) -> list[int]:
        """The indexes of the columns that are not keys."""
        return [index for index, pair in enumerate(self.pairs) if pair not in self.keys]

    @property
    def compared(self) -> list[int]:
        """The indexes of the columns to compare: `others` without dropped columns."""
        return [index for index in self.others if not self.pairs[index].dropped]

    def source(self, new: bool) -> str:
        return self.new if new else self.old

    def keys_of(self, new: bool) -> list[str]:
        fields = [field_of(pair, new) for pair in self.keys]
        return [quoted(field.name) for field in fields if field is not None]


def field_of(pair: ColumnPair, new: bool) -> SchemaField | None:
    return pair.new if new else pair.old


def ordered(text: str, field: SchemaField) -> str:
    """A value in a form that Spark can compare and group by."""
    if not unordered_part(field.type):
        return text
    return f"to_json(struct({text}), map('ignoreNullFields', 'false'))"


def one_type(text: str, pair: ColumnPair) -> str:
    """A value of either side, cast to text if the two types can't be compared."""
    return text if comparable(pair) else f"CAST({text} AS STRING)"
