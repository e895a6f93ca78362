"""INSERT INTO and INSERT OVERWRITE as actions with a plan: where rows go, and which rows they replace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Item, Refusal, Step
from paimark.core.actions.said import nothing_lost, streams_skip
from paimark.core.errors import FileMissing, Refused
from paimark.core.figures import counted
from paimark.core.statements.call import ActionCall
from paimark.core.statements.partition_literals import printed
from paimark.core.statements.row_statement import (
    Effects,
    RowStatement,
    WrittenState,
    entries_of,
    kept_before,
    not_whole,
    size_of_entries,
)
from paimark.core.storage.files import Files
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.definition.units import unit_of
from paimark.core.table.manifests.manifests import ManifestEntry
from paimark.core.table.manifests.partitions import RowTexts
from paimark.core.table.names import chosen_table
from paimark.core.table.records import TableSchema
from paimark.core.travel.parse.uses import Statement
from paimark.core.travel.statements.inserts import Insert, read_insert


@dataclass(frozen=True)
class Inserts(RowStatement):
    """One INSERT statement; `empties`: it is how a TRUNCATE is done."""

    insert: Insert
    empties: bool = False

    @property
    def name(self) -> str:
        return self.insert.action

    @property
    def sql(self) -> str:
        return self.insert.sql

    @property
    def summary(self) -> str:
        return "Replace rows by those of a query." if self.insert.overwrite else "Add the rows of a query."

    @property
    def removes_rows(self) -> bool:
        return self.insert.overwrite

    def effects(self, context: Context, state: WrittenState, *, is_refused: bool) -> Effects:
        insert, schema = self.insert, state.schema
        if not insert.overwrite:
            return Effects(f"Add rows to {state.where}.", items=(Item("keeps", "every row that is there"),))
        entries: list[ManifestEntry] = []
        partition: dict[str, str | None] = {}
        refusals: list[Refusal] = []
        try:
            partition = _partition(schema, insert)
            entries = _replaced(context.files, state, partition)
        except FileMissing as error:
            refusals.append(not_whole(state, error))
        except Refused as error:
            refusals.append(Refusal(error.message, error.hint))
        headline, what = _description(insert, partition, state.where)
        if self.empties:
            headline = f"Empty {state.where}."
        records, size, files = size_of_entries(entries, unit_of(schema))
        items = _overwritten(context, state, what, records)
        return Effects(headline, (Step("replace", what, files, size),), tuple(items), tuple(refusals))

    def result(self, facts: Mapping[str, object]) -> Mapping[str, int | None]:
        rows = facts.get("row_count")
        return {"row_count": None if rows is None else int(str(rows))}

    def done(self, facts: Mapping[str, object]) -> str:
        rows = self.result(facts)["row_count"]
        return "" if rows is None else f", with {counted(rows, 'row')}"


def action_of_insert(
    statement: Statement, database: str | None = None, *, empties: bool = False
) -> tuple[ActionCall, Inserts]:
    """The action of an INSERT; `database` is the current one. Raises `StatementFailed`."""
    insert = read_insert(statement)
    table, branch = chosen_table(insert.parts, database, insert.table_position)
    inserts = Inserts(table, branch, database, insert, empties)
    return ActionCall(inserts.action(), table, {}, insert.table_position, insert.table_position), inserts


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


def _replaced(files: Files, state: WrittenState, partition: Mapping[str, str | None]) -> list[ManifestEntry]:
    """The files that the overwrite may remove. If the new rows decide on partitions: all files that match."""
    live, schema = entries_of(files, state), state.schema
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


def _overwritten(context: Context, state: WrittenState, what: str, records: int) -> list[Item]:
    """The rows that are replaced, and by which version they are read afterwards."""
    root, head, unit = state.root, state.head, unit_of(state.schema)
    if not records or head is None:
        return [nothing_lost("there are no rows yet"), streams_skip(context.files, root)]
    most = "at most " if what.endswith(" of") else ""
    text = f"{most}{counted(records, unit)}, from the newest rows"
    lost = Item("loses", text, "rows-replaced", is_grave=True, count=records, unit=f"{unit}s")
    return [lost, streams_skip(context.files, root), kept_before(head)]


def _value_text(value: str | None) -> str:
    """A partition value for a message. Quotes show an empty text, and tell the text NULL from null."""
    if value is None:
        return "NULL"
    return repr(value) if value.strip() != value or value in ("", "NULL") else value
