"""The existing names that an argument may have, shown while its field is empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.known_names import known_names
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.text import clean_text
from paimark.tui.theme import Line

# The names on a line; a table may have thousands.
_MOST = 12


def known_lines(files: Files, table: TablePath, action: str, branch: str | None) -> Mapping[str, Line]:
    """A line for each argument that has to be given and names something; `branch` is that of the dialog.

    For a thread. Raises the errors of reads.
    """
    needed = [each for each in DECLARED[action].arguments if each.required or each.unless]
    known = ((each.name, known_names(each, files, table, branch)) for each in needed)
    return {name: _line(name, names) for name, names in known if names is not None}


def _line(argument: str, names: Sequence[str]) -> Line:
    more = f", and {len(names) - _MOST:,}\u00a0more" if len(names) > _MOST else ""
    # No line ends within a name, or between an operation's number and its action.
    unbroken = (clean_text(name).replace(" ", "\u00a0") for name in names[:_MOST])
    listed = ", ".join(unbroken) + more if names else "none is there yet"
    return [(f"{argument} is one of: " if names else f"{argument}: ", "quiet"), (listed, "")]
