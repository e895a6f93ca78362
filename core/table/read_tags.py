"""Tags that keep a snapshot while it is read. A tag's name identifies the reader; it has a time to live.

A reader renews its tags. Any process can recognize the tag of a reader that died.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from paimark.core.processes import lives, machine, start_of
from paimark.core.table.layout import TAG_PREFIX
from paimark.core.table.records import Tag

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


def is_file_of_read(name: str) -> bool:
    """As `is_of_read`, of the name of a tag's file."""
    return name.startswith(TAG_PREFIX) and is_of_read(name.removeprefix(TAG_PREFIX))


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


# About 30,000 years. A longer time is damage, or a joke.
_LONGEST_SECONDS = 1e12


def created_ms(tag: Tag) -> int | None:
    """Epoch milliseconds; None for a tag without a TTL, which does not record its creation time.

    `tagCreateTime` is the writer's wall clock, `[year, month, day, hour, minute, second, nanosecond]` without
    trailing zeros, and without a zone: this function assumes this machine's zone.
    """
    if not tag.tag_create_time:
        return None
    year, month, day, hour, minute, second, nanosecond, *_ = [*tag.tag_create_time, *[0] * 7]
    try:
        whole = datetime(year, month, day, hour, minute, second)
        seconds = int(whole.timestamp())
    except (ValueError, OverflowError, OSError):
        return None
    return seconds * 1000 + nanosecond // 1_000_000


def kept_until_ms(tag: Tag) -> int | None:
    """The end of its time to live, epoch milliseconds; None for a tag that stays."""
    created = created_ms(tag)
    if created is None or tag.tag_time_retained is None:
        return None
    return created + int(min(tag.tag_time_retained, _LONGEST_SECONDS) * 1000)


def retained_text(tag: Tag) -> str | None:
    """The time to live as Java writes a duration (`PT24H`, `PT1H30M`); None for a tag that stays."""
    if tag.tag_time_retained is None:
        return None
    seconds = round(tag.tag_time_retained, 3)
    hours, left = divmod(seconds, 3600)
    minutes, left = divmod(left, 60)
    parts = ((hours, "H"), (minutes, "M"), (left, "S"))
    return "PT" + ("".join(f"{value:g}{unit}" for value, unit in parts if value) or "0S")


def with_time_to_live(data: bytes, now_ms: int, retained_ms: int) -> bytes:
    """A snapshot's or tag's JSON with a time to live: Java's local time as numbers, and decimal seconds."""
    fields: dict[str, Any] = msgspec.json.decode(data)
    now = datetime.fromtimestamp(now_ms / 1000)
    created = [now.year, now.month, now.day, now.hour, now.minute, now.second, now.microsecond * 1000]
    fields |= {"tagCreateTime": created, "tagTimeRetained": retained_ms / 1000}
    return msgspec.json.format(msgspec.json.encode(fields), indent=2)


# A day, an hour or a minute in Paimon's formats, and the tags of batch writers. The engine ignores
# the text after a blank.
_AUTOMATIC_NAME = r"(?s)-?\d{1,10}-\d\d-\d\d(?: .*)?|-?\d{5,18}(?: .*)?|batch-write-.*"


# An engine recognizes its own tags by name alone. It continues from the newest of them, deletes the oldest if
# there are too many, and fails if two of them are of one snapshot.
def has_automatic_name(name: str) -> bool:
    """Whether an engine that makes tags by itself would take this one for its own."""
    return re.fullmatch(_AUTOMATIC_NAME, name) is not None


def automatic_of(snapshot_id: int, tags: Iterable[tuple[str, Tag]]) -> str | None:
    """The tag of this snapshot that an engine takes for its own."""
    return next((name for name, tag in tags if tag.id == snapshot_id and has_automatic_name(name)), None)
