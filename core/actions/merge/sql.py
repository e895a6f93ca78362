"""The queries of a merge over four versions: the branch at its base and head, main at its base and now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from paimark.core.quoting import literal, quoted
from paimark.core.spark.protocol import COMMON, GONE, PARTITIONS, WHOLE

BASE, HEAD = "__paimark_branch_base", "__paimark_branch"
MAIN_BASE, MAIN = "__paimark_main_base", "__paimark_main"
# All rows of main, where `MAIN` may lack those that are the same in `MAIN_BASE`.
ALL_OF_MAIN = "__paimark_all_of_main"
# A view of one text column, `line`: the choice for a key, as `Resolved` describes it.
CHOICES = "__paimark_choices"
_FIRST_CONFLICTS = 5
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

    `where` is a clause that every row passes that the branch added or removed.
    """

    where: str = ""

    @property
    def added(self) -> str:
        return f"SELECT * FROM {HEAD}{self.where} EXCEPT ALL SELECT * FROM {BASE}{self.where}"

    @property
    def count_removed(self) -> str:
        return f"SELECT count(*) AS removed FROM ({self._removed})"

    @property
    def replayed(self) -> str:
        """Main without the rows that the branch removed, and with those that it added."""
        return f"(SELECT * FROM {MAIN} EXCEPT ALL ({self._removed})) UNION ALL ({self.added})"

    @property
    def _removed(self) -> str:
        return f"SELECT * FROM {BASE}{self.where} EXCEPT ALL SELECT * FROM {HEAD}{self.where}"


@dataclass(frozen=True)
class Keyed:
    """The merge of rows with a key. `branch_wins` None: conflicts are not expected.

    A side changed a key if its rows at base and head differ, or only one of them exists. A key is in conflict
    if both sides changed it, and not to the same row. `main_base` is `BASE` if both sides have the same base.
    `where` is a clause that every row of a partition passes that the branch changed.

    Rows that are the same in `BASE` and `HEAD` may be missing in both, and so in `main_base` and `MAIN`: then
    main's row of a key is known only if main changed it. `partitions` and `rows` need all rows.

    Each version is read once, and all rows of a key are brought together.
    """

    keys: Sequence[str]
    columns: Sequence[str]
    partition_keys: Sequence[str]
    branch_wins: bool | None = None
    main_base: str = MAIN_BASE
    where: str = ""

    @property
    def conflicts(self) -> str:
        """The first few keys, each row with the number of all conflicts; no row if there are none."""
        return (
            f"{self._judged} SELECT to_json(k) AS key, count(*) OVER () AS conflicts FROM judged "
            f"WHERE is_conflict ORDER BY key LIMIT {_FIRST_CONFLICTS}"
        )

    def every_conflict(self, as_text: AsText, limit: int | None = None) -> str:
        """One row per conflict, by key: `key`, `base`, `main` and `branch`, `differing` and `both`.

        The first four are JSON objects of values by `c` and the column's place, null for no row. `differing`
        are the places of the columns in which main and the branch differ; if one of them has no row, those in
        which the other one differs from the base. `both` are those that both sides changed, to different
        values.
        """
        sides = {"base": "base", "main": "main", "branch": "head"}
        rows = [f"{self._packed(row, self.columns, as_text)} AS {name}" for name, row in sides.items()]
        most = "" if limit is None else f" LIMIT {limit}"
        return (
            f"{self._judged} SELECT {self._packed('k', self.keys, as_text)} AS key, {', '.join(rows)}, "
            f"{self._indexes_where(self._differs)} AS differing, "
            f"{self._indexes_where(self._is_both)} AS both "
            f"FROM judged WHERE is_conflict ORDER BY k{most}"
        )

    def _indexes_where(self, holds: Callable[[str], str]) -> str:
        """The indexes of the columns for which a condition is true."""
        flags = [f"IF({holds(name)}, {index}, NULL)" for index, name in enumerate(self.columns)]
        return f"array_compact(array({', '.join(flags)}))"

    @property
    def count_conflicts(self) -> str:
        return f"{self._judged} SELECT count(*) AS conflicts FROM judged WHERE is_conflict"

    def _packed(self, row: str, columns: Sequence[str], as_text: AsText) -> str:
        values = [
            f"{as_text(name, f'{row}.{quoted(name)}')} AS c{self.columns.index(name)}" for name in columns
        ]
        return f"IF({row} IS NULL, NULL, to_json(struct({', '.join(values)}), {_JSON}))"

    def _differs(self, column: str) -> str:
        if column in self.keys:
            return "false"
        name = quoted(column)
        return (
            f"IF(main IS NOT NULL AND head IS NOT NULL, NOT (main.{name} <=> head.{name}), "
            f"NOT (base.{name} <=> coalesce(main, head).{name}))"
        )

    def _is_both(self, column: str) -> str:
        """Whether both sides changed the cell, to different values."""
        name = quoted(column)
        differ = f"main IS NOT NULL AND head IS NOT NULL AND NOT (main.{name} <=> head.{name})"
        return f"{differ} AND {self._has_changed(column, 'base', 'head')} AND {self._has_changed(column)}"

    def _has_changed(self, column: str, before: str = "main_base", now: str = "main") -> str:
        name = quoted(column)
        return f"({before} IS NULL OR NOT ({before}.{name} <=> {now}.{name}))"

    @property
    def common(self) -> str:
        """Each key with main's row after the merge (null for none), and whether that row is the branch's."""
        return (
            f"{self._judged} SELECT k, IF({self._comes}, head, main) AS r, {self._comes} AS comes FROM judged"
        )

    @property
    def upserts(self) -> str:
        """The rows that come to main, and in `GONE` whether a key has none any more."""
        cells = [
            f"{'k' if each in self.keys else 'r'}.{quoted(each)} AS {quoted(each)}" for each in self.columns
        ]
        return f"SELECT {', '.join(cells)}, r IS NULL AS {GONE} FROM ({self.common}) WHERE comes"

    @property
    def partitions(self) -> str:
        """The partitions that change. If the whole table is replaced: one row if anything changes."""
        named = [f"k.{quoted(each)} AS {quoted(each)}" for each in self.partition_keys]
        return f"SELECT DISTINCT {', '.join(named) or f'1 AS {WHOLE}'} FROM {COMMON} WHERE comes"

    @property
    def rows(self) -> str:
        """Every row, after the merge, of the partitions that change (the view `PARTITIONS`)."""
        named = ", ".join(f"r.{quoted(each)} AS {quoted(each)}" for each in self.columns)
        same = " AND ".join(f"k.{quoted(each)} <=> p.{quoted(each)}" for each in self.partition_keys)
        touched = f" LEFT SEMI JOIN {PARTITIONS} p ON {same}" if same else ""
        return f"SELECT {named} FROM {COMMON}{touched} WHERE r IS NOT NULL"

    @property
    def _comes(self) -> str:
        """Whether main takes the branch's row, or its lack of a row."""
        return "is_changed" if self.branch_wins else "is_changed AND NOT is_conflict"

    @property
    def _judged(self) -> str:
        return (
            f"WITH versions AS ({self._versions}), "
            f"beside AS (SELECT k, {self._row(BASE)} AS base, {self._row(HEAD)} AS head, "
            f"{self._row(self.main_base)} AS main_base, {self._row(MAIN)} AS main FROM versions GROUP BY k), "
            "moved AS (SELECT *, NOT (base <=> head) AS of_branch, NOT (main_base <=> main) AS of_main "
            "FROM beside), "
            # What main changed to the same row is no change any more.
            "judged AS (SELECT k, base, head, main_base, main, "
            "of_branch AND NOT (of_main AND head <=> main) AS is_changed, "
            "of_branch AND of_main AND NOT (head <=> main) AS is_conflict FROM moved)"
        )

    @property
    def _versions(self) -> str:
        packed = f"struct({_list(self.keys)}) AS k, struct({_list(self.columns)}) AS r"
        return " UNION ALL ".join(
            f"SELECT {packed}, {place} AS version FROM {view}{self.where}"
            for place, view in enumerate(self._views)
        )

    def _row(self, view: str) -> str:
        """The row of a key in a version. Two keys that only Spark takes for equal, as 0.0 and -0.0, fail."""
        of_it = f"FILTER (WHERE version = {self._views.index(view)})"
        twice = "raise_error('Two rows have a key that Spark takes for the same')"
        return f"IF(count(*) {of_it} > 1, {twice}, max(r) {of_it})"

    @property
    def _views(self) -> list[str]:
        return list(dict.fromkeys((BASE, HEAD, self.main_base, MAIN)))


@dataclass(frozen=True)
class Resolved(Keyed):
    """The merge with a person's choices for the keys in conflict; `CHOICES` has one JSON object per key.

    `k` is the key by columns' places, as `every_conflict` writes it. `s` is main, branch or base: main takes
    that side's row, or its lack of one. Else `m` maps columns' places to one of these words, which chooses
    cells. A cell without a choice gets the value of the only side that changed it, else main's.
    """

    decimals: Collection[str] = ()

    @property
    def common(self) -> str:
        cells = [f"{self._cell(name)} AS {quoted(name)}" for name in self.columns]
        none = "raise_error('A key in conflict was not decided')"
        row = (
            "CASE s WHEN 'main' THEN main WHEN 'branch' THEN head WHEN 'base' THEN base "
            f"ELSE IF(m IS NULL OR main IS NULL OR head IS NULL, {none}, struct({', '.join(cells)})) END"
        )
        return (
            f"{self._judged}, {self._choices}, "
            "beside_given AS (SELECT /*+ BROADCAST(given) */ * FROM judged LEFT JOIN given "
            f"ON IF(is_conflict, {self._identity}, NULL) = given_k), settled AS (SELECT *, "
            f"IF(is_conflict, {row}, IF(is_changed, head, main)) AS r FROM beside_given) "
            "SELECT k, r, IF(is_conflict, NOT (r <=> main), is_changed) AS comes FROM settled"
        )

    @property
    def wrong(self) -> str:
        """Why choices can't be applied: each row has a reason, the number of its `keys`, and the `first`.

        Reasons: `missing`, a key in conflict without a choice; `none`, a key that is not in conflict;
        `whole`, cells chosen although a side has no row; `undecided`, no choice for a cell that both sides
        changed; `same`, a choice for a cell that does not differ; `base`, base chosen although it has no row.
        """
        others = [each for each in self.columns if each not in self.keys]
        open_cells = [f"({self._is_both(each)} AND {self._chosen(each)} IS NULL)" for each in others]
        same = [f"({self._chosen(each)} IS NOT NULL AND NOT ({self._differs(each)}))" for each in others]
        of_base = [f"{self._chosen(each)} <=> 'base'" for each in others]
        reasons = {
            "missing": "given_k IS NULL",
            "none": "k IS NULL",
            "whole": "s IS NULL AND (main IS NULL OR head IS NULL)",
            "undecided": f"s IS NULL AND ({_any(open_cells)})",
            "same": f"s IS NULL AND ({_any(same)})",
            "base": f"s IS NULL AND base IS NULL AND ({_any(of_base)})",
        }
        cases = " ".join(f"WHEN {holds} THEN '{reason}'" for reason, holds in reasons.items())
        return (
            f"{self._judged}, {self._choices}, met AS "
            f"(SELECT *, CASE {cases} END AS wrong, {self._identity} AS id "
            "FROM (SELECT * FROM judged WHERE is_conflict) "
            f"FULL OUTER JOIN given ON {self._identity} = given_k) "
            "SELECT wrong, count(*) AS keys, min(to_json(coalesce(given_k, id))) AS first FROM met "
            "WHERE wrong IS NOT NULL GROUP BY wrong ORDER BY wrong"
        )

    @property
    def _choices(self) -> str:
        cells = [self._field(each) for each in self.columns if each not in self.keys]
        shape = f"k STRUCT<{self._key_shape}>, s STRING, m STRUCT<{_texts(cells or ['none'])}>"
        return (
            "given AS (SELECT c.k AS given_k, c.s, c.m FROM "
            f"(SELECT from_json(line, '{shape}') AS c FROM {CHOICES}))"
        )

    @property
    def _identity(self) -> str:
        """The key as texts, in the form of a choice."""
        return f"from_json({self._packed('k', self.keys, exactly(self.decimals))}, '{self._key_shape}')"

    @property
    def _key_shape(self) -> str:
        return _texts(map(self._field, self.keys))

    def _field(self, column: str) -> str:
        return f"c{self.columns.index(column)}"

    def _chosen(self, column: str) -> str:
        return f"m.{self._field(column)}"

    def _cell(self, column: str) -> str:
        name = quoted(column)
        if column in self.keys:
            return f"main.{name}"
        is_branch_alone = f"{self._has_changed(column, 'base', 'head')} AND NOT {self._has_changed(column)}"
        return (
            f"CASE {self._chosen(column)} WHEN 'main' THEN main.{name} WHEN 'branch' THEN head.{name} "
            f"WHEN 'base' THEN base.{name} ELSE IF({is_branch_alone}, head.{name}, main.{name}) END"
        )


def exactly(decimals: Collection[str]) -> AsText:
    """Values for a file of conflicts: decimals as texts, because a reader of the file may round numbers."""
    return lambda column, value: f"CAST({value} AS STRING)" if column in decimals else value


def _any(conditions: Sequence[str]) -> str:
    return " OR ".join(conditions) or "false"


def _texts(names: Iterable[str]) -> str:
    return ", ".join(f"{name} STRING" for name in names)


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))
