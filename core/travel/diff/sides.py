"""The two versions of a difference as a statement reads them: columns by their index in the pairs."""

from __future__ import annotations

from dataclasses import dataclass

from paimark.core.quoting import quoted
from paimark.core.table.records import SchemaField
from paimark.core.travel.diff.columns import ColumnPair, comparable, has_no_order

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
    if not has_no_order(field):
        return text
    return f"to_json(struct({text}), map('ignoreNullFields', 'false'))"


def one_type(text: str, pair: ColumnPair) -> str:
    """A value of either side, cast to text if the two types can't be compared."""
    return text if comparable(pair) else f"CAST({text} AS STRING)"
