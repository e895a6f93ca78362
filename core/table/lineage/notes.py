"""The note on a change: a message, and the author. Operations have it, and snapshots in `properties`."""

from __future__ import annotations

import msgspec

from paimark.core.errors import UsageError
from paimark.core.figures import counted
from paimark.core.processes import user_name
from paimark.core.redaction import redacted
from paimark.core.table.records import AUTHOR, MESSAGE, Snapshot
from paimark.core.text import clean_text

_MOST_MESSAGE, _MOST_AUTHOR = 1000, 100


class Note(msgspec.Struct, frozen=True):
    """`author` is empty for the user of the process that makes the change."""

    message: str = ""
    author: str = ""


NO_NOTE = Note()


def checked(message: str, author: str) -> Note:
    """Raises `UsageError` for a text that is too long, or would not be shown as it is."""
    for name, text, most in (("message", message, _MOST_MESSAGE), ("author", author, _MOST_AUTHOR)):
        if problem := problem_of(text, most):
            raise UsageError(f"The {name} {problem}", f"One line of at most {counted(most, 'character')}.")
    return Note(redacted(message.strip()), redacted(author.strip()))


def problem_of(text: str, most: int = _MOST_MESSAGE) -> str:
    """Why a text is no message, as a part of a sentence; empty if it is one."""
    if len(text) > most:
        return f"has {counted(len(text), 'character')}, and {most:,} are the most"
    return "" if clean_text(text) == text else "has a line end, or another character that moves or hides text"


def with_note(snapshot: Snapshot, note: Note) -> Snapshot:
    """The snapshot that is about to be committed, with the note in its properties."""
    said = {AUTHOR: note.author or user_name(), **({MESSAGE: note.message} if note.message else {})}
    return msgspec.structs.replace(snapshot, properties={**(snapshot.properties or {}), **said})


def note_of(snapshot: Snapshot) -> Note:
    """The note of a snapshot; of hostile properties as much as a note may have."""
    said = snapshot.properties or {}
    return Note(said.get(MESSAGE, "")[:_MOST_MESSAGE], said.get(AUTHOR, "")[:_MOST_AUTHOR])
