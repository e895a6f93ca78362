"""Size limits of files that are read or unpacked at once: metadata is small, and in regular files."""

from __future__ import annotations

from paimark.core.errors import Corrupt

# The largest metadata files are manifests, of some megabytes.
MOST_BYTES = 256 << 20
# For a data file, unpacked: a block, or the rows examined together. Writers make pieces of some megabytes.
AT_ONCE_BYTES = 64 << 20


class TooLarge(Exception):
    """A file that would need more memory than allowed: the rest of it is unknown."""


class NotMetadata(Exception):
    """A file-system object that is no metadata file, and was not read. The message says what it is."""

    def corrupt(self, path: str) -> Corrupt:
        return Corrupt(f"{path} {self}", "Remove it, or restore the file from a backup.")


def require_small(size: int) -> None:
    """Raises `NotMetadata` for a file of this size in bytes."""
    if size > MOST_BYTES:
        raise NotMetadata(f"has {size} bytes: no metadata is as large")
