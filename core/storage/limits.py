"""Limits of files that are read whole or unpacked at once: metadata is small, and lies in regular files."""

from __future__ import annotations

from core.errors import Corrupt

# The largest metadata files are manifests, of some megabytes.
MOST_BYTES = 256 << 20
# Of a data file, unpacked: a block, or as many rows as are looked at together. Writers make pieces of some
# megabytes.
AT_ONCE_BYTES = 64 << 20


class TooLarge(Exception):
    """A file that is worth more memory than it may take: nothing is known of the rest of it."""


class NotMetadata(Exception):
    """Something in a file's place is no metadata file, and was not read. The message says what it is."""

    def corrupt(self, path: str) -> Corrupt:
        return Corrupt(f"{path} {self}", "Remove it, or restore the file from a backup.")


def require_small(size: int) -> None:
    """Raises `NotMetadata` for a file of so many bytes."""
    if size > MOST_BYTES:
        raise NotMetadata(f"has {size} bytes: no metadata is as large")
