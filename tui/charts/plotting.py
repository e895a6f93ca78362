"""Draw a chart as lines of text, without plotext's colours, which the terminal may not support."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from math import isqrt
from typing import Literal

from paimark.core.figures import size
from paimark.core.text import width_of

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
# The lines for each mark at the left, and the cells for each mark below.
_LINES, _CELLS = 3, 22
_FRAME = 4
_WIDE = 1000.0
# The characters of a picture: braille dots, blocks, and ASCII for any terminal.
DRAWN = frozenset("*#" + "".join(map(chr, (*range(0x2580, 0x25A0), *range(0x2801, 0x2900)))))
_FEWEST_BINS, MOST_BINS = 5, 40


def knows_braille(environ: Mapping[str, str]) -> bool:
    """Whether the terminal uses UTF-8, and is not the Linux console, whose font lacks the dots."""
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    return "utf" in locale.lower() and environ.get("TERM") != "linux"


def draw(chart: Chart, width: int, height: int, *, braille: bool) -> list[str]:
    """The picture, `width` cells wide and `height` lines high."""
    from textual_plotext import Plot

    plot = Plot()
    plot.theme("clear")
    low, high = min(chart.xs), max(chart.xs)
    bins = bins_of(chart)
    counts = [] if chart.steps else counts_of(chart, bins)
    upward = rising(max(chart.ys if chart.steps else counts), chart.y_kind, max(2, height // _LINES))
    gutter = max(map(width_of, upward[1])) + _FRAME
    along = between(low, high, chart.x_kind, max(2, (width - gutter) // _CELLS + 1))
    end = high if chart.until is None else chart.until
    # plotext fails on numbers that are far apart or very close, so they are scaled to 0 to `_WIDE`.
    top = upward[0][-1]
    if chart.steps:
        plot.plot(
            *_stepped(_scaled([*chart.xs, end], low, end), _scaled([*chart.ys, chart.ys[-1]], 0, top)),
            marker="braille" if braille else "*",
        )
    else:
        centres = [(each + 0.5) * _WIDE / bins for each in range(bins)]
        plot.bar(centres, _scaled(counts, 0, top), marker="sd" if braille else "#", width=1.0)
    plot.xlim(0, _WIDE)
    plot.ylim(0, _WIDE)
    plot.yticks(_scaled(upward[0], 0, top), upward[1])
    plot.xticks(_scaled(along[0], low, end), along[1])
    plot.plotsize(width, height)
    # As in textual-plotext's own widget: `plotsize` alone may be ignored.
    plot._set_size(width, height)
    return [_ESCAPES.sub("", line) for line in plot.build().splitlines()]


def _scaled(values: Sequence[float], low: float, high: float) -> list[float]:
    """Scale values from between `low` and `high` to 0 to `_WIDE`; to the middle if both are equal."""
    if low == high:
        return [_WIDE / 2 for _ in values]
    return [(value - low) / (high - low) * _WIDE for value in values]


def _stepped(xs: Sequence[float], ys: Sequence[float]) -> tuple[list[float], list[float]]:
    """Add points so that each y is valid until the next x."""
    stepped: tuple[list[float], list[float]] = ([xs[0]], [ys[0]])
    for x, y in zip(xs[1:], ys[1:], strict=True):
        stepped[0].extend((x, x))
        stepped[1].extend((stepped[1][-1], y))
    return stepped


def bins_of(chart: Chart) -> int:
    """The number of bins: proportional to the square root of the number of values."""
    return min(MOST_BINS, len(set(chart.xs)), max(_FEWEST_BINS, 3 * isqrt(len(chart.xs)) // 2))


def counts_of(chart: Chart, bins: int) -> list[int]:
    """The number of values in each of the bins, which have equal widths."""
    low, high = min(chart.xs), max(chart.xs)
    counts = [0] * bins
    for x in chart.xs:
        counts[min(bins - 1, int((x - low) / (high - low) * bins)) if high > low else 0] += 1
    return counts


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


_EPOCH = datetime(1970, 1, 1)

# The format of an axis. Times are in seconds since 1970 by the displayed clock.
AxisKind = Literal["count", "bytes", "number", "time"]


@dataclass(frozen=True, slots=True)
class Chart:
    """With `steps` each y is valid from its x to the next, and the last one to `until` and longer. Without it
    a histogram of `xs`, without `ys`.

    `instead` is a sentence to show instead of a picture.
    """

    name: str
    caption: str
    xs: Sequence[float] = ()
    ys: Sequence[float] = ()
    x_kind: AxisKind = "time"
    y_kind: AxisKind = "count"
    steps: bool = True
    instead: str = ""
    until: float | None = None


def clock_seconds(moment: datetime) -> float:
    """The position of a time on an axis, by its clock; a time with a zone is converted to local time."""
    naive = moment.astimezone().replace(tzinfo=None) if moment.tzinfo is not None else moment
    return (naive - _EPOCH).total_seconds()


def clock_moment(seconds: float) -> datetime:
    """The inverse of `clock_seconds`."""
    return _EPOCH + timedelta(seconds=seconds)


def moment_text(seconds: float) -> str:
    """The day and time of a place on an axis, as exact as it is; only the day at midnight."""
    moment = clock_moment(seconds)
    if moment.time() == time():
        return moment.date().isoformat()
    return moment.isoformat(" ", "milliseconds" if moment.microsecond else "seconds")
