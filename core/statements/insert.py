"""INSERT INTO and INSERT OVERWRITE as actions with a plan: where rows go, and which rows they replace.

An INSERT is one commit, made in the Spark engine. Like any writer's commit it takes no lock and no journal.
"""

from __future__ import annotations

import uuid
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from paimark.core.actions import audit
from paimark.core.actions.change.landing import commit_user
from paimark.core.actions.checks import fingerprint, read_only_refusals, require_allowed, require_unmoved
from paimark.core.actions.context import Context, Counting, Progress, Remark
from paimark.core.actions.follow_ups.left_out import items_of
from paimark.core.actions.plan import Item, Outcome, Plan, Refusal, Step
from paimark.core.actions.registry import Action
from paimark.core.actions.rewrite.spark_rewrite import engine_of, writing_refusals
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot, choose
from paimark.core.actions.said import may_be_overwritten, nothing_lost, streams_skip
from paimark.core.errors import FileMissing, PaimarkError, Refused, Unavailable, failing_at
from paimark.core.figures import counted, duration
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
from paimark.core.statements.call import ActionCall
from paimark.core.statements.partition_literals import printed
from paimark.core.storage.files import Files, Unanswered
from paimark.core.storage.no_follow import link_in_the_way
from paimark.core.table.definition import kinds
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.definition.kind_signs import hides_written_rows
from paimark.core.table.definition.units import unit_of
from paimark.core.table.follow_ups.options import left_out
from paimark.core.table.landed import Fate, Landed, find_commit
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.commits import overwritten
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.links import linked_directories
from paimark.core.table.manifests.files import data_manifests, live_entries
from paimark.core.table.manifests.manifests import ManifestEntry
from paimark.core.table.manifests.partitions import RowTexts
from paimark.core.table.names import named_table, require_chosen
from paimark.core.table.records import Snapshot, TableSchema
from paimark.core.travel.parse.uses import Statement
from paimark.core.travel.statements.inserts import Insert, read_insert


@dataclass(frozen=True)
class Inserts:
    """One INSERT statement; `database` is the current one."""

    insert: Insert
    table: TablePath
    branch: str | None
    database: str | None

    @property
    def name(self) -> str:
        return self.insert.action

    def action(self) -> Action:
        summary = "Replace rows by those of a query." if self.insert.overwrite else "Add the rows of a query."
        return Action(self.name, summary, (), self.plan, self.apply, self.insert.overwrite)

    def plan(self, context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
        """Plan the INSERT. `arguments` is ignored: the statement has all of them."""
        insert, files = self.insert, context.files
        root, schema, head = self._current_state(files)
        refusals = read_only_refusals(context) + writing_refusals(table, schema, context.options)
        if head is not None:
            refusals += _uncounted(table, head.snapshot)
        links = map(link_in_the_way, linked_directories(files, table))
        refusals += [Refusal(each.message, each.hint) for each in links]
        where = f"{root.label} of {table.full_name}"
        number = 1 if head is None else head.snapshot.id + 1
        steps = [Step("create", root.snapshot(number), "one commit, through Spark")]
        headline, items = f"Add rows to {where}.", [Item("keeps", "every row that is there")]
        if insert.overwrite:
            entries: list[ManifestEntry] = []
            partition: dict[str, str | None] = {}
            try:
                partition = _partition(schema, insert)
                entries = _replaced(files, root, schema, head, partition)
            except FileMissing as error:
                refusals.append(Refusal(f"{where} is not whole: {error.message}", "Repair it first."))
            except Refused as error:
                refusals.append(Refusal(error.message, error.hint))
            records = sum(int(each.file["_ROW_COUNT"]) for each in entries)
            size = sum(int(each.file["_FILE_SIZE"]) for each in entries)
            freed = f"{counted(len(entries), 'file')} with {counted(records, unit_of(schema))}"
            headline, what = _description(insert, partition, where)
            steps.insert(0, Step("replace", what, freed, size))
            items = _overwritten(context, root, what, records, unit_of(schema), head)
        return Plan(
            action=self.name,
            table=table.full_name,
            headline=headline,
            arguments={"statement": insert.sql, "branch": self.branch, "head": number - 1},
            fingerprint=self._fingerprint(root, schema, head),
            steps=tuple(steps),
            items=(
                *may_be_overwritten(files, root, context.clock()),
                *items,
                *items_of(schema.options, "rows"),
            ),
            phrase=table.full_name,
            cost="one commit, through Spark",
            refusals=tuple(refusals),
            undo=_undo(root, self.branch, schema, head),
        )

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
        started, insert = context.clock(), self.insert
        root, schema, head = self._current_state(context.files)
        pinned: str | None = None
        if insert.overwrite:
            require_unmoved(self.table, plan, self._fingerprint(root, schema, head))
            pinned = head.data.decode() if head else ""
        elif _has_one_writer(schema):
            # Two writers at once could put one key into two buckets.
            pinned = head.data.decode() if head else ""
        inserting = Inserting(commit_user(str(uuid.uuid4())), root.branch, pinned)
        run = Run(0, insert.sql, self.database, None, inserting)
        answer = TaskResult()
        newest = head.snapshot.id if head else 0
        with (
            engine_of(context) as engine,
            _reporting_interrupts(context, root, inserting.commit_user, newest, progress),
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
                        if fate.snapshot is None and fate.landed is Landed.NO:
                            raise _may_still_commit(event, context, root) or _not_committed(event)
                        if fate.snapshot is None:
                            raise _unknown(event, root, fate)
                        answer = TaskResult((), fate.snapshot.id)
                        break
                    case Finished():
                        break
                    case _:
                        yield event
        if answer.snapshot is not None:
            _require_commit(context.files, root, inserting.commit_user, answer.snapshot)
        facts = (
            msgspec.json.decode(answer.rows[0]) if answer.rows else {"table": plan.table, "row_count": None}
        )
        if failed := facts.get("remark"):
            progress(Remark(f"The rows are committed; what Paimon does after a commit failed: {failed}"))
        if unseen := facts.get("unseen", _maybe_unseen(schema, root, self.branch)):
            progress(Remark(unseen))
        outcome = Outcome(
            action=self.name,
            table=str(facts["table"]),
            message=_message(str(facts["table"]), answer.snapshot, facts["row_count"], schema.options),
            result={"snapshot_id": answer.snapshot, "row_count": facts["row_count"]},
            undo=plan.undo if answer.snapshot is not None else "",
        )
        before = "no snapshot" if head is None else f"snapshot {head.snapshot.id}"
        after = before if answer.snapshot is None else f"snapshot {answer.snapshot}"
        audit.record(context, plan, outcome, started, progress, before=before, after=after)
        return outcome

    def _current_state(self, files: Files) -> tuple[Root, TableSchema, ChosenSnapshot | None]:
        root = branch_root(files, self.table, self.branch)
        return root, Lineage(files, root).require_schema(), choose(files, root, None)

    def _fingerprint(self, root: Root, schema: TableSchema, head: ChosenSnapshot | None) -> str:
        return fingerprint(root.directory, schema.to_json(), head.data if head else b"")


def action_of_insert(statement: Statement, database: str | None = None) -> tuple[ActionCall, Inserts]:
    """The action of an INSERT; `database` is the current one. Raises `StatementFailed`."""
    insert = read_insert(statement)
    with failing_at(insert.table_position):
        require_chosen(insert.parts, database)
        table, branch = named_table(insert.parts, database)
    inserts = Inserts(insert, table, branch, database)
    return ActionCall(inserts.action(), table, {}, insert.table_position, insert.table_position), inserts


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


def _partition(schema: TableSchema, insert: Insert) -> dict[str, str | None]:
    """The values that the head gives to partition columns, as they are printed. Raises `Refused`."""
    types = {field.name: ColumnType.of(str(field.type)) for field in schema.fields}
    keys = {key.lower(): key for key in schema.partition_keys}
    values: dict[str, str | None] = {}
    for each in insert.static:
        key = keys.get(each.name.lower())
        if key is None:
            named_keys = f"They are {', '.join(keys.values())}."
            hint = named_keys if keys else "The table has none: leave PARTITION out."
            raise Refused(f"{each.name} is no partition column", hint)
        values[key] = printed(each, types[key])
    return values


def _replaced(
    files: Files,
    root: Root,
    schema: TableSchema,
    head: ChosenSnapshot | None,
    partition: Mapping[str, str | None],
) -> list[ManifestEntry]:
    """The files that the overwrite may remove. If the new rows decide on partitions: all files that match."""
    if head is None:
        return []
    live = live_entries(files, root.table, data_manifests(files, root.table, head.snapshot))
    if not partition:
        return live
    texts = RowTexts(schema, schema.partition_keys, legacy=False)

    def is_replaced(entry: ManifestEntry) -> bool:
        values = dict(zip(schema.partition_keys, texts.of(entry.partition), strict=True))
        return all(values[name] == value for name, value in partition.items())

    return [entry for entry in live if is_replaced(entry)]


def _description(insert: Insert, partition: Mapping[str, str | None], where: str) -> tuple[str, str]:
    """Describe the replaced rows, as a headline and as the name of what is replaced."""
    if partition:
        values = ", ".join(f"{name} = {_value_text(value)}" for name, value in partition.items())
        return f"Replace partition {values} of {where}.", f"partition {values}"
    if insert.partition:
        what = "the partitions that rows come for"
        return f"Replace {what}, of {where}.", f"{what}, of"
    return f"Replace all rows of {where}.", "the whole table"


def _overwritten(
    context: Context, root: Root, what: str, records: int, unit: str, head: ChosenSnapshot | None
) -> list[Item]:
    """The rows that are replaced, and by which version they are read afterwards."""
    if not records or head is None:
        return [nothing_lost("there are no rows yet"), streams_skip(context.files, root)]
    most = "at most " if what.endswith(" of") else ""
    text = f"{most}{counted(records, unit)}, from the newest rows"
    lost = Item("loses", text, "rows-replaced", is_grave=True, count=records, unit=f"{unit}s")
    kept = Item("keeps", f"history, tags and savepoints; snapshot {head.snapshot.id}, until it expires")
    return [lost, streams_skip(context.files, root), kept]


def _value_text(value: str | None) -> str:
    """A partition value for a message. Quotes show an empty text, and tell the text NULL from null."""
    if value is None:
        return "NULL"
    return repr(value) if value.strip() != value or value in ("", "NULL") else value


def _undo(root: Root, branch: str | None, schema: TableSchema, head: ChosenSnapshot | None) -> str:
    """The command that takes the INSERT back; empty if there is none."""
    if not kinds.rewriting_refusals(schema):
        return root.table.undo
    if branch is not None or head is None:
        return ""
    return f"paimark rollback {root.table.word} --to snapshot.{head.snapshot.id} --truncate"


def _require_commit(files: Files, root: Root, commit_user: str, snapshot_id: int) -> None:
    """Read the commit again before reporting success. Raises `Overwritten`."""
    [data] = files.read_many([root.snapshot(snapshot_id)])
    if data is not None and Snapshot.from_json(data, root.snapshot(snapshot_id)).commit_user != commit_user:
        raise overwritten(root, snapshot_id)


@contextmanager
def _reporting_interrupts(
    context: Context, root: Root, commit_user: str, newest: int, progress: Progress
) -> Iterator[None]:
    """If the statement within is interrupted, say whether it was committed. It has ended by then."""
    try:
        yield
    except (KeyboardInterrupt, GeneratorExit):
        name, fate = root.table.full_name, find_commit(context.files, root, commit_user, newest)
        if fate.snapshot is not None:
            end = f"it was committed nevertheless, as snapshot {fate.snapshot.id} of {name}"
        elif fate.landed is Landed.NO and context.late_for <= 0:
            end = f"nothing was committed to {name}"
        else:
            end = f"look at the rows of {name} before you run it again: they may have been committed"
        progress(Remark(f"interrupted: {end}"))
        raise


def _may_still_commit(event: Failed, context: Context, root: Root) -> Exception | None:
    """The error if the engine ended without an answer and the store may still do its last write; or None."""
    if not (event.cause == "engine" or event.was_killed) or context.late_for <= 0:
        return None
    passed = duration(round(context.late_for * 1000))
    return Unanswered(
        f"{event.message}. The rows are not in {root.table.full_name} now, "
        "but the store may still commit them",
        f"Look at the rows {passed} from now, before you run it again.",
    )


def _not_committed(event: Failed) -> PaimarkError:
    """The error of a statement that committed nothing; who cancelled it is told so."""
    is_cancelled = event.cause == "cancelled"
    return (replace(event, hint="Nothing was committed.") if is_cancelled else event).error()


def _unknown(event: Failed, root: Root, fate: Fate) -> Exception:
    if fate.overwritten:
        return Unavailable(
            f"It is not known whether the rows were committed to {root.table.full_name}: snapshot "
            f"{fate.overwritten[0]} was overwritten by another engine. The engine said: {event.message}",
            "Look at the rows before you run it again.",
        )
    first, last = fate.expired[0], fate.expired[-1]
    expired = (
        f"snapshot {first} has expired" if first == last else f"snapshots {first} to {last} have expired"
    )
    return Unavailable(
        f"It is no longer known whether the rows were committed to {root.table.full_name}: {expired}. "
        f"The engine said: {event.message}",
        "Look at the rows before you run it again.",
    )


def _message(label: str, snapshot: int | None, rows: object, options: Mapping[str, str]) -> str:
    if snapshot is None:
        return f"There were no rows to write: nothing was committed to {label}"
    written = "" if rows is None else f", with {counted(int(str(rows)), 'row')}"
    left = "".join(f"; {text}" for _, text in left_out(options, "rows"))
    return f"Committed snapshot {snapshot} of {label}{written}{left}"
