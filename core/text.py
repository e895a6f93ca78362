"""Text from a table is hostile until it has been here."""

from __future__ import annotations

import re
from datetime import datetime

# C0 and C1 controls, DEL, bidirectional overrides and isolates, line and paragraph separators, and the
# zero-width marks that let one name look like another.
_HOSTILE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]"
)


def clean_text(value: object) -> str:
    """One line without anything that moves a cursor, rings, recolours, copies or reorders.

    Tabs and line ends become one space; every other hostile character becomes `\N{REPLACEMENT CHARACTER}`,
    so that a name which hides something does not look like one that does not.
    """
    return _HOSTILE.sub(_replacement, str(value))


def local_time(epoch_ms: int) -> str:
    """`2026-05-01 12:00:00` in the zone of this machine. Writers' clocks may say anything."""
    try:
        return datetime.fromtimestamp(epoch_ms / 1000).isoformat(" ", "seconds")
    except (OverflowError, ValueError, OSError):
        return f"{epoch_ms} ms since 1970"


def _replacement(match: re.Match[str]) -> str:
    return " " if match[0] in "\t\n\r\v\f\u2028\u2029" else "\N{REPLACEMENT CHARACTER}"
