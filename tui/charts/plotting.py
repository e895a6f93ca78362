"""Draw a chart as lines of text, without plotext's colours, which the terminal may not support."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isqrt

from paimark.core.cells import width_of
from paimark.tui.charts.axis import between, rising
from paimark.tui.charts.chart import Chart

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
