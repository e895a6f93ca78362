"""Tags that keep a snapshot while it is read. They say in their names who reads, and have a time to live.

A reader renews its tags. One that is left over, because the reader died, can be told by anyone.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
from typing import NamedTuple

from core.processes import lives, machine, start_of
from core.table.definition.automatic_tags import has_automatic_name
from core.table.records import Tag
from core.table.tag_times import created_ms

READ_TAG_PREFIX = "paimark.read."
# Of stock Spark, `batch-read-<snapshot>-<uuid>`: it has no time to live, and goes when the read ends.
STOCK_READ_TAG_PREFIX = "batch-read-"
# Java's writers give the time of a tag without its zone, so neither may be less than zones are apart.
TIME_TO_LIVE_MS = 24 * 3600 * 1000
_SURELY_DEAD_MS = 2 * TIME_TO_LIVE_MS
_NAME = re.compile(r"paimark\.read\.([0-9]+)\.([0-9a-f]{12})-([0-9]+)-([0-9]*)\.[0-9a-f]{8}")


class ReadingProcess(NamedTuple):
    """A process, by hashed machine, number and start."""

    machine: str
    pid: int
    start: str


def is_read_tag(name: str) -> bool:
    return name.startswith(READ_TAG_PREFIX)


def is_of_read(name: str) -> bool:
    """Whether it goes when a read ends, ours or stock."""
    return name.startswith((READ_TAG_PREFIX, STOCK_READ_TAG_PREFIX))


def holds_for_good(name: str, tag: Tag) -> bool:
    """Whether a tag stays until somebody deletes it: no time to live, and not one that engines make."""
    return tag.tag_time_retained is None and not is_of_read(name) and not has_automatic_name(name)


def read_tag_name(snapshot_id: int, *, is_over: bool = False) -> str:
    """A new name for a tag of this process's, or when its read `is_over`, of nobody's."""
    pid = 0 if is_over else os.getpid()
    start = "" if is_over else start_of(pid)
    return f"{READ_TAG_PREFIX}{snapshot_id}.{_this_machine()}-{pid}-{start}.{secrets.token_hex(4)}"


def is_left_over(name: str, tag: Tag, now_ms: int) -> bool:
    """Whether its read is certainly over: its reader said so, is gone from this machine, or long silent."""
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
    match = _NAME.fullmatch(name)
    return ReadingProcess(match[2], int(match[3]), match[4]) if match else None


def _this_machine() -> str:
    return hashlib.sha256((machine() or socket.gethostname()).encode()).hexdigest()[:12]
