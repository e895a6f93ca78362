"""A program that has the terminal gets the keys that stop and end it; the console goes on."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from paimark.tui.terminal.other_programs import how_it_ended, lent, unmoved_by_ctrl_c

# As the terminal does for ctrl+c and ctrl+z: to the console, which is the parent, and to the program.
_BOTH = "import os, signal; os.kill(os.getppid(), signal.{0}); os.kill(os.getpid(), signal.{0}); print('on')"


@pytest.mark.parametrize(("name", "code"), [("SIGINT", -signal.SIGINT), ("SIGTSTP", 0)])
def test_keys_for_the_program_leave_the_console_alone(name: str, code: int) -> None:
    before = signal.getsignal(getattr(signal, name))
    with lent(nullcontext):
        ran = subprocess.run([sys.executable, "-c", _BOTH.format(name)], check=False, capture_output=True)
    assert ran.returncode in (code, 1)
    assert (b"on" in ran.stdout) is (name == "SIGTSTP")
    assert signal.getsignal(getattr(signal, name)) is before


def test_ctrl_c_right_after_ctrl_z_does_not_end_the_console_that_is_brought_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with unmoved_by_ctrl_c():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_terminal_is_taken_back_from_a_program_that_can_not_be_started() -> None:
    """As Textual does: not where something was raised while the terminal was away."""
    taken_back: list[str] = []

    @contextmanager
    def suspended() -> Iterator[None]:
        yield
        taken_back.append("yes")

    with pytest.raises(OSError, match="no such program"), lent(suspended):
        raise OSError("no such program")
    assert taken_back == ["yes"]


def test_the_end_of_a_program_is_told_in_words() -> None:
    assert how_it_ended(3) == "ended with 3"
    assert how_it_ended(-signal.SIGINT) == "was ended by SIGINT"


def test_ctrl_z_is_for_where_a_shell_brings_the_console_back() -> None:
    """A shell puts each of its jobs into a group; what is started without one leads the session."""
    said = (
        "from paimark.tui.terminal.other_programs import why_to_stay; print(why_to_stay(is_changing=False))"
    )

    def told(**started: Any) -> str:
        command = [sys.executable, "-c", said]
        return str(
            subprocess.run(command, check=True, capture_output=True, text=True, **started).stdout
        ).strip()

    assert told(process_group=0) == ""
    assert told(start_new_session=True).startswith("ctrl+z needs a shell")


def test_nothing_of_the_console_answers_to_ctrl_z_once_it_has_ended() -> None:
    left = "import signal; from paimark.tui.terminal.other_programs import leave_for_good\n"
    left += "for each in (signal.SIGTSTP, signal.SIGCONT): signal.signal(each, lambda *_: print('asked'))\n"
    left += "leave_for_good(); signal.raise_signal(signal.SIGCONT); print('on')"
    ran = subprocess.run([sys.executable, "-c", left], check=True, capture_output=True, text=True)
    assert ran.stdout == "on\n"
