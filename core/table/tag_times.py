"""The creation time and time to live of a tag, from the two fields that Java's writers add for a TTL."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from paimark.core.table.records import Tag

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
