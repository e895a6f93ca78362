"""Rewrite main's rows through Spark: the start, what can't be rewritten, and the one commit at the end.

Rows are read from immutable versions and become one commit on the state that the plan saw. A commit by
another writer in between is never overwritten. Until the commit the table is unchanged: an interrupted
rewrite leaves only files that no snapshot names, which orphan cleaning removes.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec.structs import replace

from paimark.core.actions.change.journal import Hold
from paimark.core.actions.change.landing import commit_user, find_commit
from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Context, Counting, Progress, Remark
from paimark.core.actions.plan import Refusal, Step
from paimark.core.actions.plan_wording import place_of
from paimark.core.actions.rewrite.json_rows import decoded
from paimark.core.actions.roots import savepoint_claim
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot, choose_planned
from paimark.core.config import Settings
from paimark.core.errors import Cancelled, FileMissing, Outrun, PaimarkError, Refused, Unavailable
from paimark.core.figures import counted
from paimark.core.figures import size as file_size
from paimark.core.spark.client.client import Engine
from paimark.core.spark.launch.jars import has_library, no_library
from paimark.core.spark.protocol import (
    ActionTask,
    Ask,
    Failed,
    Repair,
    StageProgress,
    TaskResult,
    Version,
    Write,
)
from paimark.core.storage.files import Files, Unanswered
from paimark.core.table.commits import Overwritten, overwritten
from paimark.core.table.definition import kinds
from paimark.core.table.definition.column_types import has_ordered_entries, unordered_part
from paimark.core.table.definition.file_sizes import unit_of
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.lost_newest import require_newest
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.manifests.files import size_of, unseen_files
from paimark.core.table.records import Snapshot, TableSchema
from paimark.core.table.savepoints import SavepointManager

_KINDS: Mapping[str, type[PaimarkError]] = {
    # A process of Spark makes the commit. It may live on, and no event proves that the commit was not sent.
    "cancelled": Cancelled,
    "engine": Unanswered,
    "overwritten": Overwritten,
    "start": Unavailable,
}


class _Killed(Cancelled):
    """A person ended the engine before it answered."""


class QueryRefused(Refused):
    """A query that Spark does not run. `position` is an offset in its text, if known."""

    def __init__(self, failed: Failed, sql: str) -> None:
        super().__init__(failed.message, failed.hint)
        self.sql, self.position = sql, failed.position


@dataclass(frozen=True)
class RewriteBase:
    """Main as the plan sees it, or a branch that is not main: its newest snapshot and schema."""

    head: ChosenSnapshot
    schema: TableSchema
    is_main: bool = True

    @property
    def root(self) -> Root:
        return self.head.root

    @property
    def place(self) -> str:
        """`main`, or `branch fix`."""
        return place_of(self.root, is_main=self.is_main)

    @property
    def schema_text(self) -> str:
        return self.schema.to_json().decode()

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.head.fingerprint, self.schema_text)

    def defined_as(self, schema: TableSchema | None) -> RewriteBase:
        """With the definition in which rows are written, if that is another one."""
        return self if schema is None else RewriteBase(self.head, schema, self.is_main)


@dataclass(frozen=True)
class QueryRows:
    """The rows of a query over versions; `texts` are views beside those.

    `are_upserts`: they are for a `Repair`, by their keys, and with `overwrite` their partitions are written
    again. Rows that are only added are the same whatever others commit meanwhile, and upserts unless others
    commit to these keys, or partitions. If main's rows with these `is_checked`, others must not commit
    meanwhile. With `replaces_later` these are all rows of the table, instead of what others commit meanwhile
    too.
    """

    versions: Mapping[str, Version]
    sql: str
    overwrite: bool
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    are_upserts: bool = False
    is_checked: bool = False
    replaces_later: bool = False

    @property
    def may_go_on(self) -> bool:
        """Whether main may go on while they are written, so that only the commit is tried again."""
        return not self.is_checked and (not self.overwrite or self.are_upserts or self.replaces_later)


def start_of(files: Files, table: TablePath) -> RewriteBase:
    """Main's present state. Raises `Refused` for a table without a snapshot, or that has lost its newest."""
    return start_in(files, main_root(files, table))


def start_in(files: Files, root: Root, *, is_main: bool = True, at: int | None = None) -> RewriteBase:
    """As `start_of`, of any branch. `at` is the snapshot of a plan, on which others may have committed since.

    Raises `Refused` if it is gone.
    """
    require_newest(files, root)
    head = choose_planned(files, root, at)
    schema = Lineage(files, root).latest_schema()
    if head is None or schema is None:
        place = place_of(root, is_main=is_main)
        raise Refused(f"{place} of {root.table.full_name} has no snapshot", "Commit some rows first.")
    return RewriteBase(head, schema, is_main)


def version_of(root: Root, snapshot: Snapshot) -> Version:
    """The rows of a snapshot, read with the definition that the rewrite uses."""
    return Version(root.branch, snapshot.to_json().decode())


def rows_of(root: Root, snapshot: Snapshot, *, replaces_later: bool = False) -> QueryRows:
    """All rows of a snapshot, as the new rows of the whole table."""
    versions = {"__paimark_then": version_of(root, snapshot)}
    return QueryRows(versions, "SELECT * FROM __paimark_then", True, replaces_later=replaces_later)


def no_rows(start: RewriteBase) -> QueryRows:
    """No row, as the new rows of the whole table."""
    version = version_of(start.root, start.head.snapshot)
    return QueryRows({"__paimark_then": version}, "SELECT * FROM __paimark_then WHERE false", True)


def writing_refusals(table: TablePath, schema: TableSchema, options: Mapping[str, str]) -> list[Refusal]:
    """Why no rows can be written to the table; `options` of the catalog."""
    refusals = _said(table, kinds.refusals(schema))
    return refusals if has_library(options) else [Refusal(*no_library()), *refusals]


def _said(table: TablePath, refusals: Iterable[kinds.WriteRefusal]) -> list[Refusal]:
    return [Refusal(f"{table.full_name} {each.reason}", each.hint) for each in refusals]


def rewriting_refusals(context: Context, start: RewriteBase, *then: Snapshot) -> list[Refusal]:
    """Why the rows of `then` can't be written again to the place in that state."""
    table, schema = start.root.table, start.schema
    refusals = writing_refusals(table, schema, context.options)
    for each in (start.head.snapshot, *then):
        with suppress(FileMissing):
            if any(unseen_files(context.files, table, schema, each)):
                return [*refusals, Refusal(*kinds.unseen_rows(table.full_name))]
    return refusals


def comparing_refusals(start: RewriteBase, instead: str) -> list[Refusal]:
    """Why Spark can't compare the rows."""
    kinds = (field.type for field in start.schema.fields if not has_ordered_entries(field.type))
    part = next(filter(None, map(unordered_part, kinds)), "")
    reason = f"{start.root.table.full_name} has a {part} column, and Spark can't compare its values"
    return [Refusal(reason, instead)] if part else []


class RowsCopied(NamedTuple):
    """What a plan says of all rows of a snapshot that a root gets: why it can't, the step, the cost."""

    refusals: list[Refusal]
    step: Step
    cost: str


def rows_copied(context: Context, start: RewriteBase, then: Snapshot, of: str, hint: str) -> RowsCopied:
    """`of` names the snapshot, `hint` is for one that lost files. `start` is defined as the rows will be."""
    refusals = rewriting_refusals(context, start, then)
    rows = size = 0
    try:
        rows, size = size_of(context.files, start.root.table, then)
    except FileMissing as error:
        refusals.append(Refusal(f"The rows of {of} are not whole: {error.message}", hint))
    said = counted(rows, unit_of(start.schema))
    step = Step("copy", f"the rows of {of}", f"{said}, through Spark", size)
    return RowsCopied(refusals, step, f"Spark rewrites {said} ({file_size(size)}), one commit")


def saved(files: Files, root: Root, snapshot_id: int) -> int | None:
    """The id of a savepoint that holds this snapshot of a root; None when there is none."""
    savepoints = SavepointManager(files, root.table).of_root(root)
    return next((each.id for each in savepoints if each.saved_snapshot_id == snapshot_id), None)


class PlannedSafety(NamedTuple):
    """What a plan says of the savepoint that will hold main as it is now: its id, and the step that makes it.

    There is no step where a savepoint holds that snapshot already.
    """

    id: int
    steps: tuple[Step, ...]


def planned_safety(files: Files, start: RewriteBase) -> PlannedSafety:
    """What `keep_safe` will do, as far as is known before the change."""
    head, table = start.head.snapshot.id, start.root.table
    if (there := saved(files, start.root, head)) is not None:
        return PlannedSafety(there, ())
    new = savepoint_claim.next_id(files, table)
    return PlannedSafety(
        new, (Step("create", table.savepoint(new), f"keeps snapshot {head} of main, as it is now"),)
    )


def keep_safe(context: Context, start: RewriteBase, comment: str, progress: Progress) -> tuple[int, bool]:
    """The id of a savepoint of main's present snapshot, and whether it is a new one."""
    head = start.head
    if (there := saved(context.files, start.root, head.snapshot.id)) is not None:
        progress(f"savepoint {there} keeps snapshot {head.snapshot.id} already")
        return there, False
    return savepoint_claim.save(context, head, comment, "safety", progress).id, True


def rewrite(
    context: Context, start: RewriteBase, rows: QueryRows, hold: Hold, progress: Progress
) -> Snapshot | None:
    """Write the rows to the root as one commit, and return it; None when there was nothing to write.

    Raises `Refused` when main or its definition moved, `Overwritten`, `Cancelled`, and the engine's error.
    If the engine failed and the commit landed nevertheless, it is returned.
    """
    token, after = hold.journal.token, start.head.snapshot.id
    order = _order(start, rows, hold)
    try:
        with engine_of(context) as engine:
            answer = answer_of(engine, replace(order, note=context.note), progress)
        if answer.remark:
            progress(
                Remark(f"The rows are committed; what Paimon does after a commit failed: {answer.remark}")
            )
    except (Cancelled, Refused, Unavailable) as error:
        _, made = find_commit(context.files, start.root, token, after, may_go_on=rows.may_go_on)
        if made is not None:
            return made
        if isinstance(error, _Killed):
            raise context.late.of_dead_client(error) from error
        raise
    _, made = find_commit(context.files, start.root, token, after, may_go_on=rows.may_go_on)
    if made is None and answer.snapshot is not None:
        raise overwritten(start.root, answer.snapshot)
    return made


def _order(start: RewriteBase, rows: QueryRows, hold: Hold) -> Write | Repair:
    token = hold.journal.token
    common: dict[str, Any] = {
        "number": 0,
        "table": start.root.table.full_name,
        "schema": start.schema_text,
        "versions": rows.versions,
        "branch": start.root.branch,
        "follows_main": start.is_main,
        "head": start.head.snapshot.to_json().decode(),
        "commit_user": commit_user(token),
        "texts": rows.texts,
        "lock": token,
        "next_entry": hold.next_entry,
    }
    if rows.are_upserts:
        return Repair(**common, upserts_sql=rows.sql, overwrites=rows.overwrite)
    return Write(**common, sql=rows.sql, overwrite=rows.overwrite, may_go_on=rows.may_go_on)


def run_query(
    context: Context,
    start: RewriteBase,
    versions: Mapping[str, Version],
    sql: str,
    progress: Progress,
    texts: Mapping[str, tuple[str, ...]] | None = None,
) -> list[dict[str, Any]]:
    """The few rows of a query over versions, as `decoded`.

    Raises the engine's error, of a statement as `QueryRefused`.
    """
    return [*stream_query(context, start, versions, sql, progress, texts or {}, is_long=False)]


def stream_query(
    context: Context,
    start: RewriteBase,
    versions: Mapping[str, Version],
    sql: str,
    progress: Progress,
    texts: Mapping[str, tuple[str, ...]],
    *,
    is_long: bool = True,
) -> Generator[dict[str, Any]]:
    """The rows of a query of any size, as they arrive. Closing the generator early ends the query."""
    ask = Ask(0, start.root.table.full_name, start.schema_text, versions, sql, texts, streams=is_long)
    with engine_of(context) as engine, closing(_answers(engine, ask, progress)) as answers:
        for answer in answers:
            yield from map(decoded, answer.rows)


@contextmanager
def engine_of(context: Context) -> Iterator[Engine]:
    """The engine of the context, or a temporary one."""
    if context.engine is not None:
        yield context.engine()
        return
    settings = Settings(context.files.uri, context.options, context.read_only)
    engine = Engine(
        settings, context.audit_path.parent / "engine.log", lambda line: context.progress(Remark(line))
    )
    try:
        yield engine
    finally:
        engine.close()


def answer_of(engine: Engine, task: ActionTask, progress: Progress) -> TaskResult:
    """The last result of a task. Raises the engine's error."""
    last_result = TaskResult()
    for result in _answers(engine, task, progress):
        last_result = result
    return last_result


def _answers(engine: Engine, task: ActionTask, progress: Progress) -> Generator[TaskResult]:
    tenths = 0
    with closing(engine.do(task)) as events:
        for event in events:
            if isinstance(event, TaskResult):
                yield event
            elif isinstance(event, StageProgress) and event.total and event.done * 10 // event.total > tenths:
                tenths = event.done * 10 // event.total
                progress(Counting(f"{event.done} of {event.total} tasks"))
            elif isinstance(event, Failed):
                if isinstance(task, Ask) and event.cause == "statement" and not event.is_outrun:
                    raise QueryRefused(event, task.sql)
                otherwise = Outrun if event.is_outrun else Refused
                kind = _Killed if event.was_killed else _KINDS.get(event.cause, otherwise)
                raise kind(event.message, event.hint)
