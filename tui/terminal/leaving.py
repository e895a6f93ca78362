"""The time between quitting the console and the end of its process: Spark ends, and a store may be slow.

Keys typed meanwhile are dropped, and never echoed into the shell. ctrl+c ends the process sooner; it does not
raise `KeyboardInterrupt`, because the person has left already.
"""

from __future__ import annotations

import os
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

# As `termios` returns them: input, output, control and local flags, two speeds, the control characters.
Attributes = list[Any]

_LOCAL, _CHARACTERS = 3, 6
# In seconds: a shorter wait shows no message.
_SHOWN_AFTER = 0.3
_WAITING = "is ending; ctrl+c ends it at once"
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def attributes() -> Attributes | None:
    """The present settings of the terminal; None if there is no terminal."""
    try:
        return termios.tcgetattr(sys.__stdin__.fileno()) if sys.__stdin__ is not None else None
    except (termios.error, OSError, ValueError):
        return None


def without_echo(settings: Attributes, *, interrupts: bool) -> Attributes:
    """The same settings without echo, and without signals by keys, except ctrl+c if `interrupts` is set."""
    quiet = [*settings[:_CHARACTERS], [*settings[_CHARACTERS]]]
    quiet[_LOCAL] &= ~(termios.ECHO | termios.ECHONL | termios.ISIG)
    if interrupts:
        quiet[_LOCAL] |= termios.ISIG
        for each in (termios.VQUIT, termios.VSUSP):
            quiet[_CHARACTERS][each] = b"\0"
    return quiet


def keep_quiet(driver: object) -> None:
    """Make the driver restore the terminal without echo, because the process has not ended yet."""
    settings = getattr(driver, "attrs_before", None)
    if settings is not None:
        driver.attrs_before = without_echo(settings, interrupts=False)  # type: ignore[attr-defined]


@contextmanager
def leaving(
    settings: Attributes | None, at_once: Callable[[], None], *, for_good: bool, what: str = "Spark"
) -> Iterator[None]:
    """While its block ends `what`: show a message if that takes long, and call `at_once` for ctrl+c.

    `settings` are those of the terminal before the console began; they are restored. `for_good` says that the
    process ends soon as well: ctrl+c is ignored from then on.
    """

    def hurry(number: int, frame: object) -> None:
        # In a thread: the interrupted code may hold the locks that `at_once` takes.
        threading.Thread(target=at_once, name="paimark-hurry", daemon=True).start()

    before = {number: signal.signal(number, hurry) for number in _ENDING}
    if settings is not None:
        _set(without_echo(settings, interrupts=True))
    ended = threading.Event()
    words = threading.Thread(
        target=_say_unless, args=(ended, f"{what} {_WAITING}"), name="paimark-leaving", daemon=True
    )
    words.start()
    try:
        yield
    finally:
        ended.set()
        words.join()
        if for_good:
            # Python drops a handler that is a function before the process has ended, but not this one.
            before[signal.SIGINT] = signal.SIG_IGN
        for number, handler in before.items():
            signal.signal(number, handler)
        if settings is not None:
            _set(settings)


def end_here(code: int) -> None:
    """Exit now if other threads still run: they could wait for a store for minutes, and block the exit."""
    if any(not each.daemon for each in threading.enumerate() if each is not threading.main_thread()):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _say_unless(ended: threading.Event, words: str) -> None:
    if not ended.wait(_SHOWN_AFTER):
        _write(f"\r{words}")
        ended.wait()
        _write("\r\x1b[2K")


def _set(to: Attributes) -> None:
    # The terminal may be gone. Drop the keys that were typed until now.
    with suppress(termios.error, OSError, ValueError):
        descriptor = sys.__stdin__.fileno() if sys.__stdin__ is not None else -1
        termios.tcsetattr(descriptor, termios.TCSANOW, to)
        termios.tcflush(descriptor, termios.TCIFLUSH)


def _write(text: str) -> None:
    with suppress(OSError):
        os.write(2, text.encode())
