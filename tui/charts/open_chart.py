"""The charts that `C` opens for the visible pane, and those of a table's branch over time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from textual.app import App

from paimark.core.figures import counted, size
from paimark.core.space.over_time import OverTime, State, over_time
from paimark.tui.charts.plotting import AxisKind, Chart, clock_seconds
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
    from paimark.tui.charts.histogram import histograms, kind_of

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
    space = key("tab.space", "8")
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
