"""`revert`: take back what one commit did, and keep what came later, as one new commit.

Rows with a key go back to what they were before it, unless somebody changed them since. Without a key its
files leave the table, or its rows if they are in other files by now; rows that it took away come back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from paimark.core.actions.checks import fingerprint, integer_argument, required_integer, text_argument
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.merge import history
from paimark.core.actions.merge.resolution import Between
from paimark.core.actions.merge.sql import BACK, BASE, BASE_NOW, CONFLICT, GO, NOW, THEN, Carried
from paimark.core.actions.plan import Item, Outcome, Plan, Refusal, Step
from paimark.core.actions.plan_wording import engine_of
from paimark.core.actions.repair.commit import (
    Looked,
    RowRepair,
    apply_repair,
    conflicts_of,
    look_at_keys,
    plan_repair,
    writing_repairs,
)
from paimark.core.actions.repair.commit_files import CommitFiles, files_of_commit
from paimark.core.actions.repair.repair_plan import Found, KeyedRepair
from paimark.core.actions.rewrite.columns import column_refusals
from paimark.core.actions.rewrite.spark_rewrite import run_query, start_in, version_of
from paimark.core.errors import FileMissing, NotFound, Refused
from paimark.core.figures import age, counted
from paimark.core.figures import size as file_size
from paimark.core.spark.protocol import Repair, Version
from paimark.core.storage.files import Files
from paimark.core.table.definition.kind_signs import is_on
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.manifests.manifests import FileFacts
from paimark.core.table.records import ROWLESS, Snapshot
from paimark.core.travel.version import resolve_version

_COMPACT = "Compact it with --full first: that joins the marks with their files."


@dataclass(frozen=True)
class _Commit(RowRepair):
    """One commit of a root in its present state; `before` is None for the first, or one without rows.

    Of a table with a primary key, `lacking` are present columns that the commit did not know; of another one,
    `by_files` is what it did.
    """

    instead: ClassVar[str] = "Use --on-conflict now."

    commit: Snapshot
    before: Snapshot | None
    lacking: Sequence[str] = ()
    by_files: CommitFiles | None = None

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
    def since(self) -> str:
        return f"since {self.name}"

    @property
    def done(self) -> str:
        return f"took back {self.name}"

    @property
    def versions(self) -> dict[str, Version]:
        """For `Carried`: from after the commit to before it. Each pair reads only files that differ."""
        root = self.start.root
        commit, found = version_of(root, self.commit), dict[str, Version]()
        if self.before is not None:
            found = {THEN: replace(version_of(root, self.before), beside=BASE)}
        found[BASE] = commit
        if not self.is_newest:
            now = version_of(root, self.start.head.snapshot)
            found |= {BASE_NOW: replace(commit, beside=NOW), NOW: now}
        return found

    @property
    def repair(self) -> KeyedRepair | None:
        if self.by_files is not None:
            return None
        queries = Carried(
            schema=self.start.schema,
            kept=self.lacking,
            has_then=self.before is not None,
            is_newest=self.is_newest,
        )
        then = self.before or self.commit
        return KeyedRepair("revert", self.start, self.commit, then, self.versions, queries)

    @property
    def steps(self) -> list[Step]:
        found = [Step("check", self.name, f"committed by {_writer(self.commit)}")]
        if (of := self.by_files) is None:
            return [*found, Step("read", self.place, "the files that differ, before and after it and now")]
        if intact := [each for each in of.added if each.name in of.intact]:
            size = sum(each.size for each in intact)
            what = f"{counted(len(intact), 'file')} of {self.name}"
            found.append(Step("delete", what, "from the list of files", size))
        if of.written:
            size = sum(each.size for each in of.written)
            what = f"the rows of {counted(len(of.written), 'file')}"
            found.append(Step("copy", what, "those that stay or come back, through Spark", size))
        return found

    def refusals(self, files: Files) -> Iterator[Refusal]:
        """Why what it did can't be taken back."""
        of, name = self.by_files, self.start.root.table.full_name
        if self.before is not None and (of is None or of.removed or of.marked):
            then = Lineage(files, self.start.root).schema(self.before.schema_id)
            yield from column_refusals(then, f"snapshot {self.before.id}", self.start)
        if of is None:
            return
        if of.within and of.has_vectors:
            reason = f"Files of {name} with rows of {self.name} have marks of rows that were deleted since"
            yield Refusal(reason, _COMPACT)
        if (of.within or of.is_mixed) and is_on(self.start.schema.options, "row-tracking.enabled"):
            numbers = f"{name} numbers its rows (row-tracking.enabled)"
            reason = f"{numbers}, and those of {self.name} are in other files now"
            yield Refusal(reason, "DELETE them by a condition.")

    def look(self, context: Context) -> Looked:
        if (repair := self.repair) is not None:
            return look_at_keys(context, repair)
        of, lost = self.by_files, 0
        assert of is not None
        counts = {GO: _rows(of.added), BACK: _rows(of.removed)}
        if of.needs_counting:
            [answer] = run_query(context, self.start, of.versions, of.counts_sql, context.progress)
            lost = answer["lost"]
            counts = {GO: max(answer["go"] - lost, 0), BACK: answer["back"]}
        return Looked(Found({kind: count for kind, count in counts.items() if count}, lost=lost))

    def nothing(self, found: Found) -> str:
        left = f"{self.place} has nothing of {self.name} to take back"
        return f"{left}: all of it changed since." if found.number(CONFLICT) or found.lost else f"{left}."

    def ordered(self, order: Repair) -> Repair:
        of = self.by_files
        assert of is not None
        versions = of.versions if of.rows_sql else {}
        return replace(order, versions=versions, out=of.out, rows_sql=of.rows_sql)


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
        said = f"Snapshot {seen.commit.id} of {seen.place} changed no rows ({seen.commit.commit_kind})."
        return Plan(headline=said, arguments=made, empty=True)
    when = age(seen.commit.time_millis, context.clock())
    return plan_repair(
        context,
        seen,
        arguments,
        made,
        headline=f"Take back {seen.name} of {seen.place} ({seen.commit.commit_kind}, {when}).",
        cost=_cost(seen.steps),
        steps=seen.steps,
        items=_still_merged(context.files, seen),
        refusals=[*writing_repairs(context, seen.start), *seen.refusals(context.files)],
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
    return apply_repair(context, plan, progress, _seen)


def conflicting(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Between:
    """The rows that changed since the commit. Raises as the plan."""
    return conflicts_of(_seen(context.files, table, arguments))


def _seen(files: Files, table: TablePath, arguments: Mapping[str, object]) -> _Commit:
    number, branch = required_integer(arguments, "snapshot"), text_argument(arguments, "branch")
    root = branch_root(files, table, branch)
    start = start_in(files, root, is_main=branch is None, at=integer_argument(arguments, "head"))
    commit = resolve_version(files, root, f"snapshot.{number}").snapshot
    if commit.commit_kind in ROWLESS:
        return _Commit(start, commit, None)
    before = None if number == 1 else _before(files, root, number)
    if start.schema.primary_keys:
        # A column that the commit knew was null before it, though that definition lacks it.
        known = {field.id for field in Lineage(files, root).schema(commit.schema_id).fields}
        lacking = [field.name for field in start.schema.fields if field.id not in known]
        return _Commit(start, commit, before, lacking)
    try:
        return _Commit(start, commit, before, by_files=files_of_commit(files, start, before, commit))
    except FileMissing as error:
        place = f"{root.label} of {table.full_name}"
        raise Refused(f"{place} is not whole: {error.message}", "Repair it first.") from error


def _before(files: Files, root: Root, number: int) -> Snapshot:
    try:
        return resolve_version(files, root, f"snapshot.{number - 1}").snapshot
    except NotFound as error:
        raise Refused(
            f"Snapshot {number - 1} of {root.table.full_name}, the one before, has expired, and no tag or "
            f"savepoint keeps it: nobody knows what snapshot {number} changed",
            "restore-rows takes rows from any version that is left.",
        ) from error


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
