"""The charts that `C` opens: of a table's branch over time, or histograms of a result."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from textual.app import App

from paimark.core.arrow_values import column_values
from paimark.core.figures import counted, size
from paimark.core.space.over_time import OverTime, State, over_time
from paimark.tui.charts.plotting import AxisKind, Chart, clock_seconds, moment_text
from paimark.tui.messages import Say
from paimark.tui.named_keys import key, run_key
from paimark.tui.session import Session, Target

if TYPE_CHECKING:
    from paimark.tui.charts.plotting import Chart
    from paimark.tui.panes.pane import Pane
    from paimark.tui.query.query_result import QueryResult


# The least and the most of the picture that the last value takes, as a share of what is before it.
_LEAST_END, _MOST_END = 1 / 16, 1 / 4
_TOO_FEW = "A chart over time needs two snapshots"


async def open_chart(app: App[Any], session: Session, target: Target, pane: Pane, say: Say) -> None:
    """Open histograms of the result in the query pane; on other panes charts of the branch over time."""
    from paimark.tui.panes.query import QueryPane

    if not isinstance(pane, QueryPane):
        await _open_over_time(app, session, target)
    elif pane.result is not None and pane.result.running and not len(pane.result.rows):
        say("No rows to draw yet: the statement is still running", "warn")
    elif pane.result is None or not len(pane.result.rows):
        say(f"No rows to draw yet: {run_key()} runs the statement", "warn")
    else:
        await _open_histogram(app, pane.result, pane.grid.column, say)


async def _open_over_time(app: App[Any], session: Session, target: Target) -> None:
    from paimark.tui.charts.chart_screen import ChartScreen

    branch = f" {target.branch}" if target.branch else ""
    title = f"{target.table.full_name}{branch}"

    def read() -> list[Chart]:
        unit = session.begin_unit(target)
        states = over_time(session.files, session.open(target).root)
        return charts_over_time(states, int(time.time() * 1000), unit())

    await app.push_screen(ChartScreen(title, read))


async def _open_histogram(app: App[Any], result: QueryResult, column: int | None, say: Say) -> None:
    from paimark.tui.charts.chart_screen import ChartScreen

    kinds = [kind_of(each) for each in result.types]
    if not any(kinds):
        say("No column here has numbers or times to draw", "warn")
        return
    if column is not None and kinds[column] is None:
        say(f"{result.names[column]} has no numbers or times: move to a column that has", "warn")
        return
    names, batches = result.names, result.rows.batches
    is_cut = result.is_cut or result.running
    first = names[column] if column is not None else ""
    await app.push_screen(
        ChartScreen("histogram", lambda: histograms(names, result.types, batches, is_cut=is_cut), first)
    )


def charts_over_time(told: OverTime, now_ms: int, unit: str) -> list[Chart]:
    """The charts of records (or what `unit` is), files and bytes. The last values are drawn as valid until
    now."""
    space = key("tab.space")
    bytes_untold = (
        f"{size(told.untold_bytes)} of manifests would have to be read: {space} tells the current bytes."
    )
    return [
        _chart(f"{unit}s", told, now_ms, "count", lambda state: state.records),
        _chart("files", told, now_ms, "count", lambda state: state.files),
        _chart(
            *("bytes", told, now_ms, "bytes", lambda state: state.bytes),
            bytes_untold if told.untold_bytes else "",
        ),
    ]


def _chart(
    name: str,
    told: OverTime,
    now_ms: int,
    kind: AxisKind,
    value_of: Callable[[State], int | None],
    untold: str = "",
) -> Chart:
    points = sorted(
        (seconds, float(value))
        for state in told.states
        if (value := value_of(state)) is not None and value >= 0
        if (seconds := _seconds(state.time_ms)) is not None
    )
    shown = len(points)
    every = counted(told.total, "snapshot")
    of_all = f"{shown:,} of {every}" if shown < told.total else every
    caption = f"{name} over time: {of_all}"
    if untold or shown < 2:
        return Chart(name, caption, instead=untold or _too_few(name, shown, told.total))
    first, last = points[0][1], points[-1][1]
    ends = f", {_worded(first, kind)} to {_worded(last, kind)}"
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return Chart(name, caption + ends, xs, ys, "time", kind, until=_until(xs, _seconds(now_ms)))


def _until(xs: Sequence[float], now: float | None) -> float:
    """The place where the picture ends: the last value is in sight, and leaves most of it to the others."""
    span, last = xs[-1] - xs[0], xs[-1]
    since = 0.0 if now is None else now - last
    return last + min(max(since, span * _LEAST_END), span * _MOST_END)


def _too_few(name: str, shown: int, total: int) -> str:
    if total < 2:
        return f"{_TOO_FEW}, and this branch has {'one' if total else 'none'}."
    return f"{_TOO_FEW}: of {total:,}, {shown or 'none'} has a time and a number of {name}."


def _worded(value: float, kind: AxisKind) -> str:
    return size(round(value)) if kind == "bytes" else f"{round(value):,}"


def _seconds(time_ms: int) -> float | None:
    """The time in `clock_seconds`; None if it is no valid date, because a writer's clock was wrong."""
    try:
        return clock_seconds(datetime.fromtimestamp(time_ms / 1000))
    except (OverflowError, ValueError, OSError):
        return None


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
            made.append(_histogram(name, kind, values, is_cut=is_cut))
    return made


def _histogram(name: str, kind: AxisKind, values: Sequence[object], *, is_cut: bool) -> Chart:
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
