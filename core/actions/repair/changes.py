"""The queries for rows with a key that shall be what they were: which differ, and who changed them since."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paimark.core.actions.merge.sql import Resolved
from paimark.core.actions.repair.edits import RowEdit, spark_type, why_not
from paimark.core.quoting import literal, quoted
from paimark.core.spark.protocol import GONE
from paimark.core.table.definition.column_types import type_text
from paimark.core.table.records import TableSchema

THEN, BASE = "__paimark_then", "__paimark_base"
BASE_NOW, NOW = "__paimark_base_now", "__paimark_now"
BACK, GO, CHANGED, CONFLICT = "back", "go", "changed", "conflict"
_FIRST = 5
# A view of one text column, `line`: an edit, as `edits.lines_of` writes it.
EDITS = "__paimark_edits"
# Of so many keys the query names each one, so that few files are read.
_NAMED_KEYS = 200
# Columns beside those of the table.
_KEY, _ROW, _OF = "__paimark_k", "__paimark_r", "__paimark_of"


@dataclass(frozen=True)
class KeyedChanges(ABC):
    """Columns in `kept` are none of then: a row that is there then and now keeps their values of now."""

    keys: Sequence[str]
    columns: Sequence[str]
    kept: Sequence[str]

    @property
    @abstractmethod
    def changes(self) -> str:
        """Common tables, the last of them `changes`: each key `k` whose row `now` is not as it was `then`.

        Both are null without a row. `is_conflict`: somebody changed it since. `base` is the row that both
        come from, null if it is not known or there was none.
        """

    @property
    def summary(self) -> str:
        """For each kind of changes their number `n`, and an `example` with `k`, `then` and `now`."""
        return (
            f"{self.changes}, kinds AS (SELECT *, CASE WHEN is_conflict THEN '{CONFLICT}' "
            f"WHEN then IS NULL THEN '{GO}' WHEN now IS NULL THEN '{BACK}' ELSE '{CHANGED}' END AS kind "
            "FROM changes) SELECT kind, count(*) AS n, min_by(struct(k, then, now), k) AS example "
            "FROM kinds GROUP BY kind"
        )

    @property
    def conflicts(self) -> str:
        """The first of them, by key."""
        return f"{self.changes} SELECT k, then, now FROM changes WHERE is_conflict ORDER BY k LIMIT {_FIRST}"

    def upserts(self, *, takes_all: bool) -> str:
        """The rows for a `Repair`; without `takes_all`, those in conflict stay."""
        cells = [f"IF(then IS NULL, now, then).{quoted(each)} AS {quoted(each)}" for each in self.columns]
        where = "" if takes_all else " WHERE NOT is_conflict"
        return f"{self.changes} SELECT {', '.join(cells)}, then IS NULL AS {GONE} FROM changes{where}"

    def beside(self, views: Sequence[str], more: str = "") -> str:
        """Common tables, the last of them `beside`: a row for each key, with its row of each view.

        `more` is selected too, of all of a key's rows.
        """
        packed = f"struct({_list(self.keys)}) AS {_KEY}, struct({_list(self.columns)}) AS {_ROW}"
        read = " UNION ALL ".join(f"SELECT *, {packed}, '{view}' AS {_OF} FROM {view}" for view in views)
        rows = ", ".join(f"{_row(view)} AS {view}" for view in views)
        grouped = f"SELECT {_KEY} AS k, {rows}{more} FROM versions GROUP BY {_KEY}"
        return f"WITH versions AS ({read}), beside AS ({grouped})"

    def completed(self, then: str, now: str) -> str:
        """The row of then with the columns that it lacks."""
        if not self.kept:
            return then
        cells = [
            f"{now if name in self.kept else then}.{quoted(name)} AS {quoted(name)}" for name in self.columns
        ]
        return f"IF({then} IS NULL OR {now} IS NULL, {then}, struct({', '.join(cells)}))"


@dataclass(frozen=True)
class OneCommit(KeyedChanges):
    """What one commit did: `THEN` is before it, `BASE` after it, and again as `BASE_NOW` beside `NOW`.

    Each pair may lack keys whose rows are the same in both. Without `has_then` there was no row before it,
    and with `is_newest` nothing came after it: then those views are not there.
    """

    has_then: bool
    is_newest: bool

    @property
    def changes(self) -> str:
        views = [BASE, *([THEN] if self.has_then else []), *([] if self.is_newest else [BASE_NOW, NOW])]
        then = THEN if self.has_then else f"IF(true, NULL, {BASE})"
        moved = "false" if self.is_newest else f"NOT ({BASE_NOW} <=> {NOW})"
        now = BASE if self.is_newest else f"IF({moved}, {NOW}, {BASE})"
        return (
            f"{self.beside(views)}, did AS (SELECT k, {then} AS was, {now} AS now, {moved} AS is_conflict, "
            f"{BASE} AS base FROM beside WHERE NOT ({then} <=> {BASE})), "
            f"told AS (SELECT k, {self.completed('was', 'now')} AS then, now, is_conflict, base FROM did), "
            "changes AS (SELECT * FROM told WHERE NOT (then <=> now))"
        )


@dataclass(frozen=True)
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
            f"{self.beside((THEN, NOW), meant)}{often}, "
            f"told AS (SELECT k, {self.completed(THEN, NOW)} AS then, {NOW} AS now, "
            f"{is_conflict} AS is_conflict, IF(true, NULL, {NOW}) AS base "
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


@dataclass(frozen=True)
class Chosen(Resolved):
    """The same with a person's choices for the rows in conflict; `changes` are those of a `KeyedChanges`."""

    changes: str = ""

    @property
    def _judged(self) -> str:
        return (
            f"{self.changes}, judged AS (SELECT k, base, then AS head, base AS main_base, now AS main, "
            "true AS is_changed, is_conflict FROM changes)"
        )


def _row(view: str) -> str:
    """Two keys that only Spark takes for equal, as 0.0 and -0.0, fail."""
    of_it = f"FILTER (WHERE {_OF} = '{view}')"
    twice = "raise_error('Two rows have a key that Spark takes for the same')"
    return f"IF(count(*) {of_it} > 1, {twice}, max({_ROW}) {of_it})"


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))


def _value(text: str | None, kind: str) -> str:
    return f"CAST({literal(text or '')} AS {kind})"
