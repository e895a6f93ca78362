"""Classes of Spark's Java, and objects of Paimark's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# It came with Paimon 1.4.
_OF_THE_LIBRARY = "org.apache.paimon.table.source.ChainSplit"


def new_instance(session: SparkSession, name: str, *arguments: Any) -> Any:
    """A new object of a class of `paimark/`, by its name below that package."""
    made: Any = session._jvm
    for part in f"paimark.{name}".split("."):
        made = getattr(made, part)
    return made(*arguments)


def has_library(session: SparkSession, name: str) -> bool:
    """`name` is a class of `paimark/library`, which is left out where Paimon's library was out of reach."""
    jvm: Any = getattr(session, "_jvm", None)
    return jvm is not None and has_classes(jvm, f"paimark.library.{name}", _OF_THE_LIBRARY)


def has_classes(jvm: Any, *names: str) -> bool:
    """Whether Java has all these classes."""
    try:
        for each in names:
            jvm.org.apache.spark.util.Utils.classForName(each, False, False)
    except Py4JError:
        return False
    return True
