"""Tags that keep a snapshot while it is read. A tag's name identifies the reader; it has a time to live.

A reader renews its tags. Any process can recognize the tag of a reader that died.
"""

from __future__ import annotations

import os
import re
import socket
from typing import NamedTuple

from paimark.core.processes import lives, machine, start_of
from paimark.core.table.definition.automatic_tags import has_automatic_name
from paimark.core.table.records import Tag
from paimark.core.table.tag_times import created_ms

READ_TAG_PREFIX = "paimark.read."
# Stock Spark's `batch-read-<snapshot>-<uuid>`: it has no time to live, and is deleted when the read ends.
STOCK_READ_TAG_PREFIX = "batch-read-"
# Java's writers give the time of a tag without its zone, so both times must exceed the span of time zones.
TIME_TO_LIVE_MS = 24 * 3600 * 1000
_SURELY_DEAD_MS = 2 * TIME_TO_LIVE_MS
_NAME = r"paimark\.read\.([0-9]+)\.([0-9a-f]{12})-([0-9]+)-([0-9]*)\.[0-9a-f]{8}"


class ReadingProcess(NamedTuple):
    """A process, by the hash of its machine, its number and its start."""

    machine: str
    pid: int
    start: str


def is_read_tag(name: str) -> bool:
    return name.startswith(READ_TAG_PREFIX)


def is_of_read(name: str) -> bool:
    """Whether it is deleted when a read ends; it may be Paimark's or stock Spark's."""
    return name.startswith((READ_TAG_PREFIX, STOCK_READ_TAG_PREFIX))


def is_permanent(name: str, tag: Tag) -> bool:
    """Whether a tag stays until somebody deletes it: no time to live, and not made by engines themselves."""
    return tag.tag_time_retained is None and not is_of_read(name) and not has_automatic_name(name)


def read_tag_name(snapshot_id: int, *, is_over: bool = False) -> str:
    """A new name for a tag of this process, or of no process if its read `is_over`."""
    pid = 0 if is_over else os.getpid()
    start = "" if is_over else start_of(pid)
    return f"{READ_TAG_PREFIX}{snapshot_id}.{_this_machine()}-{pid}-{start}.{os.urandom(4).hex()}"


def is_stale(name: str, tag: Tag, now_ms: int) -> bool:
    """Whether its read is certainly over: its reader said so, ended on this machine, or is long silent."""
    reader = _reader(name)
    if reader is None:
        return False
    if reader.pid == 0:
        return True
    if reader.machine == _this_machine():
        return not lives(reader.pid, reader.start)
    created = created_ms(tag)
    return created is not None and now_ms - created > _SURELY_DEAD_MS


def _reader(name: str) -> ReadingProcess | None:
    match = re.fullmatch(_NAME, name)
    return ReadingProcess(match[2], int(match[3]), match[4]) if match else None


def _this_machine() -> str:
    # Imported here: it loads OpenSSL, which the console's first frame does not need.
    import hashlib

    return hashlib.sha256((machine() or socket.gethostname()).encode()).hexdigest()[:12]
