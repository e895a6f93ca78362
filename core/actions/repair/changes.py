"""The queries for rows with a key that shall be what they were: which differ, and who changed them since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimark.core.actions.merge.sql import BASE, NOW, THEN, KeyedChanges
from paimark.core.actions.repair.edits import RowEdit, spark_type, why_not
from paimark.core.once import once
from paimark.core.quoting import literal, quoted
from paimark.core.table.definition.column_types import type_text

# A view of one text column, `line`: an edit, as `edits.lines_of` writes it.
EDITS = "__paimark_edits"
# Of so many keys the query names each one, so that few files are read.
_NAMED_KEYS = 200


@dataclass(frozen=True, kw_only=True)
class OneVersion(KeyedChanges):
    """Rows that differ at a version, `THEN`, from those of `NOW`, if `where` is true of either.

    Both may lack keys whose rows are the same in both. `commits` are pairs of views, each with the rows
    before and after one commit between them: a row that several changed is in conflict.
    """

    where: str
    commits: Sequence[tuple[str, str]]

    @property
    def changes(self) -> str:
        # Within an aggregate Spark takes only conditions that are the same each time.
        meant = f", coalesce(bool_or({self.where}), false) AS is_meant"
        is_conflict, often, joined = "false", "", ""
        if len(self.commits) > 1:
            each = " UNION ALL ".join(self._changed(*pair) for pair in self.commits)
            often = f", often AS (SELECT c AS often FROM ({each}) GROUP BY c HAVING count(*) > 1)"
            joined, is_conflict = " LEFT JOIN often ON k = often", "often IS NOT NULL"
        return (
            f"{self.beside((THEN, NOW), more=meant)}{often}, "
            f"told AS (SELECT k, {self.completed(THEN, NOW)} AS then, {NOW} AS now, "
            f"{is_conflict} AS is_conflict, IF(true, NULL, {NOW}) AS base, IF(true, NULL, {NOW}) AS base_now "
            f"FROM beside{joined} WHERE is_meant), "
            "changes AS (SELECT * FROM told WHERE NOT (then <=> now))"
        )

    def _changed(self, before: str, after: str) -> str:
        """The keys that one commit changed."""
        packed = f"struct({_list(self.keys)}) AS c, struct({_list(self.columns)}) AS r"
        return (
            f"SELECT c FROM (SELECT {packed}, 1 AS n FROM {before} "
            f"UNION ALL SELECT {packed}, 2 AS n FROM {after}) "
            "GROUP BY c HAVING NOT (max(r) FILTER (WHERE n = 1) <=> max(r) FILTER (WHERE n = 2))"
        )


@dataclass(frozen=True, kw_only=True)
class EditedRows(KeyedChanges):
    """`BASE` has the rows as they were read, `NOW` the present ones.

    A row that is not as it was read is in conflict: the cells that are edited replace the present ones, and
    the others stay. If the edits have cells as they `were`, those stand in for the ones of `BASE`.
    """

    edits: Sequence[RowEdit]

    @property
    def were(self) -> bool:
        return any(each.was is not None for each in self.edits)

    @once
    def kinds(self) -> dict[str, str]:
        """Spark's types of the columns that can be edited."""
        kinds = {each.name: each.type for each in self.schema.fields if not why_not(type_text(each.type))}
        return {name: spark_type(kind) for name, kind in kinds.items()}

    @property
    def where(self) -> str:
        """A condition that is true of each row that is edited."""
        conditions, types = [], self.kinds
        for key in self.keys if len(self.edits) <= _NAMED_KEYS else ():
            values = dict.fromkeys(_value(each.key[key], types[key]) for each in self.edits)
            conditions.append(f"{quoted(key)} IN ({', '.join(values)})")
        return " AND ".join(conditions) or "true"

    @property
    def pairs(self) -> str:
        """Common tables, the last of them `pairs`: each edit with the row as it was read and as it is now."""
        shape = f"k STRUCT<{', '.join(f'{self._place(key)} STRING' for key in self.keys)}>, w STRING, "
        key = ", ".join(f"{self._cast(f'e.k.{self._place(key)}', key)} AS {quoted(key)}" for key in self.keys)
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
            "base AS base_now, NOT (base <=> now) AS is_conflict FROM pairs), changes AS "
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
        place = f"'{self._place(name)}'"
        return f"IF(map_contains_key({cells}, {place}), {self._cast(f'{cells}[{place}]', name)}, {was})"

    def _place(self, name: str) -> str:
        return f"c{self.columns.index(name)}"

    def _cast(self, text: str, name: str) -> str:
        return f"CAST({text} AS {self.kinds[name]})"


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))


def _value(text: str | None, kind: str) -> str:
    return f"CAST({literal(text or '')} AS {kind})"
