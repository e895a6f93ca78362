"""Objects of Paimark's Java classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def new_instance(session: SparkSession, name: str, *arguments: Any) -> Any:
    """A new object of a class of `paimark/`, by its name below that package."""
    made: Any = session._jvm
    for part in f"paimark.{name}".split("."):
        made = getattr(made, part)
    return made(*arguments)
