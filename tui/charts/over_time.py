"""Charts of a table's branch over time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from core.figures import counted, size
from core.space.over_time import OverTime, State
from tui.charts.chart import AxisKind, Chart, clock_seconds
from tui.named_keys import key

_TOO_FEW = "A chart over time needs two snapshots"


def charts_over_time(told: OverTime) -> list[Chart]:
    """The charts of rows, files and bytes."""
    space = key("tab.space", "8")
    bytes_untold = (
        f"{size(told.untold_bytes)} of manifests would have to be read: {space} tells the bytes of now."
    )
    return [
        _chart("rows", told, "count", lambda state: state.rows),
        _chart("files", told, "count", lambda state: state.files),
        _chart("bytes", told, "bytes", lambda state: state.bytes, bytes_untold if told.untold_bytes else ""),
    ]


def _chart(
    name: str, told: OverTime, kind: AxisKind, value_of: Callable[[State], int | None], untold: str = ""
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
    return Chart(name, caption + ends, [x for x, _ in points], [y for _, y in points], "time", kind)


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
