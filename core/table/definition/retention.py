"""The two table options that switch stock expiry off on a branch root.

Stock expiry on any branch looks only at the tags of the table directory, and destroys what is not there.
"""

from __future__ import annotations

from collections.abc import Mapping

NEVER = "2147483647"
RETENTION_OFF: Mapping[str, str] = {
    "snapshot.num-retained.min": NEVER,
    "snapshot.num-retained.max": NEVER,
}


def retention_off() -> str:
    """The options as an alteration of a schema takes them."""
    return ", ".join(f"'{option}' = '{value}'" for option, value in RETENTION_OFF.items())
