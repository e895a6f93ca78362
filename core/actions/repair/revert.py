"""`revert`: take back what one commit did, and keep what came later, as one new commit.

Rows with a key go back to what they were before it, unless somebody changed them since. Without a key its
files leave the table, or its rows if they are in other files by now; rows that it took away come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from paimark.core.actions.checks import fingerprint, integer_argument, text_argument
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.merge import history
from paimark.core.actions.merge.resolution import Between
from paimark.core.actions.plan import UNTIL_NEW_COMMIT, Item, Outcome, Plan, Refusal, Step
from paimark.core.actions.repair.changes import (
    BACK,
    BASE,
    BASE_NOW,
    CONFLICT,
    GO,
    NOW,
    THEN,
    OneCommit,
)
from paimark.core.actions.repair.commit import (
    apply_repair,
    kept_history,
    look_at_keys,
    order_of,
    writing_repairs,
)
from paimark.core.actions.repair.commit_files import CommitFiles, files_of_commit
from paimark.core.actions.repair.deciding import KeyedRepair, decision
from paimark.core.actions.repair.found import Found
from paimark.core.actions.rewrite.columns import column_refusals
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase, run_query, start_in, version_of
from paimark.core.actions.said import engine_of, may_be_overwritten, nothing_lost, streams_skip
from paimark.core.errors import FileMissing, NotFound, Refused, UsageError
from paimark.core.figures import age, counted
from paimark.core.figures import size as file_size
from paimark.core.spark.protocol import Repair, Version
from paimark.core.storage.files import Files
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.definition.kind_signs import is_on
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.manifests.manifests import FileFacts
from paimark.core.table.records import ROWLESS, Snapshot
from paimark.core.travel.version import resolve_version

_COMPACT = "Compact it with --full first: that joins the marks with their files."


@dataclass(frozen=True)
class _Commit:
    """One commit of a root in its present state; `before` is None for the first."""

    start: RewriteBase
    commit: Snapshot
    before: Snapshot | None

    @property
    def where(self) -> str:
        return f"{self.start.root.label} of {self.start.root.table.full_name}"

    @property
    def name(self) -> str:
        return f"snapshot {self.commit.id}"

    @property
    def is_newest(self) -> bool:
        return self.commit.id == self.start.head.snapshot.id

    @property
    def fingerprint(self) -> str:
        before = b"" if self.before is None else self.before.to_json()
        return fingerprint(self.start.fingerprint, self.commit.to_json(), before)

    @property
    def versions(self) -> dict[str, Version]:
        """For `OneCommit`: each pair reads only files that differ."""
        root = self.start.root
        commit, found = version_of(root, self.commit), dict[str, Version]()
        if self.before is not None:
            found = {THEN: replace(version_of(root, self.before), beside=BASE)}
        found[BASE] = commit
        if not self.is_newest:
            now = version_of(root, self.start.head.snapshot)
            found |= {BASE_NOW: replace(commit, beside=NOW), NOW: now}
        return found

    def repair(self, files: Files) -> KeyedRepair | None:
        """None without a primary key."""
        if not self.start.schema.primary_keys:
            return None
        then = self.before or self.commit
        return KeyedRepair("revert", self.start, self.commit, then, self.versions, self.queries(files))

    def queries(self, files: Files) -> OneCommit:
        schema = self.start.schema
        # A column that the commit knew was null before it, though that definition lacks it.
        known = {field.id for field in Lineage(files, self.start.root).schema(self.commit.schema_id).fields}
        return OneCommit(
            schema.primary_keys,
            [field.name for field in schema.fields],
            [field.name for field in schema.fields if field.id not in known],
            has_then=self.before is not None,
            is_newest=self.is_newest,
        )


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `snapshot`, `branch` (main when None), and `on_conflict`: whether a row that changed since
    stays as it is `now`, or becomes what it was `then`; with `fail` nothing is written. Or `resolve`, a file
    of choices.
    """
    seen = _seen(context.files, table, arguments)
    made: dict[str, str | int | bool | None] = {
        "snapshot": seen.commit.id,
        "branch": text_argument(arguments, "branch"),
        "head": seen.start.head.snapshot.id,
    }
    if seen.commit.commit_kind in ROWLESS:
        said = f"Snapshot {seen.commit.id} of {seen.where} changed no rows ({seen.commit.commit_kind})."
        return Plan(headline=said, arguments=made, empty=True)
    refusals = writing_repairs(context, seen.start)
    is_keyed = bool(seen.start.schema.primary_keys)
    find = _keyed if is_keyed else _unkeyed
    found, steps, more = find(context, seen, is_refused=bool(refusals) or context.read_only)
    refusals += more
    since = f"since {seen.name}"
    decided = decision(context, arguments if found is not None else {}, seen.repair(context.files))
    made |= {**decided.arguments, "conflicts": found is not None and found.number(CONFLICT) > 0}
    if found is not None:
        refusals += [*decided.refusals, *decided.refused(found, since)]
    if not refusals and found is not None and not decided.changes(found):
        left = f"{seen.where} has nothing of {seen.name} to take back"
        if found.number(CONFLICT) or found.lost:
            left = f"{left}: all of it changed since"
        return Plan(headline=f"{left}.", arguments=made, fingerprint=seen.fingerprint, empty=True)
    items = [] if found is None else decided.items(found, since)
    if found is not None and not any(each.kind == "loses" for each in items):
        items.append(nothing_lost("no row goes"))
    when = age(seen.commit.time_millis, context.clock())
    return Plan(
        headline=f"Take back {seen.name} of {seen.where} ({seen.commit.commit_kind}, {when}).",
        arguments=made,
        fingerprint=decided.fingerprint(seen.fingerprint),
        items=(
            *items,
            *may_be_overwritten(context.files, seen.start.root, context.clock()),
            *([] if is_keyed else [streams_skip(context.files, seen.start.root)]),
            *_still_merged(context.files, seen),
            kept_history(seen.start),
        ),
        steps=(
            Step("check", seen.name, f"committed by {_writer(seen.commit)}"),
            *steps,
            Step(
                "create",
                seen.start.root.snapshot(seen.start.head.snapshot.id + 1),
                "one commit of rows",
            ),
        ),
        cost=_cost(steps),
        refusals=tuple(refusals),
        undo=table.undo,
        until=UNTIL_NEW_COMMIT,
    )


def _still_merged(files: Files, seen: _Commit) -> list[Item]:
    """Of a merge: the next merge of that branch goes on behind it, and so does not bring its rows again."""
    root = seen.start.root
    branches = [
        each.branch
        for each in history.events(files, root.table)
        if each.kind == "merge" and each.root == root.branch and each.main.is_of(seen.commit)
    ]
    said = "still counts as merged: another merge does not bring this back, a revert of the new commit does"
    return [Item("affects", f"branch {name} {said}", "still-merged") for name in branches]


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Raises `Refused` if anything moved since the plan was made, but for later commits to other rows."""
    seen = _seen(context.files, parse_table_name(plan.table), plan.arguments) if not plan.empty else None
    repair = None if seen is None else seen.repair(context.files)
    decided = decision(context, {} if plan.empty else plan.arguments, repair)

    def order(start: RewriteBase) -> Repair:
        assert seen is not None
        done = f"took back {seen.name}"
        if repair is not None:
            return decided.ordered(order_of(start, plan, seen.versions, done), repair)
        of = files_of_commit(context.files, start, seen.before, seen.commit)
        versions = of.versions if of.rows_sql else {}
        return replace(order_of(start, plan, versions, done), out=of.out, rows_sql=of.rows_sql)

    def find() -> tuple[RewriteBase, str]:
        assert seen is not None
        return seen.start, decided.fingerprint(seen.fingerprint)

    return apply_repair(context, plan, progress, find, order)


def conflicting(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Between:
    """The rows that changed since the commit. Raises as the plan."""
    if (repair := _seen(context.files, table, arguments).repair(context.files)) is None:
        raise Refused(f"{table.full_name} has no primary key: no row can be chosen", "Use --on-conflict now.")
    return repair.between


def _seen(files: Files, table: TablePath, arguments: Mapping[str, object]) -> _Commit:
    number, branch = integer_argument(arguments, "snapshot"), text_argument(arguments, "branch")
    if number is None:
        raise UsageError("snapshot is missing", "Give it as --snapshot.")
    root = branch_root(files, table, branch)
    start = start_in(files, root, is_main=branch is None, at=integer_argument(arguments, "head"))
    commit = resolve_version(files, root, f"snapshot.{number}").snapshot
    if commit.commit_kind in ROWLESS or number == 1:
        return _Commit(start, commit, None)
    try:
        return _Commit(start, commit, resolve_version(files, root, f"snapshot.{number - 1}").snapshot)
    except NotFound as error:
        raise Refused(
            f"Snapshot {number - 1} of {table.full_name}, the one before, has expired, and no tag or "
            f"savepoint keeps it: nobody knows what snapshot {number} changed",
            "restore-rows takes rows from any version that is left.",
        ) from error


def _keyed(
    context: Context, seen: _Commit, *, is_refused: bool
) -> tuple[Found | None, list[Step], list[Refusal]]:
    start = seen.start
    steps = [Step("read", seen.where, "the files that differ, before and after it and now")]
    refusals = []
    if seen.before is not None:
        then = Lineage(context.files, start.root).schema(seen.before.schema_id)
        refusals = column_refusals(then, f"snapshot {seen.before.id}", start)
    if is_refused or refusals:
        return None, steps, refusals
    found, refusals = look_at_keys(context, start, seen.versions, seen.queries(context.files))
    return found, steps, refusals


def _unkeyed(
    context: Context, seen: _Commit, *, is_refused: bool
) -> tuple[Found | None, list[Step], list[Refusal]]:
    start, name = seen.start, seen.start.root.table.full_name
    try:
        of = files_of_commit(context.files, start, seen.before, seen.commit)
    except FileMissing as error:
        return None, [], [Refusal(f"{seen.where} is not whole: {error.message}", "Repair it first.")]
    steps, refusals = [*_steps(of, seen)], [*_unkeyed_refusals(context, of, seen, name)]
    if is_refused or refusals:
        return None, steps, refusals
    if not of.needs_counting:
        counts = {GO: _rows(of.added), BACK: _rows(of.removed)}
        return Found({kind: count for kind, count in counts.items() if count}), steps, []
    [counted_] = run_query(context, start, of.versions, of.counts_sql, context.progress)
    counts = {GO: max(counted_["go"] - counted_["lost"], 0), BACK: counted_["back"]}
    return Found({kind: count for kind, count in counts.items() if count}, lost=counted_["lost"]), steps, []


def _unkeyed_refusals(context: Context, of: CommitFiles, seen: _Commit, name: str) -> list[Refusal]:
    found = []
    if seen.before is not None and (of.removed or of.marked):
        then = Lineage(context.files, of.start.root).schema(seen.before.schema_id)
        found += column_refusals(then, f"snapshot {seen.before.id}", of.start)
    if of.within and of.has_vectors:
        reason = f"Files of {name} with rows of {seen.name} have marks of rows that were deleted since"
        found.append(Refusal(reason, _COMPACT))
    if (of.within or of.is_mixed) and is_on(of.start.schema.options, "row-tracking.enabled"):
        reason = (
            f"{name} numbers its rows (row-tracking.enabled), and those of {seen.name} are in other files now"
        )
        found.append(Refusal(reason, "DELETE them by a condition."))
    return found


def _steps(of: CommitFiles, seen: _Commit) -> list[Step]:
    intact = [each for each in of.added if each.name in of.intact]
    found = []
    if intact:
        size = sum(each.size for each in intact)
        found.append(
            Step("delete", f"{counted(len(intact), 'file')} of {seen.name}", "from the list of files", size)
        )
    if of.written:
        size = sum(each.size for each in of.written)
        what = f"the rows of {counted(len(of.written), 'file')}"
        found.append(Step("copy", what, "those that stay or come back, through Spark", size))
    return found


def _cost(steps: list[Step]) -> str:
    written = sum(each.size for each in steps if each.verb == "copy")
    if not any(each.verb in ("copy", "read") for each in steps):
        return "one commit of metadata, no data file is written"
    return (
        f"Spark writes rows of {file_size(written)} again, one commit"
        if written
        else "Spark compares, one commit"
    )


def _rows(of: Iterable[FileFacts]) -> int:
    return sum(each.rows for each in of)


def _writer(commit: Snapshot) -> str:
    return f"{engine_of(commit.writer_version)}, {counted(abs(commit.delta_record_count or 0), 'record')}"
