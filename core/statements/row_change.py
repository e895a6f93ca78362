"""DELETE, UPDATE and MERGE as actions with a plan: which rows they may change, and who reads those."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from msgspec.structs import replace

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Item, Refusal, Step
from paimark.core.actions.plan_wording import nothing_lost, streams_skip
from paimark.core.actions.rewrite.spark_rewrite import engine_of
from paimark.core.errors import FileMissing
from paimark.core.figures import counted
from paimark.core.spark.arrow import read_batch
from paimark.core.spark.protocol import Batch, Failed, Run
from paimark.core.statements.call import ActionCall
from paimark.core.statements.row_statement import (
    Effects,
    RowStatement,
    WrittenState,
    entries_of,
    kept_before,
    not_whole,
    size_of_entries,
)
from paimark.core.table.definition.file_sizes import unit_of
from paimark.core.table.definition.kinds import COMPACT_FIRST
from paimark.core.table.definition.row_changes import change_rules
from paimark.core.table.manifests.files import unseen_files
from paimark.core.table.manifests.manifests import ManifestEntry
from paimark.core.table.manifests.row_ids import lacks_row_ids, without_ids
from paimark.core.table.names import chosen_table
from paimark.core.table.records import TableSchema
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.statements.inserts import RowChange, read_change

_HEADLINES = {
    "delete": "Delete rows of {}.",
    "update": "Update rows of {}.",
    "merge": "Merge rows into {}.",
}
_SUMMARIES = {
    "delete": "Delete rows.",
    "update": "Update rows.",
    "merge": "Update, delete and insert rows by those of another table.",
}
_LOST = {"delete": "{}", "update": "the old values of {}", "merge": "{}, or their old values"}
_COUNTS = ("deleted", "updated", "inserted")


@dataclass(frozen=True)
class RowChanges(RowStatement):
    """One DELETE, UPDATE or MERGE."""

    change: RowChange

    @property
    def name(self) -> str:
        return self.change.action

    @property
    def sql(self) -> str:
        return self.change.sql

    @property
    def summary(self) -> str:
        return _SUMMARIES[self.change.command]

    @property
    def removes_rows(self) -> bool:
        return True

    @property
    def may_go_on(self) -> bool:
        return True

    def refusals(self, context: Context, schema: TableSchema) -> list[Refusal]:
        rules = change_rules(schema, self.change.command)
        more = [Refusal(f"{self.table.full_name} {each.reason}", each.hint) for each in rules]
        return [*RowStatement.refusals(self, context, schema), *more]

    def effects(self, context: Context, state: WrittenState, *, is_refused: bool) -> Effects:
        command, unit = self.change.command, unit_of(state.schema)
        headline = _HEADLINES[command].format(state.where)
        try:
            entries = entries_of(context.files, state)
        except FileMissing as error:
            return Effects(headline, refusals=(not_whole(state, error),))
        records, size, files = size_of_entries(entries, unit)
        if not records or state.head is None:
            return Effects(headline, items=(nothing_lost("there are no rows yet"),))
        if lacks_row_ids(state.schema, entries):
            return Effects(headline, refusals=(Refusal(*without_ids(self.table.full_name)),))
        if not is_refused and any(unseen_files(context.files, self.table, state.schema, state.head.snapshot)):
            reason = f"{self.table.full_name} has rows that nobody sees before they are compacted"
            return Effects(headline, refusals=(Refusal(reason, COMPACT_FIRST),))
        rows = self._meant(context) if context.counts and not is_refused else None
        if rows == 0:
            return Effects(headline, items=(nothing_lost("no row is meant"),))
        lost = _lost(command, records, unit) if rows is None else _lost(command, rows, "row", "")
        items = (lost, *_readers(context, state), kept_before(state.head))
        return Effects(headline, _steps(state, entries, files, size), items)

    def _meant(self, context: Context) -> int | None:
        """How many rows the statement is about, as Spark counts them; None for a MERGE."""
        counting = self.change.counting
        if counting is None:
            return None
        rows = None
        with (
            engine_of(context) as engine,
            closing(engine.do(Run(0, counting.sql, self.database))) as events,
        ):
            for event in events:
                if isinstance(event, Batch):
                    rows = int(read_batch(event).column(0)[0].as_py())
                elif isinstance(event, Failed):
                    at = None if event.position is None else counting.original_position(event.position)
                    raise replace(event, position=at).error()
        return rows

    def result(self, facts: Mapping[str, object]) -> Mapping[str, int | None]:
        counts = {name: facts.get(name) for name in _COUNTS}
        return {f"rows_{name}": None if rows is None else int(str(rows)) for name, rows in counts.items()}

    def done(self, facts: Mapping[str, object]) -> str:
        said = facts.get("said")
        return f": {said}" if said else ""


def _lost(command: str, count: int, unit: str, most: str = "at most ") -> Item:
    text = _LOST[command].format(f"{most}{counted(count, unit)}")
    return Item("loses", text, "rows-replaced", is_grave=True, count=count, unit=f"{unit}s")


def _steps(state: WrittenState, entries: Sequence[ManifestEntry], files: str, size: int) -> tuple[Step, ...]:
    if state.schema.primary_keys:
        return (Step("read", state.where, f"{files}, of which the rows are looked for", size),)
    return (Step("replace", state.where, f"at most {files}", size),)


def _readers(context: Context, state: WrittenState) -> list[Item]:
    """Streams read new rows of a key, but skip a commit that takes files away."""
    return [] if state.schema.primary_keys else [streams_skip(context.files, state.root)]


def action_of_change(statement: Statement, database: str | None = None) -> tuple[ActionCall, RowChanges]:
    """The action of such a statement; `database` is the current one. Raises `StatementFailed`."""
    change = read_change(statement)
    table, branch = chosen_table(change.parts, database, change.table_position)
    changes = RowChanges(table, branch, database, change)
    return ActionCall(changes.action(), table, {}, change.table_position, change.table_position), changes
