"""A disk that takes no more."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_file_over(count: int, process: int = 0) -> Iterator[None]:
    """Meanwhile no file of a process grows over so many bytes: writing fails as on a full disk.

    It is the process with this id, 0 for this one.
    """
    soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (count, hard))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))
