"""The settings of a Spark session, cached because each read is a call to Java; the tag of its jobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


ZONE = "spark.sql.session.timeZone"
LARGE_TYPES = "spark.sql.execution.arrow.useLargeVarTypes"
ASSIGNMENT = "spark.sql.storeAssignmentPolicy"
INFERS = "spark.sql.constraintPropagation.enabled"
OVERWRITE_MODE = "spark.sql.sources.partitionOverwriteMode"


class SessionConf:
    """Cached settings. Call `forget` after a statement that may change a setting."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._known: dict[tuple[str, str | None], str] = {}

    def get(self, name: str, default: str | None = None) -> str:
        """The setting; if it is not set, `default`, or without that Spark's default."""
        key = name, default
        if key not in self._known:
            # Without a default, Spark raises for an unknown setting.
            found = self.spark.conf.get(name) if default is None else self.spark.conf.get(name, default)
            self._known[key] = found or default or ""
        return self._known[key]

    def put(self, name: str, value: str) -> None:
        self.spark.conf.set(name, value)
        self.forget()

    def forget(self) -> None:
        self._known.clear()

    @property
    def zone(self) -> str:
        return self.get(ZONE) or "UTC"


_tag: ContextVar[str | None] = ContextVar("job_tag", default=None)


# Java keeps tags per thread, and has one thread for each Python thread that calls it. So every call to Java
# that may start a job sets the tag.
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
