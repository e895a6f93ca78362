"""`restore-rows`: the rows of a condition, of partitions or of keys become what they were at a version.

It is one new commit; all other rows stay. Rows with a key are written or deleted one by one. Without a key,
the rows that meet the condition now are deleted, and those that met it then are written again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from msgspec.structs import replace

from paimark.core.actions.checks import fingerprint, integer_argument, required_text, text_argument
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.merge.resolution import Between
from paimark.core.actions.merge.sql import BACK, GO, NOW, THEN
from paimark.core.actions.plan import Item, Outcome, Plan, Refusal, Step
from paimark.core.actions.repair.changes import OneVersion
from paimark.core.actions.repair.commit import (
    Looked,
    RowRepair,
    apply_repair,
    conflicts_of,
    look_at_keys,
    plan_repair,
    writing_repairs,
)
from paimark.core.actions.repair.repair_plan import Found, KeyedRepair
from paimark.core.actions.repair.row_condition import errors_of_condition, meant_rows
from paimark.core.actions.rewrite.columns import column_refusals
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase, run_query, start_in, version_of
from paimark.core.actions.rollback.target import version_at
from paimark.core.errors import NotFound, Refused, UsageError
from paimark.core.figures import counted
from paimark.core.quoting import quoted
from paimark.core.spark.protocol import Repair, Version
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.records import ROWLESS, Snapshot, TableSchema, is_same_commit
from paimark.core.travel.version import Resolved

# Of more commits since the version nobody looks which rows several of them changed.
_MOST_COMMITS = 10


@dataclass(frozen=True)
class _Rows(RowRepair):
    """The rows of a root in its present state that are meant, and the version.

    `states` are those from the version to now that differ in rows; None if some of them are gone, or
    they are too many.
    """

    instead: ClassVar[str] = "Use --where."

    version: Resolved
    then: TableSchema
    where: str
    states: tuple[Snapshot, ...] | None

    @property
    def name(self) -> str:
        """`savepoint.3 (snapshot 5)`, `snapshot.5`."""
        name, number = self.version.name, self.version.snapshot.id
        return name if name == f"snapshot.{number}" else f"{name} (snapshot {number})"

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.start.fingerprint, self.version.snapshot.to_json(), self.where)

    @property
    def lacking(self) -> list[str]:
        """Present columns that the version lacks."""
        known = {field.id for field in self.then.fields}
        return [field.name for field in self.start.schema.fields if field.id not in known]

    @property
    def commits(self) -> list[tuple[str, str]]:
        return [(f"__paimark_a{n}", f"__paimark_b{n}") for n in range(len(self.states or ()) - 1)]

    @property
    def versions(self) -> dict[str, Version]:
        root = self.start.root
        then, now = (
            version_of(self.version.root, self.version.snapshot),
            version_of(root, self.start.head.snapshot),
        )
        found = {THEN: replace(then, beside=NOW), NOW: now}
        if len(self.commits) > 1:
            for (before, after), pair in zip(self.commits, pairwise(self.states or ()), strict=True):
                first, last = (version_of(root, each) for each in pair)
                found |= {before: replace(first, beside=after), after: last}
        return found

    @property
    def repair(self) -> KeyedRepair | None:
        """None without a primary key."""
        if not self.start.schema.primary_keys:
            return None
        then = self.version.snapshot
        return KeyedRepair("restore-rows", self.start, None, then, self.versions, self.queries)

    @property
    def queries(self) -> OneVersion:
        return OneVersion(schema=self.start.schema, kept=self.lacking, where=self.where, commits=self.commits)

    @property
    def since(self) -> str:
        return f"by several commits since {self.name}"

    @property
    def done(self) -> str:
        return f"gave rows what they were at {self.name}"

    def nothing(self, found: Found) -> str:
        return f"These rows of {self.place} are as they were at {self.name}."

    def look(self, context: Context) -> Looked:
        if is_same_commit(self.version.snapshot, self.start.head.snapshot):
            return Looked(Found())
        with errors_of_condition(self.where), _refusing_conditions():
            repair = self.repair
            return self._look_at_rows(context) if repair is None else look_at_keys(context, repair)

    def _look_at_rows(self, context: Context) -> Looked:
        lost = " OR ".join(f"{quoted(name)} IS NOT NULL" for name in self.lacking) or "false"
        then, now = (f"SELECT * FROM {each} AS this WHERE {self.where}" for each in (THEN, NOW))
        # Within an aggregate Spark takes only conditions that are the same each time.
        sql = (
            f"SELECT (SELECT count(*) FROM ({now} EXCEPT ALL {then})) AS go, "
            f"(SELECT count(*) FROM ({then} EXCEPT ALL {now})) AS back, "
            f"count_if({self.where} AND ({lost})) AS lost FROM {NOW} AS this"
        )
        [answer] = run_query(context, self.start, self.versions, sql, context.progress)
        found = Found({kind: answer[kind] for kind in (GO, BACK) if answer[kind]})
        if not answer["lost"] or not found.counts:
            return Looked(found)
        named, rows = ", ".join(self.lacking), counted(answer["lost"], "row")
        reason = f"{self.name} has no column {named}, and {rows} would lose its values"
        return Looked(found, [Refusal(reason, "Drop the column first, or write those rows yourself.")])

    def ordered(self, order: Repair) -> Repair:
        then = version_of(self.version.root, self.version.snapshot)
        rows = f"SELECT * FROM {THEN} AS this WHERE {self.where}"
        return replace(order, versions={THEN: then}, delete_where=self.where, rows_sql=rows)


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `from_version`; one of `where`, `partition` and `keys`; `branch` (main when None);
    `on_conflict` or `resolve`, as of `revert`, for rows that more than one commit changed since the version.
    """
    seen = _seen(context.files, table, arguments)
    names = ("from_version", "where", "partition", "keys", "branch")
    made: dict[str, str | int | bool | None] = {name: text_argument(arguments, name) for name in names}
    # The snapshot and the condition that the plan has seen: a time or a file may mean others later.
    made |= {"head": seen.start.head.snapshot.id, "then": seen.version.snapshot.id}
    return plan_repair(
        context,
        seen,
        arguments,
        made,
        headline=f"Give rows of {seen.place} what they were at {seen.name}.",
        cost="one commit, through Spark",
        steps=[Step("read", seen.place, f"the files that differ from {seen.name}")],
        items=_unknown(seen),
        refusals=[
            *writing_repairs(context, seen.start),
            *column_refusals(seen.then, seen.name, seen.start),
        ],
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Raises `Refused` if anything moved since the plan was made, but for later commits to other rows."""
    return apply_repair(context, plan, progress, _seen)


def conflicting(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Between:
    """The rows that several commits changed since the version. Raises as the plan."""
    return conflicts_of(_seen(context.files, table, arguments))


def _seen(files: Files, table: TablePath, arguments: Mapping[str, object]) -> _Rows:
    name, branch = required_text(arguments, "from_version"), text_argument(arguments, "branch")
    root = branch_root(files, table, branch)
    start = start_in(files, root, is_main=branch is None, at=integer_argument(arguments, "head"))
    where = meant_rows(start.schema, arguments)
    version = version_at(files, root, name.strip())
    then = Lineage(files, version.root).schema(version.snapshot.schema_id)
    return _Rows(start, version, then, where, _states_since(files, start, version))


def _states_since(files: Files, start: RewriteBase, version: Resolved) -> tuple[Snapshot, ...] | None:
    lineage, states = Lineage(files, start.root), [version.snapshot]
    try:
        for number in range(version.snapshot.id + 1, start.head.snapshot.id + 1):
            each = lineage.snapshot(number)
            if each.commit_kind not in ROWLESS:
                states.append(each)
                if len(states) > _MOST_COMMITS + 1:
                    return None
    except NotFound:
        return None
    return tuple(states)


@contextmanager
def _refusing_conditions() -> Iterator[None]:
    """Turn Spark's refusal of a condition, which it counts rows by, into a sentence about that condition."""
    try:
        yield
    except Refused as error:
        if "on-deterministic" in error.message:
            reason = "The condition is not one that is the same each time it is read"
            raise UsageError(reason, "Leave out rand(), uuid() and calls of Java.") from error
        if "aggregate function" in error.message:
            raise UsageError("The condition is about several rows", "Write one about one row.") from error
        raise


def _unknown(seen: _Rows) -> list[Item]:
    if not seen.start.schema.primary_keys or seen.states is not None:
        return []
    text = f"which rows several commits changed since {seen.name}: they are too many, or some have expired"
    return [Item("unknown", text, "conflicts-unknown")]
