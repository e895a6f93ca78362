"""The two versions of a difference as a statement reads them: columns by their place in both."""

from __future__ import annotations

from dataclasses import dataclass

from core.quoting import quoted
from core.table.records import SchemaField
from core.travel.diff.columns import ColumnPair, comparable, has_no_order

# Only seen inside statements, beside columns that those name by their places: no table's can clash with it.
SIDE = "__paimark_side"


@dataclass(frozen=True, slots=True)
class Sides:
    """`old` and `new` are tables with their clauses, as a FROM takes them. `keys` are some of `pairs`."""

    old: str
    new: str
    pairs: tuple[ColumnPair, ...]
    keys: tuple[ColumnPair, ...]

    @property
    def others(self) -> list[int]:
        """The places of the columns beside the keys."""
        return [index for index, pair in enumerate(self.pairs) if pair not in self.keys]

    @property
    def compared(self) -> list[int]:
        """The places of those that are compared: a column that was dropped is not."""
        return [index for index in self.others if not self.pairs[index].dropped]

    def source(self, new: bool) -> str:
        return self.new if new else self.old

    def keys_of(self, new: bool) -> list[str]:
        fields = [field_of(pair, new) for pair in self.keys]
        return [quoted(field.name) for field in fields if field is not None]


def field_of(pair: ColumnPair, new: bool) -> SchemaField | None:
    return pair.new if new else pair.old


def ordered(text: str, field: SchemaField) -> str:
    """A value in a form that Spark compares and groups by."""
    if not has_no_order(field):
        return text
    return f"to_json(struct({text}), map('ignoreNullFields', 'false'))"


def one_type(text: str, pair: ColumnPair) -> str:
    """A value of either side in a type that both can be compared in."""
    return text if comparable(pair) else f"CAST({text} AS STRING)"
