"""A change that copies before its point of no return notes first that nothing of another is in the way.

Without the note there is nothing to take back: what lies where the copies were to go is somebody else's.
"""

from __future__ import annotations

from core.actions import journal
from core.actions.context import Context

_STARTED = "found nothing in the way"


def start(context: Context, hold: journal.Hold) -> journal.Hold:
    """From here on, what lies where the change copies to is its own. Raises `TakenOver`."""
    return journal.note(context, hold, _STARTED)


def has_started(begun: journal.Journal) -> bool:
    return _STARTED in begun.steps
