"""`blame`: which commit wrote each of some rows last, newest first, by the files that each commit added.

Only commits count whose files may hold one of the keys, and many are looked into by one query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from paimark.core.actions.checks import text_argument
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.repair.row_condition import MOST_KEYS, errors_of_condition, keys_of, meant_rows
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase, run_query, start_in, version_of
from paimark.core.errors import FileMissing, UsageError
from paimark.core.figures import counted
from paimark.core.quoting import quoted
from paimark.core.spark.protocol import Version as Rows
from paimark.core.statements.questions.history import may_hold
from paimark.core.statements.questions.one_version import snapshot_of
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.manifests.files import delta_entries
from paimark.core.table.records import ROWLESS, Snapshot
from paimark.core.travel.when import Version, versions

_NOW = "__paimark_now"
_BATCH, _MOST_COMMITS = 20, 200


@dataclass(frozen=True, slots=True)
class Blame:
    """The rows of `arguments`: `keys`, `where` or `partition`, as `restore-rows` takes them, on one root."""

    context: Context
    table: TablePath
    branch: str | None
    arguments: Mapping[str, object]

    def find(self, progress: Progress) -> Iterator[tuple[Mapping[str, Any], Version | None, Snapshot | None]]:
        """Each row that is there, by its key, with the commit that wrote it last; None if that is not known.

        A table without a primary key is refused, and so is what is no key, and a condition of too many rows.
        Raises the engine's error.
        """
        files, root = self.context.files, branch_root(self.context.files, self.table, self.branch)
        start = start_in(files, root, is_main=self.branch is None)
        if not start.schema.primary_keys:
            raise UsageError(f"{self.table.full_name} has no primary key: its rows are not told apart", "")
        where = meant_rows(start.schema, self.arguments)
        if keys := text_argument(self.arguments, "keys"):
            meant = keys_of(start.schema, keys)
        else:
            meant, where = self._meant(start, where, progress)
        candidates, told = self._candidates(start, meant), set[bytes]()
        while True:
            batch = list(islice(candidates, _BATCH))
            rows = run_query(self.context, start, *self._query(start, batch, where), progress)
            by_id = {version.snapshot_id: (version, snapshot) for version, snapshot, _ in batch}
            there = {key: each for each in rows if (key := msgspec.json.encode(each["k"])) not in told}
            known = {key: each for key, each in there.items() if each["n"]}
            for each in sorted(known.values(), key=lambda each: -int(each["n"])):
                yield each["k"], *by_id[each["n"]]
            told |= known.keys()
            if not batch or known.keys() == there.keys():
                break
        for key in there.keys() - told:
            yield there[key]["k"], None, None

    def _meant(
        self, start: RewriteBase, where: str, progress: Progress
    ) -> tuple[list[Mapping[str, Any]], str]:
        """The keys of the rows that satisfy a condition now, and the condition that they are meant in SQL.

        A commit's rows are asked by key: some columns of a row may be of an older commit.
        """
        keys, now = _keys(start), {_NOW: version_of(start.root, start.head.snapshot)}
        # Without the alias, Spark would take WHERE for one.
        those = f"FROM {_NOW} AS {_NOW} WHERE {where}"
        sql = f"SELECT struct({keys}) AS k {those} LIMIT {MOST_KEYS + 1}"
        with errors_of_condition(where):
            rows = run_query(self.context, start, now, sql, progress)
        if len(rows) > MOST_KEYS:
            raise UsageError(f"More than {MOST_KEYS:,} rows satisfy the condition", "Narrow it.")
        return [each["k"] for each in rows], f"({keys}) IN (SELECT {keys} {those})"

    def _query(
        self, start: RewriteBase, batch: Sequence[tuple[Version, Snapshot, tuple[str, ...]]], where: str
    ) -> tuple[dict[str, Rows], str]:
        keys = f"struct({_keys(start)}) AS k"
        found = {_NOW: version_of(start.root, start.head.snapshot)}
        parts = [f"SELECT {keys}, 0 AS n FROM {_NOW} WHERE {where}"]
        for version, snapshot, names in batch:
            view = f"__paimark_of_{version.snapshot_id}"
            found[view] = replace(version_of(start.root, snapshot), only=names)
            parts.append(f"SELECT {keys}, {version.snapshot_id} AS n FROM {view} WHERE {where}")
        told = " UNION ALL ".join(parts)
        return found, f"SELECT k, max(n) AS n FROM ({told}) GROUP BY k HAVING min(n) = 0 ORDER BY k"

    def _candidates(
        self, start: RewriteBase, meant: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[Version, Snapshot, tuple[str, ...]]]:
        """The newest commits that may have written one of the keys, each with its files that may hold one."""
        files, count, newer = self.context.files, 0, start.head.snapshot.id
        tests = [may_hold(start.schema, _texts(each)) for each in meant]
        for version in reversed(versions(files, start.root, None, None)):
            snapshot = snapshot_of(self.context, start.root, version)
            if snapshot is None or version.snapshot_id < newer - 1 or count == _MOST_COMMITS:
                # One that has expired may have written the row again.
                return
            newer = version.snapshot_id
            if snapshot.commit_kind in ROWLESS:
                continue
            try:
                names = tuple(
                    str(each.file["_FILE_NAME"])
                    for each in delta_entries(files, self.table, snapshot)
                    if each.is_added and any(test(each) for test in tests)
                )
            except FileMissing:
                # It expires just now.
                return
            if names:
                count += 1
                yield version, snapshot, names


def unknown_said(rows: int) -> str:
    """What is said of rows whose commit is not known; nothing of none."""
    if not rows:
        return ""
    return f"{counted(rows, 'row')} came before the oldest snapshot that is left, or one of many since"


def _keys(start: RewriteBase) -> str:
    return ", ".join(map(quoted, start.schema.primary_keys))


def _texts(key: Mapping[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else str(value) for name, value in key.items()}
