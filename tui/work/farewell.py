"""What became of a change, in a sentence for the shell after the console has gone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paimark.core.actions.change.journal import TableGone, TakenOver
from paimark.core.actions.context import Context
from paimark.core.actions.many.applying import PartlyDone
from paimark.core.actions.plan import Outcome
from paimark.core.actions.recover import has_left
from paimark.core.errors import Cancelled, PaimarkError
from paimark.core.table.catalog import parse_table_name

# Their own sentences say what was done, and what is left to others.
_COMPLETE = (PartlyDone, TableGone, TakenOver)


@dataclass(frozen=True)
class End:
    """The end of a change that was applied: an outcome or an error. `is_left`: `recover` has to end it."""

    outcome: Outcome | None = None
    error: PaimarkError | None = None
    is_left: bool = False


def with_rest(context: Context | None, table: str, end: End) -> End:
    """The same end, with `is_left` as the table shows it. Without a context nothing was begun."""
    if context is None or end.error is None:
        return end
    try:
        return replace(end, is_left=has_left(context, parse_table_name(table)))
    except PaimarkError:
        # The store can't be read: only `recover` can tell.
        return replace(end, is_left=True)


def farewell(title: str, table: str, end: End | None) -> str:
    """`title` names the change of a table. `end` is None if it has not ended yet."""
    recover = f"`paimark recover {parse_table_name(table).word}` finishes it or takes it back"
    if end is None:
        return f"{title} was interrupted: {recover}"
    if end.outcome is not None:
        return f"{title}: {end.outcome.message}"
    error = end.error
    if error is None or isinstance(error, Cancelled):
        return f"{title} was stopped: nothing was changed"
    why = f"{error.message}. {error.hint}".rstrip()
    if isinstance(error, _COMPLETE):
        return f"{title}: {why}"
    if not end.is_left:
        return f"{title} failed, and nothing was changed: {why}"
    return f"{title} was interrupted: {why}" + ("" if "paimark recover" in error.hint else f" {recover}")
