"""Convert Spark's errors to a sentence without Java, plans or internal names, and a position in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext

from paimark.core.errors import PaimarkError, is_uncommitted
from paimark.core.redaction import redacted
from paimark.core.spark.datasource.pypaimon_limits import ELSEWHERE, LOST_FILE
from paimark.core.spark.launch.cluster import WAS_ENDED
from paimark.core.spark.launch.session_settings import RESULT_PORT
from paimark.core.spark.launch.settings import CATALOG_NAME
from paimark.core.spark.protocol import Failed
from paimark.core.spark.stores.failures import explain_arrow, explain_read
from paimark.core.table.definition.kind_signs import partition_without_path
from paimark.core.table.records import TableSchema

_CONDITION = re.compile(r"^\s*\[[A-Z0-9_.]+\]\s*")
# The text that Spark appends to its messages: the state, the statement with a caret, a plan.
_ADDED = re.compile(r"\s*(SQLSTATE: \w{5}|== SQL|;?\s*line \d+,? pos \d+|\n'?\w+ \[).*", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z'\"`])")
_JAVA_CLASS = re.compile(r"^(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error): ")
_LONGEST = 600
# The message of `ResultRows` if a task can't reach the engine.
_NO_WAY = re.compile(r"No way to hand in rows at (\S+) \((.*?)\)(?:\n|$)")
_TOO_DEEP = "java.lang.StackOverflowError"
_TASK_AT = re.compile(r"\(TID \d+\) \((\S+) executor")
_LACKS_CLASS = "Spark's Java has no class"
_DISK_FULL = "No space left on device"
# Java's words for a local file, with the hint.
_NOT_ALLOWED = re.compile(r"(/\S.*) \((Read-only file system|Permission denied)\)")
_ALLOWED_BY = {
    "Read-only file system": "It is mounted read-only.",
    "Permission denied": "Check who owns it, or run as a user who may.",
}
_LOST_EXECUTOR = re.compile(r"\(TID \d+\) \((\S+) executor \S+\): ExecutorLostFailure")
# The error of Hadoop 3.4 on Java 24 and newer. Paimon tables don't need that call.
_HADOOP_ON_NEW_JAVA = "getSubject is not supported"
_FAILED_READ = "FAILED_READ_FILE"
# Spark's own catalog, and the one of our tables, which nobody names.
_CATALOG = re.compile(f"`(?:spark_catalog|{CATALOG_NAME})`\\.(?=`)")
NO_TABLE = "SHOW TABLES lists what there is; write database.table where none is chosen."
# Hints that replace Spark's, whose advice is about its own catalog.
_HINTS = {
    "TABLE_OR_VIEW_NOT_FOUND": NO_TABLE,
    "REQUIRES_SINGLE_PART_NAMESPACE": NO_TABLE,
    "SCHEMA_NOT_FOUND": "SHOW DATABASES lists what there is.",
    "FAILED_READ_FILE.FILE_NOT_EXIST": LOST_FILE,
    "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST": (
        "Convert it in the query, with CAST or round(), to say what may be lost."
    ),
}
# Sentences that replace Spark's, which speak of its own inside.
_SENTENCES = {
    "MERGE_CARDINALITY_VIOLATION": (
        "Several rows of the source match one row of the table, and nobody can say which of them counts",
        "Let the source have one row for each: by GROUP BY, or by row_number() OVER (...) = 1.",
    ),
}
# So with what Spark says between its own words.
_WORDED = {
    "EXCEED_LIMIT_LENGTH": (
        re.compile(r"limitation: (\d+)"),
        "A text is longer than the {} characters that its column holds",
        "Shorten it in the statement, as left(text, {}) does.",
    ),
    "NOT_NULL_ASSERT_VIOLATION": (
        re.compile(r"field:\s+(\w+)"),
        "Column {} may not be null",
        "Give every row a value.",
    ),
}
# Of a statement that changes rows Spark knows no name of the table here.
_NO_NAME = "Cannot write incompatible data for the table ``: "


def failed(error: Exception, sql: str, names: Mapping[str, str]) -> Failed:
    """Describe an error of the statement `sql`; `names` maps our names of states to tables."""
    if isinstance(error, PaimarkError):
        return Failed.of(error)
    java = _java(error)
    text = redacted(_text(error, java))
    if _HADOOP_ON_NEW_JAVA in text:
        return Failed("Hadoop's file systems do not work on this Java", "Point JAVA_HOME to Java 17 or 21.")
    condition = _condition_of(java)
    message, hint = _SENTENCES.get(condition) or _worded(condition, text) or sentences(text)
    message = message.removeprefix(_NO_NAME)
    hint = _HINTS.get(condition, hint)
    if condition.startswith(_FAILED_READ) and (of_store := explain_read(redacted(_causes(java)))):
        message, hint = of_store
    if isinstance(error, OSError) and (of_store := explain_arrow(text)):
        message, hint = of_store
    for ours, theirs in names.items():
        message, hint = message.replace(ours, theirs), hint.replace(ours, theirs)
    return Failed(message, hint, _position(java, sql), is_uncommitted=is_uncommitted(error))


def _worded(condition: str, text: str) -> tuple[str, str] | None:
    if condition not in _WORDED:
        return None
    pattern, message, hint = _WORDED[condition]
    found = pattern.search(text)
    return found and (message.format(found[1]), hint.format(found[1]))


def of_partition(told: Failed, schemas: Iterable[TableSchema]) -> Failed:
    """As told; but a file may be in a directory to which its writer gave another name."""
    if told.hint != LOST_FILE or not any(map(partition_without_path, schemas)):
        return told
    return replace(told, hint=ELSEWHERE)


def sentences(text: str) -> tuple[str, str]:
    """The first sentence of Spark's message, and the rest as the hint."""
    if known := _of_the_machines(text):
        return known
    if text.startswith(_LACKS_CLASS):
        return (
            text,
            "A table option needs it, as its compression may: --spark-conf spark.jars=FILE brings it.",
        )
    if _TOO_DEEP in text:
        return (
            "The statement has too many parts within each other for Spark",
            "One IN does for many ORs; --spark-conf spark.driver.extraJavaOptions=-Xss16m makes room.",
        )
    if lost := _LOST_EXECUTOR.search(text):
        return (
            f"Executors were lost while they worked on the statement, the last one on {lost[1]}",
            "Run it again; --spark-conf spark.executor.memory=4g gives them more memory.",
        )
    text = _CONDITION.sub("", text.strip())
    text = _CATALOG.sub("", _JAVA_CLASS.sub("", _CONDITION.sub("", _ADDED.sub("", text))))
    first, *rest = _SENTENCE_END.split(" ".join(text.split()), maxsplit=1)
    return (first or "Spark failed without saying why")[:_LONGEST].rstrip("."), (rest[0] if rest else "")[
        :_LONGEST
    ]


def _of_the_machines(text: str) -> tuple[str, str] | None:
    """The message and hint for an error of machines or the cluster, not of the statement; None for others."""
    task = _TASK_AT.search(text)
    where = task[1] if task else "this machine"
    if unreachable := _NO_WAY.search(text):
        return (
            f"Rows can't be handed in at {unreachable[1]} from {where} ({unreachable[2]})",
            f"That is this machine, as spark.driver.host has it. --spark-conf {RESULT_PORT}=7100 settles the "
            "port that must be open, =off lets rows go Spark's own way.",
        )
    if _DISK_FULL in text:
        return (
            f"A disk of {where} is full: the warehouse's, or that where Spark keeps what memory can't hold",
            "Free some space there, or let spark.local.dir name a larger disk for Spark (on a cluster its "
            "workers' SPARK_LOCAL_DIRS, or YARN's local directories).",
        )
    if stopped := _NOT_ALLOWED.search(text):
        return f"{stopped[1]} can't be used: {stopped[2].lower()}", _ALLOWED_BY[stopped[2]]
    if any(words in text for words in WAS_ENDED):
        return (
            "The cluster ended this application while the statement ran",
            "Somebody stopped it there, or its executors failed too often: its logs say which. Run it again.",
        )
    return None


def _java(error: Exception) -> Any:
    """The Java exception that tells most: the outermost with an error condition, else the innermost cause."""
    java = _outermost(error)
    while java is not None:
        if _condition_of(java):
            return java
        cause = java.getCause()
        if cause is None:
            return java
        java = cause
    return None


def _outermost(error: Exception) -> Any:
    return error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)


def _condition_of(java: Any) -> str:
    """Spark's name for the kind of error; empty if it has none."""
    if java is None or not _is_a(java, "org.apache.spark.SparkThrowable"):
        return ""
    return str(java.getCondition() or "")


def _causes(java: Any) -> str:
    """The texts of an exception and of all its causes."""
    texts = []
    while java is not None:
        texts.append(str(java.toString()))
        java = java.getCause()
    return "\n".join(texts)


def _text(error: Exception, java: Any) -> str:
    if java is not None:
        told = str(java.getMessage() or java.toString())
        # Its message is only a name.
        return f"{_LACKS_CLASS} {told}" if _is_a(java, "java.lang.ClassNotFoundException") else told
    return str(getattr(error, "_desc", "") or error)


def _position(java: Any, sql: str) -> int | None:
    """The character offset in `sql`. Spark's parser counts code points, as Python does."""
    if java is None or not _is_a(java, "org.apache.spark.SparkThrowable"):
        return None
    for context in java.getQueryContext():
        if context.contextType().toString() == "SQL" and context.startIndex() >= 0:
            # That of a view is a place in its text.
            return None if context.objectType() else int(context.startIndex())
    if _is_a(java, "org.apache.spark.sql.AnalysisException") and java.line().isDefined():
        lines = sql.split("\n")[: java.line().get()]
        column = java.startPosition().get() if java.startPosition().isDefined() else 0
        return sum(len(each) + 1 for each in lines[:-1]) + int(column)
    return None


def _is_a(java: Any, class_name: str) -> bool:
    gateway = SparkContext._gateway
    return gateway is not None and bool(is_instance_of(gateway, java, class_name))
