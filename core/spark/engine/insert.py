"""INSERT: write a query's rows to a table or branch, as one commit."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from paimark.core.errors import Refused, failing_at
from paimark.core.spark.datasource.scan import WarehouseAccess
from paimark.core.spark.engine.session_state import EngineSession
from paimark.core.spark.protocol import Inserting
from paimark.core.spark.session_conf import OVERWRITE_MODE, SessionConf
from paimark.core.spark.writing.column_assignment import ColumnAssignment
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.table.catalog import find_table
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.names import named_table
from paimark.core.travel.statements.inserts import Insert


@dataclass(frozen=True)
class Inserted:
    """`label` is the table, with its branch if the statement names one; `rows` counts those in new files.

    `snapshot` is None if there was nothing to commit. `remark` is what failed after the commit.
    """

    label: str
    snapshot: int | None
    rows: int
    remark: str = ""


def insert_target(
    warehouse: WarehouseAccess, insert: Insert, database: str | None, order: Inserting
) -> WriteTarget:
    """The target in its present state. Raises `StatementFailed` at the table's name, `Refused`."""
    files = warehouse.files
    with failing_at(insert.table_position):
        table, branch = named_table(insert.parts, database)
        root = branch_root(files, find_table(files, table.full_name), branch)
    if root.branch != order.root:
        raise Refused(
            f"Another branch of {table.full_name} became main since the plan was made", "Run it again."
        )
    lineage = Lineage(files, root)
    is_dynamic = bool(insert.partition) and not insert.static
    return WriteTarget(
        *warehouse.address(root),
        lineage.require_schema().to_json().decode(),
        follows_main=branch is None,
        commit_user=order.commit_user,
        overwrite=insert.overwrite,
        dynamic=insert.overwrite and is_dynamic,
        head=order.head,
        known=lineage.latest_id() or 0,
        operation=insert.action,
        statement=insert.sql,
    )


def insert_rows(session: EngineSession, insert: Insert, target: WriteTarget, frame: DataFrame) -> Inserted:
    """Write the rows. Raises `StatementFailed` for columns that don't fit, and `Refused` like a commit."""
    _require_mode(session.conf, insert, target)
    session.writes.require(target)
    columns = ColumnAssignment(session.spark, frame, target, insert)
    label = target.name + ("" if target.follows_main else f"$branch_{target.branch}")
    partitions = columns.partition if insert.overwrite and insert.static else None
    made = session.writes.write(target, columns.rows, partitions=partitions)
    if made is None:
        return Inserted(label, None, 0)
    return Inserted(label, made.snapshot.id, made.changes.records_added, made.remark)


def _require_mode(conf: SessionConf, insert: Insert, target: WriteTarget) -> None:
    """Raises `StatementFailed` if Spark's setting would make an overwrite replace less.

    Here an overwrite replaces what its statement and its plan tell, whatever the setting is.
    """
    partitions = target.table_schema.partition_keys
    if not insert.overwrite or target.dynamic or len(insert.static) == len(partitions):
        return
    if conf.get(OVERWRITE_MODE).lower() != "dynamic":
        return
    with failing_at(insert.table_position):
        raise Refused(
            f"{OVERWRITE_MODE} is dynamic, and this would replace other partitions of {target.name} than "
            "those that rows come for",
            f"Write PARTITION ({', '.join(partitions)}) for those, or SET {OVERWRITE_MODE}=static.",
        )
