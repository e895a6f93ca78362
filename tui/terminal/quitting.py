"""The time between quitting the console and the end of its process: Spark ends, and a store may be slow.

A line says so at once, and again for each key. The keys are dropped, and never echoed into the shell. ctrl+c
ends the process sooner; it does not raise `KeyboardInterrupt`, because the person has left already.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

# As `termios` returns them: input, output, control and local flags, two speeds, the control characters.
Attributes = list[Any]

_LOCAL, _CHARACTERS = 3, 6
# In seconds.
_TICK, _LOOK = 1.0, 0.05
# In bytes: more keys than anybody types at once.
_KEYS = 4096
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def attributes() -> Attributes | None:
    """The present settings of the terminal; None if there is no terminal."""
    try:
        return termios.tcgetattr(sys.__stdin__.fileno()) if sys.__stdin__ is not None else None
    except (termios.error, OSError, ValueError):
        return None


def without_echo(settings: Attributes, *, interrupts: bool) -> Attributes:
    """The same settings without echo, and without signals by keys, except ctrl+c if `interrupts` is set: then
    each key can be read at once."""
    quiet = [*settings[:_CHARACTERS], [*settings[_CHARACTERS]]]
    quiet[_LOCAL] &= ~(termios.ECHO | termios.ECHONL | termios.ISIG)
    if interrupts:
        quiet[_LOCAL] |= termios.ISIG
        quiet[_LOCAL] &= ~termios.ICANON
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
    """While its block ends `what`: say so, and call `at_once` for ctrl+c.

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
    saying = threading.Thread(
        target=_say_until,
        args=(ended, f"{'Quitting' if for_good else 'Switching'}: {what} ends", settings is not None),
        name="paimark-leaving",
        daemon=True,
    )
    saying.start()
    try:
        yield
    finally:
        ended.set()
        saying.join()
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


def _say_until(ended: threading.Event, words: str, has_keys: bool) -> None:
    """Say the words with the seconds that passed: at once, each second, and for each key."""
    began = time.monotonic()
    while not ended.is_set():
        passed = int(time.monotonic() - began)
        _write(f"\r\x1b[2K{words}, {passed} s. ctrl+c ends it now.")
        _wait_for_key(ended, began + passed + _TICK, has_keys=has_keys)
    _write("\r\x1b[2K")


def _wait_for_key(ended: threading.Event, until: float, *, has_keys: bool) -> None:
    """Wait until a key is typed, and drop it; or until that time, or the end."""
    while not ended.wait(_LOOK) and time.monotonic() < until:
        if has_keys and _drop_keys():
            return


def _drop_keys() -> bool:
    """Drop the keys that were typed; return whether there were any."""
    with suppress(OSError, ValueError):
        descriptor = sys.__stdin__.fileno() if sys.__stdin__ is not None else -1
        if select.select([descriptor], [], [], 0)[0]:
            return bool(os.read(descriptor, _KEYS))
    return False


def _set(to: Attributes) -> None:
    # The terminal may be gone. Drop the keys that were typed until now.
    with suppress(termios.error, OSError, ValueError):
        descriptor = sys.__stdin__.fileno() if sys.__stdin__ is not None else -1
        termios.tcsetattr(descriptor, termios.TCSANOW, to)
        termios.tcflush(descriptor, termios.TCIFLUSH)


def _write(text: str) -> None:
    # Where the console was drawn.
    with suppress(OSError, ValueError):
        os.write(sys.__stderr__.fileno() if sys.__stderr__ is not None else 2, text.encode())
