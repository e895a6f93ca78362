"""The queries of merges and repairs: what a version has over another one, for the rows of a third."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from paimark.core.quoting import literal, quoted
from paimark.core.spark.protocol import GONE
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.records import TableSchema

# Rows as they shall be, and those from which they were made; rows of now, and those that they were before.
THEN, BASE = "__paimark_then", "__paimark_base"
NOW, BASE_NOW = "__paimark_now", "__paimark_base_now"
# A view of one text column, `line`: the choice for a key, as `Choices` describes it.
CHOICES = "__paimark_choices"
# What becomes of a row: it comes back, goes, becomes another one, or somebody else changed it too.
BACK, GO, CHANGED, CONFLICT = "back", "go", "changed", "conflict"
_FIRST = 5
# Columns beside those of the table.
_KEY, _ROW, _OF = "__paimark_k", "__paimark_r", "__paimark_of"
# Timestamps as text with microseconds; null fields are kept.
_MOMENT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
_JSON = (
    f"map('timestampFormat', {literal(_MOMENT + 'XXX')}, 'timestampNTZFormat', {literal(_MOMENT)}, "
    "'timeZone', 'UTC', 'ignoreNullFields', 'false')"
)
# Makes the SQL of a column's value, given the column's name and the SQL that reads it.
AsText = Callable[[str, str], str]


@dataclass(frozen=True)
class Unkeyed:
    """The merge of rows without a key. It counts duplicates: a table without a key may hold a row twice.

    `THEN` is the branch, and may lack rows that `BASE` has too, if that lacks them as well. `where` is a
    clause that every row passes that the branch added or removed.
    """

    where: str = ""

    @property
    def added(self) -> str:
        return f"SELECT * FROM {THEN}{self.where} EXCEPT ALL SELECT * FROM {BASE}{self.where}"

    @property
    def count_removed(self) -> str:
        return f"SELECT count(*) AS removed FROM ({self._removed})"

    @property
    def replayed(self) -> str:
        """Main without the rows that the branch removed, and with those that it added."""
        return f"(SELECT * FROM {NOW} EXCEPT ALL ({self._removed})) UNION ALL ({self.added})"

    @property
    def _removed(self) -> str:
        return f"SELECT * FROM {BASE}{self.where} EXCEPT ALL SELECT * FROM {THEN}{self.where}"


@dataclass(frozen=True, kw_only=True)
class KeyedChanges(ABC):
    """Rows with a key that are to become others.

    The earlier version lacks the columns in `kept`: a row that it has too keeps its present values of them.
    """

    schema: TableSchema
    kept: Sequence[str] = ()

    @property
    def keys(self) -> Sequence[str]:
        return self.schema.primary_keys

    @property
    def columns(self) -> list[str]:
        return [field.name for field in self.schema.fields]

    @property
    @abstractmethod
    def changes(self) -> str:
        """Common tables, the last of them `changes`: each key `k` whose row `now` is not to be what it is.

        `then` is the row that it shall have. Both are null without a row. `is_conflict`: somebody else
        changed it too. Then `base` is the row that `then` was made from, and `base_now` that of `now`; null
        if they are not known or there was none.
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
        """The first of them, by key, each with the key as JSON and the number of all; no row for none."""
        return (
            f"{self.changes} SELECT k, to_json(k) AS key, then, now, count(*) OVER () AS conflicts "
            f"FROM changes WHERE is_conflict ORDER BY k LIMIT {_FIRST}"
        )

    def upserts(self, *, takes_all: bool) -> str:
        """The rows for a `Repair`; without `takes_all`, those in conflict stay."""
        where = "" if takes_all else " WHERE NOT is_conflict"
        return f"{self.changes} SELECT {self.upserted('then')} FROM changes{where}"

    def upserted(self, row: str) -> str:
        """The columns of a `Repair`'s upserts, if that `row` takes the place of `now`."""
        # Not the key `k`: Spark makes 0.0 of -0.0 there.
        cells = [f"IF({row} IS NULL, now, {row}).{quoted(each)} AS {quoted(each)}" for each in self.columns]
        return f"{', '.join(cells)}, {row} IS NULL AS {GONE}"

    def beside(self, views: Sequence[str], *, more: str = "", where: str = "") -> str:
        """Common tables, the last of them `beside`: a row for each key, with its row of each view.

        Each view is read once. `more` is selected too, of all of a key's rows; `where` is a clause for each.
        """
        packed = f"struct({_list(self.keys)}) AS {_KEY}, struct({_list(self.columns)}) AS {_ROW}"
        read = " UNION ALL ".join(
            f"SELECT *, {packed}, '{view}' AS {_OF} FROM {view}{where}" for view in views
        )
        rows = ", ".join(f"{_row(view)} AS {view}" for view in views)
        grouped = f"SELECT {_KEY} AS k, {rows}{more} FROM versions GROUP BY {_KEY}"
        return f"WITH versions AS ({read}), beside AS ({grouped})"

    def completed(self, then: str, now: str) -> str:
        """The earlier row, with the columns that it lacks."""
        if not self.kept:
            return then
        cells = [
            f"{now if name in self.kept else then}.{quoted(name)} AS {quoted(name)}" for name in self.columns
        ]
        return f"IF({then} IS NULL OR {now} IS NULL, {then}, struct({', '.join(cells)}))"


@dataclass(frozen=True, kw_only=True)
class Carried(KeyedChanges):
    """What differs from `BASE` in `THEN`, carried to `NOW`: a row that differs there from `BASE_NOW` is in
    conflict, unless it is already the row that it is to become.

    Each pair may lack keys whose rows are the same in both. Without `has_then` there were no rows then, and
    with `is_newest` nothing came after the base: the views of those do not exist. `where` is a clause that
    is true of each row in a partition whose rows differ.
    """

    has_then: bool = True
    is_newest: bool = False
    where: str = ""

    @property
    def changes(self) -> str:
        views = [BASE, *([THEN] if self.has_then else []), *([] if self.is_newest else [BASE_NOW, NOW])]
        then = THEN if self.has_then else f"IF(true, NULL, {BASE})"
        moved = "false" if self.is_newest else f"NOT ({BASE_NOW} <=> {NOW})"
        now = BASE if self.is_newest else f"IF({moved}, {NOW}, {BASE})"
        base_now = BASE if self.is_newest else BASE_NOW
        return (
            f"{self.beside(views, where=self.where)}, did AS (SELECT k, {then} AS was, {now} AS now, "
            f"{moved} AS is_conflict, {BASE} AS base, {base_now} AS base_now FROM beside "
            f"WHERE NOT ({then} <=> {BASE})), told AS (SELECT k, {self.completed('was', 'now')} AS then, "
            "now, is_conflict, base, base_now FROM did), "
            "changes AS (SELECT * FROM told WHERE NOT (then <=> now))"
        )


@dataclass(frozen=True)
class Choices:
    """The rows in conflict, and a person's choices for them; `CHOICES` has one JSON object per key.

    `k` is the key by columns' places, as `every_conflict` writes it. `s` is main, branch or base: the row
    becomes that side's, now's or then's or the base's, or goes. Else `m` maps columns' places to one of these
    words, which chooses cells. A cell without a choice gets the value of the only side that changed it, else
    main's.
    """

    of: KeyedChanges

    @property
    def columns(self) -> list[str]:
        return self.of.columns

    @property
    def decimals(self) -> Collection[str]:
        kinds = {each.name: ColumnType.of(str(each.type)).name for each in self.of.schema.fields}
        return [name for name, kind in kinds.items() if kind == "DECIMAL"]

    def every_conflict(self, as_text: AsText, limit: int | None = None) -> str:
        """One row per conflict, by key: `key`, `base`, `main` and `branch`, `differing` and `both`.

        The first four are JSON objects of values by `c` and the column's place, null for no row. `differing`
        are the places of the columns in which main and the branch differ; if one of them has no row, those in
        which the other one differs from the base. `both` are those that both sides changed, to different
        values.
        """
        sides = {"base": "base", "main": "now", "branch": "then"}
        rows = [f"{self._packed(row, self.columns, as_text)} AS {name}" for name, row in sides.items()]
        most = "" if limit is None else f" LIMIT {limit}"
        return (
            f"{self.of.changes} SELECT {self._packed('k', self.of.keys, as_text)} AS key, {', '.join(rows)}, "
            f"{self._indexes_where(self._differs)} AS differing, "
            f"{self._indexes_where(self._is_both)} AS both "
            f"FROM changes WHERE is_conflict ORDER BY k{most}"
        )

    @property
    def count_conflicts(self) -> str:
        return f"{self.of.changes} SELECT count(*) AS conflicts FROM changes WHERE is_conflict"

    @property
    def upserts(self) -> str:
        """The rows for a `Repair`."""
        cells = [f"{self._cell(name)} AS {quoted(name)}" for name in self.columns]
        none = "raise_error('A key in conflict was not decided')"
        row = (
            "CASE s WHEN 'main' THEN now WHEN 'branch' THEN then WHEN 'base' THEN base "
            f"ELSE IF(m IS NULL OR now IS NULL OR then IS NULL, {none}, struct({', '.join(cells)})) END"
        )
        return (
            f"{self.of.changes}, {self._given}, beside_given AS (SELECT /*+ BROADCAST(given) */ * "
            f"FROM changes LEFT JOIN given ON IF(is_conflict, {self._identity}, NULL) = given_k), "
            f"settled AS (SELECT *, IF(is_conflict, {row}, then) AS r FROM beside_given) "
            f"SELECT {self.of.upserted('r')} FROM settled WHERE NOT (is_conflict AND r <=> now)"
        )

    @property
    def wrong(self) -> str:
        """Why choices can't be applied: each row has a reason, the number of its `keys`, and the `first`.

        Reasons: `missing`, a key in conflict without a choice; `none`, a key that is not in conflict;
        `whole`, cells chosen although a side has no row; `undecided`, no choice for a cell that both sides
        changed; `same`, a choice for a cell that does not differ; `base`, base chosen although it has no row.
        """
        others = [each for each in self.columns if each not in self.of.keys]
        open_cells = [f"({self._is_both(each)} AND {self._chosen(each)} IS NULL)" for each in others]
        same = [f"({self._chosen(each)} IS NOT NULL AND NOT ({self._differs(each)}))" for each in others]
        of_base = [f"{self._chosen(each)} <=> 'base'" for each in others]
        reasons = {
            "missing": "given_k IS NULL",
            "none": "k IS NULL",
            "whole": "s IS NULL AND (now IS NULL OR then IS NULL)",
            "undecided": f"s IS NULL AND ({_any(open_cells)})",
            "same": f"s IS NULL AND ({_any(same)})",
            "base": f"s IS NULL AND base IS NULL AND ({_any(of_base)})",
        }
        cases = " ".join(f"WHEN {holds} THEN '{reason}'" for reason, holds in reasons.items())
        return (
            f"{self.of.changes}, {self._given}, met AS "
            f"(SELECT *, CASE {cases} END AS wrong, {self._identity} AS id "
            "FROM (SELECT * FROM changes WHERE is_conflict) "
            f"FULL OUTER JOIN given ON {self._identity} = given_k) "
            "SELECT wrong, count(*) AS keys, min(to_json(coalesce(given_k, id))) AS first FROM met "
            "WHERE wrong IS NOT NULL GROUP BY wrong ORDER BY wrong"
        )

    def _indexes_where(self, holds: Callable[[str], str]) -> str:
        """The indexes of the columns for which a condition is true."""
        flags = [f"IF({holds(name)}, {index}, NULL)" for index, name in enumerate(self.columns)]
        return f"array_compact(array({', '.join(flags)}))"

    def _packed(self, row: str, columns: Sequence[str], as_text: AsText) -> str:
        values = [f"{as_text(name, f'{row}.{quoted(name)}')} AS {self._field(name)}" for name in columns]
        return f"IF({row} IS NULL, NULL, to_json(struct({', '.join(values)}), {_JSON}))"

    def _differs(self, column: str) -> str:
        if column in self.of.keys:
            return "false"
        name = quoted(column)
        return (
            f"IF(now IS NOT NULL AND then IS NOT NULL, NOT (now.{name} <=> then.{name}), "
            f"NOT (base.{name} <=> coalesce(now, then).{name}))"
        )

    def _is_both(self, column: str) -> str:
        """Whether both sides changed the cell, to different values."""
        name = quoted(column)
        differ = f"now IS NOT NULL AND then IS NOT NULL AND NOT (now.{name} <=> then.{name})"
        return f"{differ} AND {_has_changed(column, 'base', 'then')} AND {_has_changed(column)}"

    @property
    def _given(self) -> str:
        cells = [self._field(each) for each in self.columns if each not in self.of.keys]
        shape = f"k STRUCT<{self._key_shape}>, s STRING, m STRUCT<{_texts(cells or ['none'])}>"
        return (
            "given AS (SELECT c.k AS given_k, c.s, c.m FROM "
            f"(SELECT from_json(line, '{shape}') AS c FROM {CHOICES}))"
        )

    @property
    def _identity(self) -> str:
        """The key as texts, in the form of a choice."""
        return f"from_json({self._packed('k', self.of.keys, exactly(self.decimals))}, '{self._key_shape}')"

    @property
    def _key_shape(self) -> str:
        return _texts(map(self._field, self.of.keys))

    def _field(self, column: str) -> str:
        return f"c{self.columns.index(column)}"

    def _chosen(self, column: str) -> str:
        return f"m.{self._field(column)}"

    def _cell(self, column: str) -> str:
        name = quoted(column)
        if column in self.of.keys:
            return f"now.{name}"
        is_branch_alone = f"{_has_changed(column, 'base', 'then')} AND NOT {_has_changed(column)}"
        return (
            f"CASE {self._chosen(column)} WHEN 'main' THEN now.{name} WHEN 'branch' THEN then.{name} "
            f"WHEN 'base' THEN base.{name} ELSE IF({is_branch_alone}, then.{name}, now.{name}) END"
        )


def exactly(decimals: Collection[str]) -> AsText:
    """Values for a file of conflicts: decimals as texts, because a reader of the file may round numbers."""
    return lambda column, value: f"CAST({value} AS STRING)" if column in decimals else value


def _has_changed(column: str, before: str = "base_now", now: str = "now") -> str:
    name = quoted(column)
    return f"({before} IS NULL OR NOT ({before}.{name} <=> {now}.{name}))"


def _row(view: str) -> str:
    """The row of a key in a view. Two keys that only Spark takes for equal, as 0.0 and -0.0, fail."""
    of_it = f"FILTER (WHERE {_OF} = '{view}')"
    twice = "raise_error('Two rows have a key that Spark takes for the same')"
    return f"IF(count(*) {of_it} > 1, {twice}, max({_ROW}) {of_it})"


def _any(conditions: Sequence[str]) -> str:
    return " OR ".join(conditions) or "false"


def _texts(names: Iterable[str]) -> str:
    return ", ".join(f"{name} STRING" for name in names)


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))
