"""The tag that Spark's jobs of a statement bear: by it they are counted, and ended when it is cancelled.

Java keeps tags by thread, and has a thread of its own for each of ours. So a call into Java that may start
a job brings the tag along.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import SparkContext

_tag: ContextVar[str | None] = ContextVar("job_tag", default=None)


@contextmanager
def bearing(tag: str) -> Iterator[None]:
    """While inside, also in threads that run in a copy of this context, `job_tag` is `tag`."""
    before = _tag.set(tag)
    try:
        yield
    finally:
        _tag.reset(before)


def job_tag() -> str | None:
    """Of the statement that runs here; None outside of one."""
    return _tag.get()


def tag_this_thread(context: SparkContext) -> None:
    """What this thread has Spark do from now on bears the tag, and no other."""
    context.clearJobTags()
    if (tag := job_tag()) is not None:
        context.addJobTag(tag)
