"""Lend the terminal to another program, which alone gets the keys: the user's editor, or the shell."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from paimark.core.errors import NotFound, Refused, Unavailable
from paimark.tui.named_keys import suspend_key

# Releases the terminal, and takes it back.
Suspended = Callable[[], AbstractContextManager[object]]
_UNCHANGED = "The statement is as it was."


@contextmanager
def lent(suspended: Suspended) -> Iterator[None]:
    """While it lasts, ctrl+c ends the other program and not the console, and ctrl+z stops neither.

    The terminal sends both signals to every process that uses it. A stopped console could not write the
    heartbeat of a change.
    """
    error: Exception | None = None
    with suspended():
        stopping = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
        try:
            with unmoved_by_ctrl_c():
                yield
        except Exception as raised:
            # Textual takes the terminal back only if nothing is raised; so raise it afterwards.
            error = raised
        finally:
            signal.signal(signal.SIGTSTP, stopping)
    if error is not None:
        raise error


@contextmanager
def unmoved_by_ctrl_c() -> Iterator[None]:
    """Ignore ctrl+c while the console does not have the terminal, for example before ctrl+z stops it.

    ctrl+c is a signal then, and would end the console as soon as it continues.
    """
    # A function, not SIG_IGN: another program would inherit SIG_IGN.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def how_it_ended(code: int) -> str:
    """The exit code of a program, in words."""
    return f"ended with {code}" if code >= 0 else f"was ended by {signal.Signals(-code).name}"


def why_to_stay(*, is_changing: bool) -> str:
    """The reason why ctrl+z may not stop the console now; empty if it may."""
    if is_changing:
        # Other machines would take a stopped process for dead.
        return f"A change is being written: {suspend_key()} waits for its end"
    if os.getpgrp() == os.getsid(0):
        # As with `ssh -t host paimark`: no shell with job control runs it, so none could continue it.
        return f"{suspend_key()} needs a shell that brings Paimark back, and there is none here"
    return ""


def leave_for_good() -> None:
    """Restore the default handling of ctrl+z, after the console has ended and before the process does.

    Textual's handlers need the application, and the end of Spark may take a moment.
    """
    for number in (signal.SIGTSTP, signal.SIGCONT):
        signal.signal(number, signal.SIG_DFL)


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
