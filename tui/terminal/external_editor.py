"""Edit a text in the user's editor: $VISUAL, else $EDITOR, else vi."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from paimark.core.errors import NotFound, Refused, Unavailable
from paimark.tui.terminal.lending import Suspended, how_it_ended, lent

_UNCHANGED = "The statement is as it was."


def edited(text: str, suspended: Suspended) -> str:
    """The text after the editor has ended. `suspended` releases the terminal and takes it back.

    Raises `Unavailable` if no file can be written, `NotFound` if the editor can't be started, `Refused`
    if it ends with an error or leaves no text. A text that is not UTF-8 stays in its file.
    """
    path = _written(text)
    try:
        _edit(path, suspended)
        edited_text = path.read_text(encoding="utf-8-sig").rstrip("\n")
    except UnicodeError as error:
        raise Refused(f"The editor saved text that is not UTF-8; it is kept in {path}", _UNCHANGED) from error
    except OSError as error:
        path.unlink(missing_ok=True)
        reason = error.strerror or error
        raise Refused(f"The editor left no file that can be read: {reason}", _UNCHANGED) from error
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    path.unlink(missing_ok=True)
    return edited_text


def _written(text: str) -> Path:
    try:
        # Readable by its owner only: statements may hold secrets.
        number, name = tempfile.mkstemp(prefix="paimark-", suffix=".sql", text=True)
        with os.fdopen(number, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        reason = error.strerror or error
        raise Unavailable(f"No file for the editor can be written: {reason}", _UNCHANGED) from error
    return Path(name)


def _edit(path: Path, suspended: Suspended) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        with lent(suspended):
            code = subprocess.run([*shlex.split(command), str(path)], check=False).returncode
    except (OSError, ValueError) as error:
        raise NotFound(f"The editor {command} can't be started", "Set EDITOR to one that can.") from error
    if code != 0:
        raise Refused(f"The editor {command} {how_it_ended(code)}", _UNCHANGED)
