"""Do the order of `compact`: Paimon's library compacts a root of a table, as one commit."""

from __future__ import annotations

from base64 import b64decode

from paimark.core.spark.engine.session_state import EngineSession
from paimark.core.spark.protocol import Compact, TaskResult
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.operations import COMPACTION


def compact(session: EngineSession, order: Compact) -> TaskResult:
    """Raises `Refused` as `LibraryCompaction.compact`, and Spark's error of a task."""
    target = WriteTarget(
        *session.warehouse.address(parse_table_name(order.table).root(order.branch)),
        order.schema,
        follows_main=order.follows_main,
        commit_user=order.commit_user,
        after_commit=None,
        operation=COMPACTION,
    )
    partitions = None if order.partitions is None else [b64decode(each) for each in order.partitions]
    made = session.writes.compaction.compact(target, is_full=order.is_full, partitions=partitions)
    if made is None:
        return TaskResult()
    return TaskResult((made.remark,) if made.remark else (), made.snapshot.id)
