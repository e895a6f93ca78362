"""The process that holds a claim or the journal, and whether it is alive.

A process of this machine is looked up. A process of another machine is watched: its heartbeat changes, or it
stays the same for longer than a living process lets it. Clocks of two machines are never compared.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Literal

import msgspec

from paimark.core.actions.context import Context
from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.figures import moment
from paimark.core.processes import lives, machine, start_of
from paimark.core.storage.files import read_if_there
from paimark.core.table.catalog import table_exists
from paimark.core.table.layout import TablePath

Standing = Literal["running", "gone", "unknown"]

# The number of looks at a heartbeat during a watch: a process that beats in between is found alive early.
_LOOKS = 10

_running: set[str] = set()


class Owner(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A process that changes a table."""

    user: str  # login name, or `uid <n>`
    host: str  # host name
    # `<boot id>/<pid namespace>` on Linux, else the host name: tells apart hosts, reboots and
    # containers
    machine: str
    pid: int  # process number
    # the process's start in clock ticks since boot (field 22 of `/proc/<pid>/stat`); empty where the
    # system does not say
    process_start: str
    since: int  # when it began

    def __str__(self) -> str:
        return f"{self.user} on {self.host} (process {self.pid}), since {moment(self.since)}"


def this_process(context: Context) -> Owner:
    """The owner to record in locks and claims that this process takes now."""
    pid = os.getpid()
    return Owner(
        user=context.user,
        host=context.host,
        machine=machine() or context.host,
        pid=pid,
        process_start=start_of(pid),
        since=context.clock(),
    )


def is_this_process(context: Context, owner: Owner) -> bool:
    return (owner.machine, owner.pid, owner.process_start) == (
        machine() or context.host,
        os.getpid(),
        start_of(os.getpid()),
    )


@contextmanager
def running(context: Context, table: TablePath, token: str) -> Iterator[None]:
    """While inside, this process counts as the living holder of the token, on other machines too.

    The last heartbeat stays if something may be half done: it tells when this process last wrote.
    """
    stop, has_beaten = threading.Event(), threading.Event()
    beating = (context, table, token, stop, has_beaten)
    thread = threading.Thread(target=_beat, args=beating, name="heartbeat", daemon=True)
    _running.add(token)
    thread.start()
    is_over = False
    try:
        yield
        is_over = True
    except PaimarkError as error:
        is_over = not isinstance(error, Unavailable)
        raise
    finally:
        _running.discard(token)
        stop.set()
        thread.join()
        if is_over and has_beaten.is_set():
            with suppress(PaimarkError):
                context.files.delete(table.heartbeat(token))


def standing(context: Context, owner: Owner, token: str) -> Standing:
    """Whether the process that holds `token` still works on it. `unknown`: it is on another machine."""
    if owner.machine != (machine() or context.host):
        return "unknown"
    if is_this_process(context, owner):
        return "running" if token in _running else "gone"
    return "running" if lives(owner.pid, owner.process_start) else "gone"


def silent(context: Context, table: TablePath, tokens: Collection[str]) -> set[str]:
    """Watch the holders of these tokens for `Context.watch_for` seconds; return those without a sign."""
    still = {token: _pulse(context, table, token) for token in tokens}
    for _ in range(_LOOKS):
        if not still:
            break
        time.sleep(context.watch_for / _LOOKS)
        still = {token: seen for token, seen in still.items() if _pulse(context, table, token) == seen}
    return set(still)


def _pulse(context: Context, table: TablePath, token: str) -> tuple[bytes | None, frozenset[str]]:
    """The heartbeat, and the names of files with the token: a process that writes either one lives."""
    beat = read_if_there(context.files, table.heartbeat(token))
    return beat, frozenset(name for name in context.files.names(table.branches) if token in name)


def _beat(
    context: Context, table: TablePath, token: str, stop: threading.Event, has_beaten: threading.Event
) -> None:
    path, count = table.heartbeat(token), 0
    while not stop.wait(context.beat_every):
        count += 1
        # A table that was dropped or moved away must not begin anew by a heartbeat.
        with suppress(PaimarkError):
            if not table_exists(context.files, table):
                return
        has_beaten.set()
        # If this beat fails, the next one may succeed.
        with suppress(PaimarkError):
            context.files.replace(path, str(count).encode())
