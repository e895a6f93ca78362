"""Where the console starts. Reading begins before Textual is imported: most of a start is imports."""

from __future__ import annotations

import gc
import os

from core.config import Settings
from tui.opening import Opening
from tui.session import Session


def run(settings: Settings) -> int:
    """Show the console until it is left; the exit code."""
    # Garbage there is none while everything is being made: collecting only costs time before the first frame.
    gc.disable()
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    os.environ.setdefault("TEXTUAL_FPS", "30")
    session = Session(settings)
    opening = Opening(session)
    opening.start()

    from tui.console import Console

    console = Console(session, opening)
    # Without the mouse the terminal's own selection works, and the line carries only keys.
    try:
        console.run(mouse=False)
    finally:
        session.memory.save()
        session.room.close()
    return console.return_code or 0
