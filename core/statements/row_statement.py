"""Statements that write rows, as actions with a plan. Each is one commit, made in the Spark engine.

Like any writer's commit it takes no lock and no journal.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import msgspec

from paimark.core.actions import audit
from paimark.core.actions.change.landing import commit_user
from paimark.core.actions.checks import (
    fingerprint,
    integer_argument,
    read_only_refusals,
    require_allowed,
)
from paimark.core.actions.context import Context, Counting, Progress, Remark
from paimark.core.actions.follow_ups import items_of
from paimark.core.actions.plan import UNTIL_NEW_COMMIT, Done, Item, Outcome, Plan, Refusal, Step
from paimark.core.actions.plan_wording import may_be_overwritten, outrun
from paimark.core.actions.registry import Action, with_note
from paimark.core.actions.rewrite.spark_rewrite import engine_of, writing_refusals
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot, choose_planned
from paimark.core.errors import FileMissing, Refused
from paimark.core.figures import counted
from paimark.core.quoting import shell_line
from paimark.core.spark.datasource.scan import require_counts
from paimark.core.spark.protocol import (
    Event,
    Failed,
    Finished,
    Inserting,
    Reading,
    Run,
    StageProgress,
    TaskResult,
)
from paimark.core.statements.commit_outcome import (
    may_still_commit,
    not_committed,
    reporting_interrupts,
    require_commit,
    said_outrun,
    unknown,
)
from paimark.core.storage.files import Files
from paimark.core.storage.no_follow import link_in_the_way
from paimark.core.table.commits import Landed, find_commit
from paimark.core.table.definition.kind_signs import chain_branches, hides_written_rows
from paimark.core.table.follow_ups import left_out
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.links import linked_directories
from paimark.core.table.manifests.files import data_manifests, live_entries
from paimark.core.table.manifests.manifests import ManifestEntry
from paimark.core.table.records import Snapshot, TableSchema


@dataclass(frozen=True)
class WrittenState:
    """The root that gets the rows, as a plan sees it; `head` is None without a snapshot."""

    root: Root
    schema: TableSchema
    head: ChosenSnapshot | None

    @property
    def where(self) -> str:
        return f"{self.root.label} of {self.root.table.full_name}"

    @property
    def fingerprint(self) -> str:
        head = self.head.data if self.head else b""
        return fingerprint(self.root.directory, self.schema.to_json(), head)


@dataclass(frozen=True)
class Effects:
    """What a statement does, for its plan."""

    headline: str
    steps: tuple[Step, ...] = ()
    items: tuple[Item, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def entries_of(files: Files, state: WrittenState) -> list[ManifestEntry]:
    """The data files of the newest snapshot. Raises `FileMissing`."""
    if state.head is None:
        return []
    table = state.root.table
    return live_entries(files, table, data_manifests(files, table, state.head.snapshot))


def not_whole(state: WrittenState, error: FileMissing) -> Refusal:
    """That nobody can say what the statement would replace."""
    return Refusal(f"{state.where} is not whole: {error.message}", "Repair it first.")


def kept_before(head: ChosenSnapshot) -> Item:
    """The version from before stays readable."""
    return Item("keeps", f"history, tags and savepoints; snapshot {head.snapshot.id}, until it expires")


def size_of_entries(entries: Sequence[ManifestEntry], unit: str) -> tuple[int, int, str]:
    """The records and bytes of files, and `2 files with 10 records`."""
    records = sum(int(each.file["_ROW_COUNT"]) for each in entries)
    size = sum(int(each.file["_FILE_SIZE"]) for each in entries)
    return records, size, f"{counted(len(entries), 'file')} with {counted(records, unit)}"


@dataclass(frozen=True)
class RowStatement(ABC):
    """One statement that writes rows to a table; `database` is the current one."""

    table: TablePath
    branch: str | None
    database: str | None

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name among the actions."""

    @property
    @abstractmethod
    def sql(self) -> str: ...

    @property
    @abstractmethod
    def summary(self) -> str: ...

    @property
    @abstractmethod
    def removes_rows(self) -> bool:
        """Whether rows go. Then it is planned, and committed, on one snapshot."""

    @property
    def may_go_on(self) -> bool:
        """Whether others may commit other rows after that snapshot."""
        return False

    def refusals(self, context: Context, schema: TableSchema) -> list[Refusal]:
        """Why it can't write to such a table."""
        return writing_refusals(self.table, schema, context.options)

    @abstractmethod
    def effects(self, context: Context, state: WrittenState, *, is_refused: bool) -> Effects:
        """Raises the engine's error. `is_refused`: it will not run, so nobody needs to count."""

    @abstractmethod
    def result(self, facts: Mapping[str, object]) -> Mapping[str, int | None]:
        """What it did, of the engine's `facts`, which lack it if nobody knows."""

    @abstractmethod
    def done(self, facts: Mapping[str, object]) -> str:
        """The same in words; empty if nobody knows."""

    def action(self) -> Action:
        return with_note(Action(self.name, self.summary, (), self.plan, self.apply, self.removes_rows))

    def plan(self, context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
        """Plan the statement. `arguments` is ignored: the statement has all of them."""
        state = self._state(context.files)
        root, schema, head = state.root, state.schema, state.head
        refused = self.refusals(context, schema)
        if head is not None:
            refused += _uncounted(table, head.snapshot)
        links = map(link_in_the_way, linked_directories(context.files, table))
        refused += [Refusal(each.message, each.hint) for each in links]
        read_only = read_only_refusals(context)
        effects = self.effects(context, state, is_refused=bool(refused or read_only))
        number = 1 if head is None else head.snapshot.id + 1
        return Plan(
            action=self.name,
            table=table.full_name,
            headline=effects.headline,
            arguments={
                "statement": self.sql,
                "branch": self.branch,
                "root": root.label,
                "head": number - 1,
            },
            fingerprint=state.fingerprint,
            steps=(*effects.steps, Step("create", root.snapshot(number), "one commit, through Spark")),
            items=(
                *may_be_overwritten(context.files, root, context.clock()),
                *effects.items,
                *self._taken_along(state),
                *items_of(schema.options, "rows"),
            ),
            phrase=table.full_name,
            cost="one commit, through Spark",
            refusals=(*read_only, *refused, *effects.refusals),
            undo=table.undo,
            until=UNTIL_NEW_COMMIT,
        )

    def _taken_along(self, state: WrittenState) -> list[Item]:
        """What an overwrite of a chain's delta branch takes out of its snapshot branch."""
        full, delta = chain_branches(state.schema.options)
        if not full or state.root.branch != delta or not self.removes_rows:
            return []
        text = (
            f"a partition that is replaced leaves branch {full} too, in a commit of its own: it would hide it"
        )
        return [Item("affects", text)]

    def apply(self, context: Context, plan: Plan, progress: Progress) -> Outcome:
        """Run it. Raises `Refused` if an overwrite would replace other rows than the plan says."""
        events = self.events(context, plan, progress)
        tenths = 0
        try:
            while True:
                event = next(events)
                if isinstance(event, Reading):
                    progress(Remark(f"{event.table}: {event.version}, {event.scan}"))
                elif isinstance(event, StageProgress) and event.done * 10 // max(event.total, 1) > tenths:
                    tenths = event.done * 10 // event.total
                    progress(Counting(f"{event.done} of {event.total} tasks"))
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome

    def events(self, context: Context, plan: Plan, progress: Progress) -> Generator[Event, None, Outcome]:
        """Run it, and yield the engine's events; return the outcome. Raises as `apply`."""
        require_allowed(context, plan)
        started = context.clock()
        state = self._state_of(context.files, plan)
        root, schema, head = state.root, state.schema, state.head
        pinned: str | None = None
        if self.removes_rows and state.fingerprint != plan.fingerprint:
            name = f"{root.label} of {self.table.full_name}"
            raise outrun(context.files, root, f"{name} moved since the plan was made")
        if self.removes_rows or _has_one_writer(schema):
            # Two writers at once could put one key into two buckets.
            pinned = head.data.decode() if head else ""
        meant = (each.count for each in plan.items if each.code == "rows-replaced")
        user = commit_user(str(uuid.uuid4()))
        inserting = Inserting(user, root.branch, pinned, plan.note, next(meant, None) or 0)
        run = Run(0, self.sql, self.database, None, inserting)
        answer = TaskResult()
        newest = head.snapshot.id if head else 0
        with (
            engine_of(context) as engine,
            reporting_interrupts(context, root, inserting.commit_user, newest, progress),
            closing(engine.do(run)) as events,
        ):
            for event in events:
                match event:
                    case TaskResult():
                        answer = event
                    case Failed():
                        if event.cause == "overwritten":
                            raise event.error()
                        fate = find_commit(context.files, root, inserting.commit_user, newest)
                        if fate.snapshot is None and (event.is_uncommitted or fate.landed is Landed.NO):
                            told = said_outrun(event, context.files, root, fate, newest)
                            raise may_still_commit(event, context, root) or not_committed(told)
                        if fate.snapshot is None:
                            raise unknown(event, root, fate)
                        answer = TaskResult((), fate.snapshot.id)
                        break
                    case Finished():
                        break
                    case _:
                        yield event
        if answer.snapshot is not None:
            require_commit(context.files, root, inserting.commit_user, answer.snapshot)
        facts = msgspec.json.decode(answer.rows[0]) if answer.rows else {"table": plan.table}
        if failed := facts.get("remark"):
            progress(Remark(f"The rows are committed; what Paimon does after a commit failed: {failed}"))
        if unseen := facts.get("unseen", _maybe_unseen(schema, root, self.branch)):
            progress(Remark(unseen))
        before = "no snapshot" if head is None else f"snapshot {head.snapshot.id}"
        done = Done(
            message=self._message(schema, answer.snapshot, facts),
            result={"snapshot_id": answer.snapshot, **self.result(facts)},
            before=before,
            after=before if answer.snapshot is None else f"snapshot {answer.snapshot}",
        )
        undo = plan.undo if answer.snapshot is not None else ""
        outcome = audit.finished(context, plan, done, started, progress, undo=undo)
        return msgspec.structs.replace(outcome, table=str(facts["table"]))

    def _message(self, schema: TableSchema, snapshot: int | None, facts: Mapping[str, object]) -> str:
        label = str(facts["table"])
        if snapshot is None:
            return f"There were no rows to write: nothing was committed to {label}"
        left = "".join(f"; {text}" for _, text in left_out(schema.options, "rows"))
        return f"Committed snapshot {snapshot} of {label}{self.done(facts)}{left}"

    def _state_of(self, files: Files, plan: Plan) -> WrittenState:
        """As it is, or was at the plan's snapshot. Raises `Refused` if that is gone, or for another main."""
        root = branch_root(files, self.table, self.branch)
        if plan.arguments.get("root") != root.label:
            raise Refused(
                f"Another branch of {self.table.full_name} became main since the plan was made",
                "Nothing was committed: run it again.",
            )
        return self._state(files, self._head_of(plan))

    def _state(self, files: Files, at: int | None = None) -> WrittenState:
        """As it is, or was at the snapshot of a plan. Raises `Refused` if that is gone."""
        root = branch_root(files, self.table, self.branch)
        head = choose_planned(files, root, at)
        return WrittenState(root, Lineage(files, root).require_schema(), head)

    def _head_of(self, plan: Plan) -> int | None:
        """The snapshot whose rows are changed, as the plan saw them; None for the newest."""
        return (integer_argument(plan.arguments, "head") or None) if self.may_go_on else None


def _uncounted(table: TablePath, head: Snapshot) -> list[Refusal]:
    try:
        require_counts(table.full_name, head)
    except Refused as error:
        return [Refusal(error.message, error.hint)]
    return []


def _maybe_unseen(schema: TableSchema, root: Root, branch: str | None) -> str:
    """Of a commit after which the engine gave no answer."""
    if not hides_written_rows(schema):
        return ""
    words = ["paimark", "compact", root.table.word, *([] if branch is None else ["--branch", branch])]
    return f"It is not known whether the rows are compacted, so that readers see them: `{shell_line(words)}`"


def _has_one_writer(schema: TableSchema) -> bool:
    return bool(schema.primary_keys) and schema.options.get("bucket", "-1").strip() == "-1"
