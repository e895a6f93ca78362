"""The tag of a statement's Spark jobs, which serves to count their progress and to cancel them.

Java keeps tags per thread, and has one thread for each Python thread that calls it. So every call to Java
that may start a job sets the tag.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_tag: ContextVar[str | None] = ContextVar("job_tag", default=None)


@contextmanager
def bearing(tag: str) -> Iterator[None]:
    """Within the context, `job_tag` is `tag`, also in threads that run in a copy of this context."""
    before = _tag.set(tag)
    try:
        yield
    finally:
        _tag.reset(before)


def job_tag() -> str | None:
    """The tag of the statement that runs in this context; None outside of a statement."""
    return _tag.get()
