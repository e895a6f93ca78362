"""The answer to a plain selection of a system table: equal to Spark's, in milliseconds.

Values compare as in Spark: texts by their bytes in UTF-8, a null is neither equal nor unequal to anything.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from core.errors import NotFound, failing_at
from core.spark.protocol import Batch, Columns, Event, Finished, Reading
from core.statements.listing.selection import Condition, Order, Selection, read_selection
from core.storage.files import Files
from core.table.lineage.main_branch import branch_root
from core.table.names import is_safe_name
from core.table.system_tables import Column, Row, SystemTable, system_table
from core.travel.parse.uses import Statement
from core.travel.resolving import resolve_name

if TYPE_CHECKING:
    import pyarrow as pa

LISTED = "metadata"
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
    """What a selection asks of a system table: the columns of the answer are `names`, taken from `places`."""

    selection: Selection
    system: SystemTable
    names: tuple[str, ...]
    places: tuple[int, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(self.system.columns[place] for place in self.places)

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(_SPARK_TYPES[column.type] for column in self.columns)

    @property
    def has_times(self) -> bool:
        """Whether the answer depends on the time zone of whoever asks."""
        return "timestamp" in self.types


def read_listing(statement: Statement) -> Listing | None:
    """None for what only Spark answers."""
    selection = read_selection(statement)
    if selection is None or len(selection.use.parts) > 2 or not all(map(is_safe_name, selection.use.parts)):
        return None
    try:
        system = system_table(selection.use.parts[-1].rpartition("$")[2])
    except NotFound:
        return None
    # With a past of its own it takes a version, and pypaimon's eyes.
    if system.of_snapshot is not None:
        return None
    places = {column.name.lower(): place for place, column in enumerate(system.columns)}
    orders = [_order_column(selection, order) for order in selection.orders]
    wanted = [item.column for item in selection.items if item.column not in ("", "*")]
    asked = [*wanted, *(condition.column for condition in selection.conditions), *orders]
    if any(name is None or name.lower() not in places for name in asked):
        return None
    if not all(
        _is_comparable(system.columns[places[each.column.lower()]], each) for each in selection.conditions
    ):
        return None
    names: list[str] = []
    chosen: list[int] = []
    for item in selection.items:
        if item.column == "*":
            names += [column.name for column in system.columns]
            chosen += range(len(system.columns))
        elif item.column:
            names.append(item.title)
            chosen.append(places[item.column.lower()])
    return Listing(selection, system, tuple(names), tuple(chosen))


def _order_column(selection: Selection, order: Order) -> str | None:
    """The table's column that a name behind ORDER BY means: a title comes first. None for one of several."""
    titled = {item.column.lower() for item in selection.items if item.title.lower() == order.column.lower()}
    if len(titled) > 1:
        return None
    return next(iter(titled), order.column)


def _is_comparable(column: Column, condition: Condition) -> bool:
    return condition.literal is None or _LITERALS.get(column.type) is type(condition.literal)


def events(
    files: Files, listing: Listing, database: str | None, limit: int | None, zone: str
) -> Iterator[Event]:
    """As the engine tells them. `zone` is the session's. Raises `StatementFailed` at the table's position."""
    use = listing.selection.use
    with failing_at(use.position):
        resolved = resolve_name(files, use, database)
        assert resolved is not None
        table, name = resolved
        root = branch_root(files, table, name.branch)
    label = table.full_name + (f"$branch_{name.branch}" if name.branch else "") + f"${listing.system.name}"
    unreadable: dict[str, str] = {}
    rows = _rows(listing, listing.system.read(files, root, unreadable))
    left_out = " ".join(f"Left out: {sentence}." for sentence in unreadable.values())
    yield Reading(label, "now", LISTED, left_out)
    if listing.selection.counts:
        yield Columns((listing.selection.items[0].title,), ("bigint",))
    else:
        yield Columns(listing.names, listing.types)
    shown = rows if limit is None else rows[:limit]
    for start in range(0, len(shown), _ROWS_A_BATCH):
        yield _batch(listing, shown[start : start + _ROWS_A_BATCH], zone)
    yield Finished(len(shown), len(shown) < len(rows))


def _rows(listing: Listing, read: Iterable[Row]) -> list[Row]:
    """The rows of the answer."""
    selection = listing.selection
    places = {column.name.lower(): place for place, column in enumerate(listing.system.columns)}
    tests = [_test(places[each.column.lower()], each) for each in selection.conditions]
    rows = [row for row in read if all(test(row) for test in tests)]
    if selection.counts:
        return [(len(rows),)][: selection.limit]
    for order in reversed(selection.orders):
        _sort(rows, places[(_order_column(selection, order) or "").lower()], order)
    return [tuple(row[place] for place in listing.places) for row in islice(rows, selection.limit)]


def _test(place: int, condition: Condition) -> Callable[[Row], bool]:
    if condition.literal is None:
        is_null = condition.comparison == "="
        return lambda row: (row[place] is None) is is_null
    compare, literal = _COMPARE[condition.comparison], _comparable(condition.literal)
    return lambda row: row[place] is not None and compare(_comparable(row[place]), literal)


def _sort(rows: list[Row], place: int, order: Order) -> None:
    """In place, and stable: by the least important first."""

    def key(row: Row) -> tuple[bool, Any]:
        value = row[place]
        last = (value is None) is not order.nulls_first
        # Reversed as a whole where it descends.
        return last is not order.descending, 0 if value is None else _comparable(value)

    rows.sort(key=key, reverse=order.descending)


def _comparable(value: Any) -> Any:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _batch(listing: Listing, rows: Sequence[Row], zone: str) -> Batch:
    import pyarrow as pa

    from core.spark.arrow import ipc_stream

    kinds = ["BIGINT"] if listing.selection.counts else [column.type for column in listing.columns]
    names = [listing.selection.items[0].title] if listing.selection.counts else list(listing.names)
    values = zip(*rows, strict=True)
    arrays = [_array(pa, cells, kind, zone) for cells, kind in zip(values, kinds, strict=True)]
    return Batch(ipc_stream(pa.RecordBatch.from_arrays(arrays, names=names)))


def _array(arrow: Any, cells: Sequence[Any], kind: str, zone: str) -> pa.Array:
    if kind == "TIMESTAMP(3)":
        return arrow.array(cells, arrow.timestamp("ms", zone)).cast(arrow.timestamp("us", zone))
    types = {
        "BIGINT": arrow.int64(),
        "INT": arrow.int32(),
        "BOOLEAN": arrow.bool_(),
        "STRING": arrow.string(),
    }
    return arrow.array(cells, types[kind])
