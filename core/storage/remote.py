"""A warehouse on an object store or HDFS, over fsspec."""

from __future__ import annotations

from collections.abc import Mapping

from core.errors import Unavailable
from core.storage.files import Files


def open_remote(uri: str, options: Mapping[str, str]) -> Files:
    """The files of the warehouse at `uri`."""
    raise Unavailable(f"{uri} can't be opened", f"{len(options)} options")
