"""INSERT INTO and INSERT OVERWRITE as actions with a plan: where rows go, and which rows they replace."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Item, Refusal, Step
from paimark.core.actions.plan_wording import nothing_lost, streams_skip
from paimark.core.errors import FileMissing, Refused
from paimark.core.figures import counted
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
from paimark.core.storage.files import Files
from paimark.core.table.definition.column_types import TEXTS, ColumnType
from paimark.core.table.definition.file_sizes import unit_of
from paimark.core.table.definition.kinds import adding_refusals
from paimark.core.table.manifests.manifests import ManifestEntry
from paimark.core.table.manifests.partitions import INTEGERS, RowTexts, sql_timestamp
from paimark.core.table.names import chosen_table
from paimark.core.table.records import TableSchema
from paimark.core.travel.parse.statement import Statement
from paimark.core.travel.statements.inserts import Insert, NamedColumn, read_insert
from paimark.core.travel.times import read_date, read_timestamp


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

    def refusals(self, context: Context, schema: TableSchema) -> list[Refusal]:
        more = [] if self.insert.overwrite else adding_refusals(schema)
        said = [Refusal(f"{self.table.full_name} {each.reason}", each.hint) for each in more]
        return [*RowStatement.refusals(self, context, schema), *said]

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


_SUFFIX = re.compile(r"(?<=[0-9.])(?:BD|[LSYFD])$", re.IGNORECASE)
_TRUE, _FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
_STARTS_WITH_A_DATE = re.compile(r"\s*[+-]?[0-9]{4}")


# By these a plan tells which partitions an overwrite replaces, so they must be exactly the values in Spark.
def printed(column: NamedColumn, kind: ColumnType) -> str | None:
    """The value of a partition column as `RowTexts` prints it; None for NULL.

    Raises `Refused` if the literal doesn't fit the column's type, or if its value depends on the session.
    """
    if column.unquoted is None:
        return None
    word = re.match(r"DATE|TIMESTAMP|TRUE|FALSE|[+-]?[0-9.]", column.value or "", re.IGNORECASE)
    try:
        return _printed(column.unquoted, word.group().upper() if word else "", kind)
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise Refused(
            f"It is not known which partition {column.name} = {column.value} is",
            f"Write the value as {kind.name} has it, a text in quotes.",
        ) from error


def _printed(text: str, word: str, kind: ColumnType) -> str:
    """`word` is the beginning of an unquoted literal. Raises `ValueError` and `InvalidOperation`."""
    if kind.name in INTEGERS:
        number = Decimal(_SUFFIX.sub("", text.strip()))
        return _same(str(int(number)), number)
    if kind.name == "DECIMAL":
        number = Decimal(_SUFFIX.sub("", text.strip()))
        return _same(f"{number:.{kind.decimal[1]}f}", number)
    if kind.name in TEXTS:
        return _as_text(text, word)
    if kind.name == "BOOLEAN" and word in ("", "TRUE", "FALSE"):
        return str((*_TRUE, *_FALSE).index(text.strip().lower()) < len(_TRUE)).lower()
    if kind.name == "DATE" and word in ("", "DATE"):
        return read_date(text).isoformat()
    if kind.name == "TIMESTAMP" and word in ("", "DATE", "TIMESTAMP") and _STARTS_WITH_A_DATE.match(text):
        time = read_timestamp(text, date.min)
        if time.tzinfo is None:
            return sql_timestamp(time.replace(microsecond=0), time.microsecond * 1000, kind.fraction)
    raise ValueError(text)


def _same(text: str, number: Decimal) -> str:
    if Decimal(text) != number:
        raise ValueError(text)
    return text


def _as_text(text: str, word: str) -> str:
    if word in ("TRUE", "FALSE"):
        return word.lower()
    if word == "DATE":
        return read_date(text).isoformat()
    if word and not text.removeprefix("-").isdecimal():
        raise ValueError(text)
    return str(int(text)) if word else text
