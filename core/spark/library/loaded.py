"""Whether Spark's Java has Paimon's library."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

# It came with Paimon 1.4.
_OF_THE_LIBRARY = "org.apache.paimon.table.source.ChainSplit"


def is_loaded(session: SparkSession, name: str) -> bool:
    """`name` is a class of `paimark/library`, which is left out where the library was out of reach."""
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
