"""Output: rows go to stdout, narration to stderr."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Sequence
from typing import TextIO

import click

from paimark.core.cli.options import GlobalOptions
from paimark.core.cli.table_rows import MEASURED, TableRows
from paimark.core.errors import shortened
from paimark.core.export.json_rows import JsonRows
from paimark.core.figures import moment
from paimark.core.redaction import redacted
from paimark.core.text import clean_text


def row_writer(
    options: GlobalOptions, names: Sequence[str], *, null: str = "", measured: int = MEASURED
) -> JsonRows | TableRows:
    """A writer to stdout in the chosen format; `close` it after the last row. `measured`: see `TableRows`."""
    if options.as_json:
        if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
            sys.stdout.reconfigure(encoding="utf-8")
        return JsonRows(sys.stdout, names)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    return TableRows(sys.stdout, names, width, null, measured)


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
    return moment(epoch_ms) if isinstance(epoch_ms, int) else epoch_ms
