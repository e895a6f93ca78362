"""Who holds a claim or the journal, and whether that process still lives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Literal

import msgspec

from core.actions.context import Context
from core.processes import lives, machine, start_of

# What another machine's process left is given up only after this long: its life can't be asked for.
PRESUMED_DEAD_AFTER_MS = 10 * 60 * 1000

Standing = Literal["running", "gone", "unknown"]

_running: set[str] = set()


class Owner(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A process that changes a table. `since` is epoch milliseconds.

    `machine` tells apart hosts, reboots and containers of one name; `process_start` a process from a later
    one with its number (empty where the system does not say). `alive`, epoch milliseconds, is when it last
    said that it works still, which only what takes long does.
    """

    user: str
    host: str
    machine: str
    pid: int
    process_start: str
    since: int
    alive: int | None = None

    def __str__(self) -> str:
        when = datetime.fromtimestamp(self.since / 1000).strftime("%Y-%m-%d %H:%M:%S")
        return f"{self.user} on {self.host} (process {self.pid}), since {when}"


def this_process(context: Context) -> Owner:
    """The owner to write into what this process takes now."""
    pid = os.getpid()
    return Owner(
        user=context.user,
        host=context.host,
        machine=machine() or context.host,
        pid=pid,
        process_start=start_of(pid),
        since=context.clock(),
    )


@contextmanager
def running(token: str) -> Iterator[None]:
    """While inside, what this process holds under the token counts as alive."""
    _running.add(token)
    try:
        yield
    finally:
        _running.discard(token)


def standing(context: Context, owner: Owner, token: str) -> Standing:
    """Whether the process that holds `token` still works on it. `unknown`: on another machine, and recent."""
    if owner.machine != (machine() or context.host):
        silent = context.clock() - max(owner.since, owner.alive or 0)
        return "gone" if silent > PRESUMED_DEAD_AFTER_MS else "unknown"
    if owner.pid == os.getpid() and owner.process_start == start_of(owner.pid):
        return "running" if token in _running else "gone"
    return "running" if lives(owner.pid, owner.process_start) else "gone"
