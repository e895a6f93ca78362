"""Answer a plain selection of a system table in milliseconds, with the same result as Spark.

Values compare as in Spark: texts by their bytes in UTF-8; a null is neither equal nor unequal to anything.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from paimark.core.errors import NotFound, failing_at
from paimark.core.spark.protocol import LISTED, Batch, Columns, Event, Finished, Reading
from paimark.core.statements.listing.selection import Condition, Item, Order, Selection, read_selection
from paimark.core.storage.files import Files
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.names import is_safe_name
from paimark.core.table.system_tables import Column, Row, SystemTable, Unreadable, left_out, system_table
from paimark.core.travel.parse.statement import Statement, TableUse
from paimark.core.travel.resolving import resolve_name

_ROWS_A_BATCH = 20_000
_SPARK_TYPES = {
    "BIGINT": "bigint",
    "INT": "int",
    "BOOLEAN": "boolean",
    "STRING": "string",
    "TIMESTAMP(3)": "timestamp",
}
_LITERALS: Mapping[str, type] = {"BIGINT": int, "INT": int, "STRING": str}
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class Listing:
    """A selection of a system table, with the table's columns as indexes.

    The answer has `columns`, taken from `indexes` of the table; if that is None, it is the number of rows.
    """

    use: TableUse
    system: SystemTable
    columns: tuple[Column, ...]
    indexes: tuple[int, ...] | None
    conditions: tuple[tuple[int, Condition], ...]
    orders: tuple[tuple[int, Order], ...]
    limit: int | None

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(_SPARK_TYPES[column.type] for column in self.columns)

    @property
    def has_times(self) -> bool:
        """Whether the answer depends on the session's time zone."""
        return "timestamp" in self.types


def read_listing(statement: Statement) -> Listing | None:
    """Parse a selection; None for a statement that needs Spark."""
    selection = read_selection(statement)
    if selection is None or len(selection.use.parts) > 2 or not all(map(is_safe_name, selection.use.parts)):
        return None
    try:
        system = system_table(selection.use.parts[-1].rpartition("$")[2])
    except NotFound:
        return None
    # A system table of a snapshot takes a version, and needs pypaimon.
    return _listing(selection, system) if system.of_snapshot is None else None


def _listing(selection: Selection, system: SystemTable) -> Listing | None:
    indexes = {column.name.lower(): index for index, column in enumerate(system.columns)}
    try:
        answer_columns = [each for item in selection.items for each in _answer_columns(item, system, indexes)]
        conditions = tuple((indexes[each.column.lower()], each) for each in selection.conditions)
        orders = tuple((_order_index(each, answer_columns, indexes), each) for each in selection.orders)
    except KeyError:
        return None
    if not all(_is_comparable(system.columns[index], each) for index, each in conditions):
        return None
    count = Column(selection.items[0].title, "BIGINT")
    return Listing(
        selection.use,
        system,
        (count,) if selection.counts else tuple(column for column, _ in answer_columns),
        None if selection.counts else tuple(index for _, index in answer_columns),
        conditions,
        orders,
        selection.limit,
    )


def _answer_columns(
    item: Item, system: SystemTable, indexes: Mapping[str, int]
) -> Iterator[tuple[Column, int]]:
    """The columns of the answer, and their indexes in the table. Raises `KeyError` for an unknown one."""
    if item.column == "*":
        yield from zip(system.columns, range(len(system.columns)), strict=True)
    elif item.column:
        index = indexes[item.column.lower()]
        yield Column(item.title, system.columns[index].type), index


def _order_index(
    order: Order, answer_columns: Sequence[tuple[Column, int]], indexes: Mapping[str, int]
) -> int:
    """The index of the column that ORDER BY names; columns of the answer take precedence.

    Raises `KeyError` for an unknown or ambiguous one.
    """
    name = order.column.lower()
    matches = {index for column, index in answer_columns if column.name.lower() == name} or {indexes[name]}
    if len(matches) > 1:
        raise KeyError(name)
    return matches.pop()


def _is_comparable(column: Column, condition: Condition) -> bool:
    return condition.literal is None or _LITERALS.get(column.type) is type(condition.literal)


def events(
    files: Files, listing: Listing, database: str | None, limit: int | None, zone: str
) -> Iterator[Event]:
    """Yield the engine's events for it. `zone` is the session's. Raises `StatementFailed` with a position."""
    with failing_at(listing.use.position):
        resolved = resolve_name(files, listing.use, database)
        assert resolved is not None
        table, name = resolved
        root = branch_root(files, table, name.branch)
    unreadable: Unreadable = {}
    rows = _rows(listing, listing.system.read(files, root, unreadable))
    yield Reading(table.full_name + name.suffix, "now", LISTED, left_out(unreadable))
    yield Columns(tuple(column.name for column in listing.columns), listing.types)
    shown = rows if limit is None else rows[:limit]
    yield from _batches(listing, shown, zone)
    yield Finished(len(shown), len(shown) < len(rows))


def _rows(listing: Listing, read: Iterable[Row]) -> list[Row]:
    """The rows of the answer."""
    tests = [_test(*each) for each in listing.conditions]
    rows = [row for row in read if all(test(row) for test in tests)]
    if listing.indexes is None:
        return [(len(rows),)][: listing.limit]
    for index, order in reversed(listing.orders):
        _sort(rows, index, order)
    return [tuple(row[index] for index in listing.indexes) for row in islice(rows, listing.limit)]


def _test(index: int, condition: Condition) -> Callable[[Row], bool]:
    if condition.literal is None:
        is_null = condition.comparison == "="
        return lambda row: (row[index] is None) is is_null
    compare, literal = _COMPARE[condition.comparison], _comparable(condition.literal)
    return lambda row: row[index] is not None and compare(_comparable(row[index]), literal)


def _sort(rows: list[Row], index: int, order: Order) -> None:
    """Sort in place, and stably, so that sorting by the least important column first sorts by all."""

    def key(row: Row) -> tuple[bool, Any]:
        value = row[index]
        last = (value is None) is not order.nulls_first
        # A descending order reverses the whole key, so this part is inverted.
        return last is not order.descending, 0 if value is None else _comparable(value)

    rows.sort(key=key, reverse=order.descending)


def _comparable(value: Any) -> Any:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _batches(listing: Listing, rows: Sequence[Row], zone: str) -> Iterator[Batch]:
    import pyarrow as pa

    from paimark.core.spark.arrow import in_zone, ipc_stream, listed_rows

    table = listed_rows(listing.columns, rows)
    table = table.cast(pa.schema([in_zone(field, zone) for field in table.schema]))
    for batch in table.to_batches(_ROWS_A_BATCH):
        if batch.num_rows:
            yield Batch(ipc_stream(batch))
