"""Classes of Spark's Java, and objects of Paimark's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# It came with Paimon 1.4.
_OF_THE_LIBRARY = "org.apache.paimon.table.source.ChainSplit"
_TYPES = "py4j.reflection.TypeUtil"
# What PySpark asks for with nearly every call, by these names: the first without their package.
_WITHOUT_PACKAGE = {
    "PythonUtils": "org.apache.spark.api.python.PythonUtils",
    "PythonErrorUtils": "org.apache.spark.api.python.PythonErrorUtils",
    "PythonSQLUtils": "org.apache.spark.sql.api.python.PythonSQLUtils",
}
_WITH_PACKAGE = (
    "org.apache.spark.SparkThrowableHelper",
    "org.apache.spark.sql.catalyst.trees.PySparkCurrentOrigin",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.internal.SQLConf",
    "org.apache.spark.util.Utils",
)


def java_class(jvm: Any, name: str) -> Any:
    """The class of this whole name.

    Asked for `a.b.C` part by part, Java looks into each of its jars for a class `a`, then for a class `a.b`.
    """
    return JavaClass(name, jvm._gateway_client)


def remember_classes(jvm: Any) -> None:
    """Let PySpark find the classes that it asks for all the time without a look into all jars.

    To tell one error it asks for a class some thirty times.
    """
    for name, whole in [*_WITHOUT_PACKAGE.items(), *((each, each) for each in _WITH_PACKAGE)]:
        setattr(jvm, name, java_class(jvm, whole))
    types = SimpleNamespace(isInstanceOf=java_class(jvm, _TYPES).isInstanceOf)
    jvm.py4j = SimpleNamespace(reflection=SimpleNamespace(TypeUtil=types))


def new_instance(session: SparkSession, name: str, *arguments: Any) -> Any:
    """A new object of a class of `paimark/`, by its name below that package."""
    return java_class(session._jvm, f"paimark.{name}")(*arguments)


def has_library(session: SparkSession, name: str) -> bool:
    """`name` is a class of `paimark/library`, which is left out where Paimon's library was out of reach."""
    jvm: Any = getattr(session, "_jvm", None)
    return jvm is not None and has_classes(jvm, f"paimark.library.{name}", _OF_THE_LIBRARY)


def has_classes(jvm: Any, *names: str) -> bool:
    """Whether Java has all these classes."""
    try:
        for each in names:
            java_class(jvm, "org.apache.spark.util.Utils").classForName(each, False, False)
    except Py4JError:
        return False
    return True
