"""The queries of a merge over four versions: the branch at its base and head, main at its base and now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.travel.quoting import quoted

BASE, HEAD, THEN, NOW = "__paimark_base", "__paimark_head", "__paimark_then", "__paimark_now"


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
        return f"(SELECT * FROM {NOW} EXCEPT ALL ({self._removed})) UNION ALL ({self.added})"

    @property
    def _removed(self) -> str:
        return f"SELECT * FROM {BASE}{self.where} EXCEPT ALL SELECT * FROM {HEAD}{self.where}"


@dataclass(frozen=True)
class Keyed:
    """The merge of rows with a key. `branch_wins` None: there are to be no conflicts.

    A key is changed on a side when its rows at base and head differ, or only one of them is there. It is in
    conflict when both sides changed it and not to the same. `where` is a clause that every row passes of a
    partition that the branch changed.
    """

    keys: Sequence[str]
    columns: Sequence[str]
    partition_keys: Sequence[str]
    branch_wins: bool | None = None
    where: str = ""

    @property
    def count_conflicts(self) -> str:
        """How many, and the first few keys."""
        return (
            f"{self._changes}, {self._conflicts} SELECT count(*) AS conflicts, "
            "slice(array_sort(collect_list(to_json(k))), 1, 5) AS first FROM conflicts"
        )

    @property
    def rows(self) -> str:
        """Every row of the partitions that change, as they are after the merge."""
        return (
            f"{self._changes}, {self._conflicts}, {self._applied}, "
            f"merged AS (SELECT a.k AS ak, coalesce(a.k, m.k) AS k, a.r AS ar, m.r AS mr "
            f"FROM ({self._packed(NOW)}) m FULL JOIN applied a ON m.k = a.k) "
            f"SELECT {', '.join(f'r.{quoted(each)} AS {quoted(each)}' for each in self.columns)} FROM "
            f"(SELECT k, IF(ak IS NULL, mr, ar) AS r FROM merged){self._where_touched} "
            "WHERE r IS NOT NULL"
        )

    @property
    def partitions(self) -> str:
        """The partitions that change; a row for a table without any, when anything does."""
        named = [f"k.{quoted(each)} AS {quoted(each)}" for each in self.partition_keys]
        return (
            f"{self._changes}, {self._conflicts}, {self._applied} "
            f"SELECT DISTINCT {', '.join(named) or '1 AS one'} FROM applied"
        )

    @property
    def _changes(self) -> str:
        return f"WITH {self._changed('mine', BASE, HEAD)}, {self._changed('theirs', THEN, NOW)}"

    @property
    def _conflicts(self) -> str:
        return (
            "conflicts AS (SELECT mine.k AS k FROM mine JOIN theirs ON mine.k = theirs.k "
            "WHERE NOT (mine.r <=> theirs.r))"
        )

    @property
    def _applied(self) -> str:
        if self.branch_wins:
            return "applied AS (SELECT * FROM mine)"
        return "applied AS (SELECT mine.* FROM mine LEFT ANTI JOIN conflicts ON mine.k = conflicts.k)"

    @property
    def _where_touched(self) -> str:
        if not self.partition_keys:
            return ""
        same = " AND ".join(f"each.k.{quoted(name)} <=> p.{quoted(name)}" for name in self.partition_keys)
        named = ", ".join(f"k.{quoted(name)} AS {quoted(name)}" for name in self.partition_keys)
        return f" each LEFT SEMI JOIN (SELECT DISTINCT {named} FROM applied) p ON {same}"

    def _changed(self, name: str, before: str, after: str) -> str:
        return (
            f"{name} AS (SELECT coalesce(b.k, h.k) AS k, h.r AS r FROM ({self._packed(before)}) b "
            f"FULL JOIN ({self._packed(after)}) h ON b.k = h.k WHERE NOT (b.r <=> h.r))"
        )

    def _packed(self, view: str) -> str:
        packed = f"struct({_list(self.keys)}) AS k, struct({_list(self.columns)}) AS r"
        return f"SELECT {packed} FROM {view}{self.where}"


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))
