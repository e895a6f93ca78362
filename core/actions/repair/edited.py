"""The queries for edited rows: what each shall be, from the row that was read, beside the row of now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paimark.core.actions.repair.changes import BASE, NOW, KeyedChanges
from paimark.core.actions.repair.edits import RowEdit, spark_type, why_not
from paimark.core.quoting import literal, quoted
from paimark.core.table.definition.column_types import type_text
from paimark.core.table.records import TableSchema

# A view of one text column, `line`: an edit, as `edits.lines_of` writes it.
EDITS = "__paimark_edits"
# Of so many keys the query names each one, so that few files are read.
_NAMED_KEYS = 200


@dataclass(frozen=True)
class EditedRows(KeyedChanges):
    """`BASE` has the rows as they were read, `NOW` those of now; `where` is true of each that is edited.

    A row that is not as it was read is in conflict: the cells that are edited replace those of now, and the
    others stay. `kinds` are Spark's types of columns that can be edited.
    If the edits have cells as they `were`, those stand in for the ones of `BASE`.
    """

    kinds: Mapping[str, str]
    places: Mapping[str, int]
    where: str
    were: bool = False

    @classmethod
    def of(cls, schema: TableSchema, edits: Sequence[RowEdit]) -> EditedRows:
        kinds = {each.name: each.type for each in schema.fields if not why_not(type_text(each.type))}
        types = {name: spark_type(kind) for name, kind in kinds.items()}
        conditions = []
        for key in schema.primary_keys if len(edits) <= _NAMED_KEYS else ():
            values = dict.fromkeys(_value(each.key[key], types[key]) for each in edits)
            conditions.append(f"{quoted(key)} IN ({', '.join(values)})")
        names = [field.name for field in schema.fields]
        places = {name: place for place, name in enumerate(names)}
        were = any(each.was is not None for each in edits)
        where = " AND ".join(conditions) or "true"
        return cls(schema.primary_keys, names, [], types, places, where, were)

    @property
    def pairs(self) -> str:
        """Common tables, the last of them `pairs`: each edit with the row as it was read, and that of now."""
        shape = f"k STRUCT<{', '.join(f'c{self.places[key]} STRING' for key in self.keys)}>, w STRING, "
        key = ", ".join(
            f"{self._cast(f'e.k.c{self.places[key]}', key)} AS {quoted(key)}" for key in self.keys
        )
        return (
            f"WITH edits AS (SELECT struct({key}) AS k, e.w AS w, e.m AS m, e.o AS o FROM (SELECT "
            f"from_json(line, '{shape}m MAP<STRING, STRING>, o MAP<STRING, STRING>') AS e FROM {EDITS})), "
            f"pairs AS (SELECT edits.*, {self._base} AS base, n.r AS now FROM edits "
            f"LEFT JOIN ({self._rows(BASE)}) b ON edits.k = b.k "
            f"LEFT JOIN ({self._rows(NOW)}) n ON edits.k = n.k)"
        )

    @property
    def changes(self) -> str:
        cells = ", ".join(f"{self._cell(name)} AS {quoted(name)}" for name in self.columns)
        return (
            f"{self.pairs}, told AS (SELECT k, IF(w = 'delete', NULL, struct({cells})) AS then, now, base, "
            "NOT (base <=> now) AS is_conflict FROM pairs), changes AS "
            "(SELECT * FROM told WHERE NOT (then <=> now))"
        )

    @property
    def all_changes(self) -> str:
        """Each change, by key."""
        return f"{self.changes} SELECT k, then, now, is_conflict FROM changes ORDER BY k"

    @property
    def wrong(self) -> str:
        """An edit of a row that was not there, or the addition of one that was."""
        return (
            f"{self.pairs} SELECT k, w FROM pairs WHERE (w = 'add') = (base IS NOT NULL) ORDER BY k LIMIT 5"
        )

    def _rows(self, view: str) -> str:
        key, row = (", ".join(map(quoted, names)) for names in (self.keys, self.columns))
        return f"SELECT struct({key}) AS k, struct({row}) AS r FROM {view} WHERE {self.where}"

    @property
    def _base(self) -> str:
        if not self.were:
            return "b.r"
        cells = ", ".join(
            f"{self._of('o', name, f'b.r.{quoted(name)}')} AS {quoted(name)}" for name in self.columns
        )
        return f"IF(o IS NULL OR b.r IS NULL, b.r, struct({cells}))"

    def _cell(self, name: str) -> str:
        if name in self.keys:
            return f"k.{quoted(name)}"
        # A row that is gone comes back as it was read, and one that is added has nothing of another.
        was = f"IF(now IS NULL OR w = 'add', base.{quoted(name)}, now.{quoted(name)})"
        return self._of("m", name, was)

    def _of(self, cells: str, name: str, was: str) -> str:
        """A column's text among these cells as its value, or else what it was."""
        if name not in self.kinds:
            return was
        place = f"'c{self.places[name]}'"
        return f"IF(map_contains_key({cells}, {place}), {self._cast(f'{cells}[{place}]', name)}, {was})"

    def _cast(self, text: str, name: str) -> str:
        return f"CAST({text} AS {self.kinds[name]})"


def _value(text: str | None, kind: str) -> str:
    return f"CAST({literal(text or '')} AS {kind})"
