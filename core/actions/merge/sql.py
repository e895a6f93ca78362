"""The queries of a merge over four versions: the branch at its base and head, main at its base and now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.quoting import quoted
from core.spark.protocol import COMMON, PARTITIONS

BASE, HEAD = "__paimark_branch_base", "__paimark_branch"
MAIN_BASE, MAIN = "__paimark_main_base", "__paimark_main"
_FIRST_CONFLICTS = 5
# What SQL makes of a column's value, given its name and where it stands.
AsText = Callable[[str, str], str]


@dataclass(frozen=True)
class Unkeyed:
    """The merge of rows without a key, as often as they came: a table without one may hold a row twice.

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
    """The merge of rows with a key. `branch_wins` None: there are to be no conflicts.

    A key is changed on a side when its rows at base and head differ, or only one of them is there. It is in
    conflict when both sides changed it and not to the same. `main_base` is `BASE` where both have the same.
    `where` is a clause that every row passes of a partition that the branch changed.

    Each version is read once, and a key's rows of all of them meet in one place.
    """

    keys: Sequence[str]
    columns: Sequence[str]
    partition_keys: Sequence[str]
    branch_wins: bool | None = None
    main_base: str = MAIN_BASE
    where: str = ""

    @property
    def conflicts(self) -> str:
        """The first few keys, and in each row how many there are; no row when there are none."""
        return (
            f"{self._judged} SELECT to_json(k) AS key, count(*) OVER () AS conflicts FROM judged "
            f"WHERE is_conflict ORDER BY key LIMIT {_FIRST_CONFLICTS}"
        )

    def every_conflict(self, shown: AsText, limit: int) -> str:
        """A row a conflict, by key: `key`, `base`, `main` and `branch`, and `differing`.

        The first four are JSON objects of values by `c` and the column's place, null for no row. `differing`
        are the places of the columns in which main and the branch differ; where one of them has no row, those
        in which the other one's differs from the base.
        """
        sides = {"base": "base", "main": "main", "branch": "head"}
        rows = [f"{self._packed(row, self.columns, shown)} AS {name}" for name, row in sides.items()]
        flags = [f"IF({self._differs(name)}, {place}, NULL)" for place, name in enumerate(self.columns)]
        return (
            f"{self._judged} SELECT {self._packed('k', self.keys, shown)} AS key, {', '.join(rows)}, "
            f"array_compact(array({', '.join(flags)})) AS differing "
            f"FROM judged WHERE is_conflict ORDER BY k LIMIT {limit}"
        )

    @property
    def count_conflicts(self) -> str:
        return f"{self._judged} SELECT count(*) AS conflicts FROM judged WHERE is_conflict"

    def _packed(self, row: str, columns: Sequence[str], shown: AsText) -> str:
        values = [
            f"{shown(name, f'{row}.{quoted(name)}')} AS c{self.columns.index(name)}" for name in columns
        ]
        return f"IF({row} IS NULL, NULL, to_json(struct({', '.join(values)})))"

    def _differs(self, column: str) -> str:
        name = quoted(column)
        return (
            f"IF(main IS NOT NULL AND head IS NOT NULL, NOT (main.{name} <=> head.{name}), "
            f"base IS NOT NULL AND NOT (base.{name} <=> coalesce(main, head).{name}))"
        )

    @property
    def common(self) -> str:
        """Each key with main's row after the merge, null for none, and whether that comes of the branch."""
        return (
            f"{self._judged} SELECT k, IF({self._comes}, head, main) AS r, {self._comes} AS comes FROM judged"
        )

    @property
    def partitions(self) -> str:
        """The partitions that change; a row for a table without any, when anything does."""
        named = [f"k.{quoted(each)} AS {quoted(each)}" for each in self.partition_keys]
        return f"SELECT DISTINCT {', '.join(named) or '1 AS one'} FROM {COMMON} WHERE comes"

    @property
    def rows(self) -> str:
        """Every row of the partitions that change, called `PARTITIONS`, as they are after the merge."""
        named = ", ".join(f"r.{quoted(each)} AS {quoted(each)}" for each in self.columns)
        same = " AND ".join(f"k.{quoted(each)} <=> p.{quoted(each)}" for each in self.partition_keys)
        touched = f" LEFT SEMI JOIN {PARTITIONS} p ON {same}" if same else ""
        return f"SELECT {named} FROM {COMMON}{touched} WHERE r IS NOT NULL"

    @property
    def _comes(self) -> str:
        """Whether the branch's row, or that it has none, becomes main's."""
        return "is_changed" if self.branch_wins else "is_changed AND NOT is_conflict"

    @property
    def _judged(self) -> str:
        return (
            f"WITH versions AS ({self._versions}), "
            f"beside AS (SELECT k, {self._row(BASE)} AS base, {self._row(HEAD)} AS head, "
            f"{self._row(self.main_base)} AS main_base, {self._row(MAIN)} AS main FROM versions GROUP BY k), "
            "judged AS (SELECT k, base, head, main, NOT (base <=> head) AS is_changed, "
            "NOT (base <=> head) AND NOT (main_base <=> main) AND NOT (head <=> main) AS is_conflict "
            "FROM beside)"
        )

    @property
    def _versions(self) -> str:
        packed = f"struct({_list(self.keys)}) AS k, struct({_list(self.columns)}) AS r"
        return " UNION ALL ".join(
            f"SELECT {packed}, {place} AS version FROM {view}{self.where}"
            for place, view in enumerate(self._views)
        )

    def _row(self, view: str) -> str:
        """A key has one at most: two that only Spark takes for equal, as 0.0 and -0.0, stop the merge."""
        of_it = f"FILTER (WHERE version = {self._views.index(view)})"
        twice = "raise_error('Two rows have a key that Spark takes for the same')"
        return f"IF(count(*) {of_it} > 1, {twice}, max(r) {of_it})"

    @property
    def _views(self) -> list[str]:
        return list(dict.fromkeys((BASE, HEAD, self.main_base, MAIN)))


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))
