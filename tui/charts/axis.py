"""The marks of an axis: round numbers, and their labels."""

from __future__ import annotations

import math

from paimark.core.figures import size
from paimark.tui.charts.chart import AxisKind, clock_moment

_DAY = 86_400.0
# In seconds: marks of a longer span show the day only, those of a shorter one milliseconds.
_LONG, _SHORT = 60 * _DAY, 10.0

Marks = tuple[list[float], list[str]]


def rising(top: float, kind: AxisKind, most: int) -> Marks:
    """Marks from 0 to `top` or above it; about `most` of them."""
    step = _round_step(max(top, 1.0) / max(most - 1, 1), whole=kind in ("count", "bytes"))
    count = max(1, math.ceil(max(top, 1.0) / step))
    places = [step * each for each in range(count + 1)]
    return places, [label(place, kind) for place in places]


def between(low: float, high: float, kind: AxisKind, most: int) -> Marks:
    """Marks at equal distances from the lowest value to the highest; if possible at whole numbers."""
    if kind == "number" and low.is_integer() and high.is_integer() and 0 < high - low < most * 5:
        step = math.ceil((high - low) / (most - 1))
        places = [low + step * each for each in range(int((high - low) // step) + 1)]
        return places, [label(place, kind, high - low) for place in places]
    count = max(2, most)
    places = [low + (high - low) * each / (count - 1) for each in range(count)]
    return places, [label(place, kind, high - low) for place in places]


def label(value: float, kind: AxisKind, span: float = 0.0) -> str:
    """`1,200`, `1.4 MB`, `2026-05-01`; the span of all values determines the precision."""
    if kind == "bytes":
        return size(round(value))
    if kind == "time":
        return _time_label(value, span)
    if kind == "count" or (span >= 10 and abs(value) >= 10):
        return f"{round(value):,}"
    return f"{value:,.4g}"


def _time_label(value: float, span: float) -> str:
    moment = clock_moment(value)
    if span > _LONG:
        return moment.date().isoformat()
    if span > _DAY:
        return f"{moment:%m-%d %H:%M}"
    if span < _SHORT:
        return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03}"
    return f"{moment:%H:%M:%S}" if span < 600 else f"{moment:%H:%M}"


def _round_step(least: float, *, whole: bool) -> float:
    """The least of 1, 2, 5, 10, 20, ... that is not smaller."""
    power = 10.0 ** math.floor(math.log10(least))
    step = next(each for each in (power, 2 * power, 5 * power, 10 * power) if each >= least * 0.999)
    return max(1.0, step) if whole else step
