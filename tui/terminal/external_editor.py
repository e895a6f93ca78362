"""Edit a text in the user's editor: $VISUAL, else $EDITOR, else vi."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from core.errors import NotFound, Refused
from tui.terminal.lending import Suspended, how_it_ended, lent


def edited(text: str, suspended: Suspended) -> str:
    """The text after the editor has ended. `suspended` releases the terminal and takes it back.

    Raises `NotFound` if the editor can't be started, `Refused` if it ends with an error.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    # Readable by its owner only: statements may hold secrets.
    number, name = tempfile.mkstemp(prefix="paimark-", suffix=".sql", text=True)
    path = Path(name)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            with lent(suspended):
                code = subprocess.run([*shlex.split(command), name], check=False).returncode
        except (OSError, ValueError) as error:
            raise NotFound(f"The editor {command} can't be started", "Set EDITOR to one that can.") from error
        if code != 0:
            raise Refused(f"The editor {command} {how_it_ended(code)}", "The statement is as it was.")
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    finally:
        path.unlink(missing_ok=True)
