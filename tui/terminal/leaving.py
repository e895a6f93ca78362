"""From the key that leaves the console to the end of its process: Spark ends, and a store may be waited for.

Nobody is there for the keys typed meanwhile: they are dropped, and never echoed into the shell. ctrl+c makes
an end sooner, and is no interruption: whoever presses it has left already.
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

# As `termios` gives them: flags of input, output, control and local, two speeds, and the control characters.
Attributes = list[Any]

_LOCAL, _CHARACTERS = 3, 6
# In seconds: a shorter wait needs no words.
_SHOWN_AFTER = 0.3
_WAITING = "is ending; ctrl+c ends it at once"
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def attributes() -> Attributes | None:
    """How the terminal takes keys now; None where there is none."""
    try:
        return termios.tcgetattr(sys.__stdin__.fileno()) if sys.__stdin__ is not None else None
    except (termios.error, OSError, ValueError):
        return None


def without_echo(given: Attributes, *, interrupts: bool) -> Attributes:
    """The same, but no key is shown, and none is a signal: ctrl+c alone where it `interrupts`."""
    quiet = [*given[:_CHARACTERS], [*given[_CHARACTERS]]]
    quiet[_LOCAL] &= ~(termios.ECHO | termios.ECHONL | termios.ISIG)
    if interrupts:
        quiet[_LOCAL] |= termios.ISIG
        for each in (termios.VQUIT, termios.VSUSP):
            quiet[_CHARACTERS][each] = b"\0"
    return quiet


def keep_quiet(driver: object) -> None:
    """The driver gives the terminal back without echo: what ends after it is not over yet."""
    given = getattr(driver, "attrs_before", None)
    if given is not None:
        driver.attrs_before = without_echo(given, interrupts=False)  # type: ignore[attr-defined]


@contextmanager
def leaving(
    given: Attributes | None, at_once: Callable[[], None], *, for_good: bool, what: str = "Spark"
) -> Iterator[None]:
    """While what is in it ends `what` runs: says so if that takes long, and calls `at_once` for ctrl+c.

    `given` is how the terminal was before the console began, and is again. `for_good` is for where the
    process soon ends as well: ctrl+c is nothing from then on.
    """

    def hurry(number: int, frame: object) -> None:
        # In a thread: this may have come upon the very locks that it takes.
        threading.Thread(target=at_once, name="paimark-hurry", daemon=True).start()

    before = {number: signal.signal(number, hurry) for number in _ENDING}
    if given is not None:
        _set(without_echo(given, interrupts=True))
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
            # A function of Python's is forgotten before the process has ended; this is not.
            before[signal.SIGINT] = signal.SIG_IGN
        for number, handler in before.items():
            signal.signal(number, handler)
        if given is not None:
            _set(given)


def end_here(code: int) -> None:
    """Threads that wait for a store, perhaps for minutes, do not keep the process from its end."""
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
    # The terminal may be gone. What was typed until now is for nobody.
    with suppress(termios.error, OSError, ValueError):
        descriptor = sys.__stdin__.fileno() if sys.__stdin__ is not None else -1
        termios.tcsetattr(descriptor, termios.TCSANOW, to)
        termios.tcflush(descriptor, termios.TCIFLUSH)


def _write(text: str) -> None:
    with suppress(OSError):
        os.write(2, text.encode())
