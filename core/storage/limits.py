"""What may be read whole: metadata is small, and lies in regular files."""

from __future__ import annotations

from core.errors import Corrupt

# The largest metadata files are manifests, of some megabytes.
MOST_BYTES = 256 << 20


class NotMetadata(Exception):
    """What lies in a file's place was not read. The message says what it is, after the file's path."""

    def corrupt(self, path: str) -> Corrupt:
        return Corrupt(f"{path} {self}", "Remove it, or restore the file from a backup.")


def require_small(size: int) -> None:
    """Raises `NotMetadata` for a file of so many bytes."""
    if size > MOST_BYTES:
        raise NotMetadata(f"has {size} bytes: no metadata is as large")
