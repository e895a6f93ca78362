"""Output: rows go to stdout, narration to stderr."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import islice
from typing import TextIO

import click

from paimark.core.cli.options import GlobalOptions
from paimark.core.errors import shortened
from paimark.core.export.json_rows import JsonRows, as_text
from paimark.core.figures import moment
from paimark.core.redaction import redacted
from paimark.core.text import Fitted, clean_text, cut, width_of, wrap

# So many of the first rows decide the widths; a later, wider cell pushes the rest of its line to the right.
MEASURED = 500
_GAP = "  "
_NARROWEST = 6
# `2026-05-01 12:03:11+02:00`
_TIME = 25
_ENDLESS = 1 << 40


class Count(int):
    """A number of things, not an id: shown with thousands separators."""


class Moment(Fitted):
    """A time as `moment` writes it. Where it does not fit, the zone goes first, then the seconds."""

    def fitted(self, width: int) -> str:
        return next(
            (self[:length] for length in (len(self), 19, 16) if length <= width), super().fitted(width)
        )


class TableRows:
    """Writes a header, a rule and one line per row. `width` is the terminal's, None in a pipe.

    `null` is the text of an absent cell; the first `measured` rows are held back, and decide the widths.
    `narrow` are the columns of a terminal that is too narrow for all, the most important first, each with the
    width that it needs at least; the names of the others are `left_out` once the first row is written.
    """

    def __init__(
        self,
        out: TextIO,
        names: Sequence[str],
        width: int | None,
        null: str = "",
        measured: int = MEASURED,
        narrow: Mapping[str, int] | None = None,
    ) -> None:
        self._out = out
        self._measured = measured
        self._names = [clean_text(name) for name in names]
        self._width = width
        self._null = null
        self._held: list[list[str]] = []
        self._numeric = [True] * len(names)
        self._widths: list[int] | None = None
        self._narrow = narrow or {}
        self._places: Sequence[int] = range(len(names))
        self.left_out: Sequence[str] = ()

    def write(self, rows: Iterable[Sequence[object]]) -> None:
        remaining = iter(rows)
        if self._widths is None:
            for row in islice(remaining, self._measured - len(self._held)):
                self._measure(row)
            if len(self._held) < self._measured:
                return
            self._begin()
        for row in remaining:
            self._line([self._cell(value) for value in row])

    def close(self) -> None:
        if self._widths is None:
            self._begin()

    def _measure(self, row: Sequence[object]) -> None:
        self._held.append([self._cell(value) for value in row])
        for position, value in enumerate(row):
            if value is not None and (
                isinstance(value, bool) or not isinstance(value, int | float | Decimal)
            ):
                self._numeric[position] = False

    def _begin(self) -> None:
        heads = [width_of(name) for name in self._names]
        contents = [max(map(width_of, cells), default=0) for cells in zip(*self._held, strict=True)]
        contents = contents or [0] * len(heads)
        available = _ENDLESS if self._width is None else self._width
        wanted = list(map(max, heads, contents))
        if self._narrow and sum(wanted) + len(_GAP) * (len(heads) - 1) > available:
            self._widths = self._chosen(wanted, contents, available)
        else:
            self._widths = fit(heads, contents, available)
        self._line(self._names)
        self._line([_rule_for(self._out) * wide for wide in self._widths])
        for row in self._held:
            self._line(row)
        self._held.clear()

    def _chosen(self, wanted: Sequence[int], contents: Sequence[int], available: int) -> list[int]:
        """Choose columns for a narrow terminal, none that is empty; returns the width of each column."""
        widths, left = dict[int, int](), available + len(_GAP)
        for name, least in self._narrow.items():
            place = self._names.index(name)
            needed = min(wanted[place], least) + len(_GAP)
            if needed <= left and (contents[place] or not self._held):
                widths[place] = needed - len(_GAP)
                left -= needed
        for place in widths:
            more = min(left, wanted[place] - widths[place])
            widths[place] += more
            left -= more
        self._places = sorted(widths)
        self.left_out = [
            name for place, name in enumerate(self._names) if place not in widths and contents[place]
        ]
        return [widths.get(place, 0) for place in range(len(wanted))]

    def _cell(self, value: object) -> str:
        if value is None:
            return self._null
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, Count):
            return f"{value:,}"
        if isinstance(value, Fitted) and self._width is not None:
            return value
        return clean_text(as_text(value))

    def _line(self, cells: Sequence[str]) -> None:
        assert self._widths is not None
        padded = []
        for place in self._places:
            cell, wide = cells[place], self._widths[place]
            shown = cell if self._width is None else _cut(cell, wide)
            space = " " * (wide - width_of(shown))
            padded.append(space + shown if self._numeric[place] else shown + space)
        self._out.write(_GAP.join(padded).rstrip() + "\n")


def _cut(cell: str, width: int) -> str:
    return cell.fitted(width) if isinstance(cell, Fitted) else cut(cell, width)


def _rule_for(out: TextIO) -> str:
    """The character of the line below the header; "-" if the encoding of `out` lacks the usual one."""
    try:
        "─".encode(getattr(out, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return "-"
    return "─"


def fit(heads: Sequence[int], contents: Sequence[int], available: int) -> list[int]:
    """Widths for columns with heads and cells of these widths, so that a line fits if possible.

    Cells longer than a time are cut first, then heads longer than their cells, then the widest columns. No
    column becomes narrower than a few characters.
    """
    result = [min(max(each), available) for each in zip(heads, contents, strict=True)]
    gaps = len(_GAP) * (len(result) - 1)
    for floors in (
        [max(_TIME, head) for head in heads],
        [max(_NARROWEST, min(content, _TIME)) for content in contents],
        [_NARROWEST for _ in heads],
    ):
        _shrink(result, floors, sum(result) + gaps - available)
    return result


def _shrink(widths: list[int], floors: Sequence[int], excess: int) -> None:
    """Take `excess` off the widest columns, a cell at a time, as far as their floors allow."""
    while excess > 0:
        free = [index for index, wide in enumerate(widths) if wide > floors[index]]
        if not free:
            return
        widths[max(free, key=widths.__getitem__)] -= 1
        excess -= 1


def row_writer(
    options: GlobalOptions,
    names: Sequence[str],
    *,
    null: str = "",
    measured: int = MEASURED,
    narrow: Mapping[str, int] | None = None,
) -> JsonRows | TableRows:
    """A writer to stdout in the chosen format; `close` it after the last row. `narrow`: see `TableRows`."""
    if options.as_json:
        if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
            sys.stdout.reconfigure(encoding="utf-8")
        return JsonRows(sys.stdout, names)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    return TableRows(sys.stdout, names, width, null, measured, narrow)


def print_rows(
    options: GlobalOptions,
    names: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    measured: int = MEASURED,
    narrow: Mapping[str, int] | None = None,
) -> None:
    """Write all rows to stdout in the chosen format. `measured` and `narrow`: see `TableRows`."""
    writer = row_writer(options, names, measured=measured, narrow=narrow)
    writer.write(rows)
    writer.close()
    if isinstance(writer, TableRows) and writer.left_out:
        narrate(f"Not shown at this width: {', '.join(writer.left_out)} (--output json has all).")


def print_findings(
    options: GlobalOptions, names: Sequence[str], rows: Iterable[Sequence[object]], *, sentences: int
) -> None:
    """Write rows whose last columns are sentences. On a terminal that is too narrow these are not cut: they
    go on below, each further in than the one before.
    """
    found = list(rows)
    width = None if options.as_json or not sys.stdout.isatty() else shutil.get_terminal_size().columns
    cells = [["" if value is None else clean_text(value) for value in row] for row in found]
    wide = [max(map(width_of, column)) for column in zip(names, *cells, strict=True)]
    if width is None or sum(wide) + len(_GAP) * (len(names) - 1) <= width:
        print_rows(options, names, found)
        return
    margin = sum(wide[:-sentences]) + len(_GAP) * (len(names) - sentences)
    for row, values in zip(cells, found, strict=True):
        padded = (cell + " " * (wide[place] - width_of(cell)) for place, cell in enumerate(row[:-sentences]))
        line, indent = _GAP.join(padded) + _GAP, margin
        if margin > width // 2:
            named = (
                cell if isinstance(value, str) else f"{name} {cell}"
                for name, cell, value in zip(names, row[:-sentences], values, strict=False)
                if cell
            )
            click.echo(_GAP.join(named))
            line, indent = "", len(_GAP)
        for deeper, text in enumerate(text for text in row[-sentences:] if text):
            blank = " " * (indent + deeper * len(_GAP))
            for each in wrap(text, width - len(blank)):
                click.echo((line or blank) + each)
                line = ""


def show(line: str, ink: str = "") -> None:
    """Write one line to stdout; on a terminal in the colour `ink` of click, if one is given."""
    click.echo(_coloured(clean_text(redacted(line)), ink, sys.stdout))


def narrate(line: str, ink: str = "") -> None:
    """Write one line to stderr; on a terminal in the colour `ink` of click, if one is given."""
    tell(f"{_coloured(clean_text(shortened(redacted(line))), ink, sys.stderr)}\n")


def _coloured(line: str, ink: str, stream: TextIO) -> str:
    # NO_COLOR: no-color.org.
    if not ink or not stream.isatty() or os.environ.get("NO_COLOR"):
        return line
    return click.style(line, fg=ink, bold=True if ink == "red" else None)


def tell(text: str) -> None:
    """Write the text unchanged to stderr. A closed stderr stops no work: the stream is given up."""
    try:
        print(text, end="", file=sys.stderr, flush=True)
    except OSError:
        give_up(sys.stderr)


def give_up(stream: TextIO) -> None:
    """Redirect the stream to /dev/null, because Python flushes it once more at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def local_time(epoch_ms: object) -> object:
    """`2026-05-01 12:03:11+02:00` in the local zone; a value that is no time stays unchanged."""
    return Moment(moment(epoch_ms)) if isinstance(epoch_ms, int) else epoch_ms
