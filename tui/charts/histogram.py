"""Histograms of a result's numeric and time columns, for the rows that were read."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from paimark.core.arrow_values import column_values
from paimark.core.figures import counted
from paimark.tui.charts.plotting import AxisKind, Chart, clock_seconds, moment_text

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_TIMES = ("timestamp", "date")
# Larger values would overflow the width of the bins.
_FARTHEST = 1e300


def kind_of(type_name: str) -> AxisKind | None:
    """The kind of axis for a column of a Spark type; None if it can't have a histogram."""
    if type_name.startswith(_NUMBERS):
        return "number"
    return "time" if type_name.startswith(_TIMES) else None


def histograms(
    names: Sequence[str], types: Sequence[str], batches: Sequence[Any], *, is_cut: bool
) -> list[Chart]:
    """A histogram of each suitable column; `batches` are pyarrow's; `is_cut`: there are more rows."""
    made = []
    for index, (name, type_name) in enumerate(zip(names, types, strict=True)):
        kind = kind_of(type_name)
        if kind is not None:
            values = [value for batch in batches for value in column_values(batch.column(index))]
            made.append(_chart(name, kind, values, is_cut=is_cut))
    return made


def _chart(name: str, kind: AxisKind, values: Sequence[object], *, is_cut: bool) -> Chart:
    xs = [x for value in values if (x := _place(value)) is not None]
    rows = (
        f"of the first {counted(len(values), 'row')}" if is_cut else f"of all {counted(len(values), 'row')}"
    )
    not_drawn = _not_drawn(values, len(xs))
    caption = f"{name}, {rows}{not_drawn}"
    if not xs:
        return Chart(name, caption, instead="No value here to draw.")
    low, high = min(xs), max(xs)
    if low == high:
        all_drawn = "All others" if not_drawn else "All"
        return Chart(name, caption, instead=f"{all_drawn} are {_exact(low, kind)}.")
    ends = f", {_exact(low, kind)} to {_exact(high, kind)}"
    return Chart(name, caption + ends, xs, x_kind=kind, steps=False)


def _not_drawn(values: Sequence[object], drawn: int) -> str:
    """How many values are null, and how many others are not drawn: NaN, for example."""
    nulls = sum(value is None for value in values)
    counts = ((nulls, "null"), (len(values) - drawn - nulls, "not drawn"))
    return "".join(f", {count:,} {what}" for count, what in counts if count)


def _exact(value: float, kind: AxisKind) -> str:
    if kind == "time":
        return moment_text(value)
    return f"{int(value):,}" if value.is_integer() else f"{value:,.6g}"


def _place(value: object) -> float | None:
    """The position of a value on the axis; None for null, NaN and values beyond `_FARTHEST`."""
    if isinstance(value, int | float | Decimal):
        try:
            place = float(value)
        except OverflowError:
            return None
        return place if abs(place) <= _FARTHEST else None
    if isinstance(value, datetime):
        return clock_seconds(value)
    if isinstance(value, date):
        return clock_seconds(datetime(value.year, value.month, value.day))
    return None
