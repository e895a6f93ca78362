"""DELETE, UPDATE and MERGE: Spark runs the statement over Paimon's own table, and it becomes one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from paimark.core.errors import Refused, failing_at
from paimark.core.spark.datasource.scan import WarehouseAccess
from paimark.core.spark.engine.session_state import EngineSession
from paimark.core.spark.protocol import Inserting
from paimark.core.spark.session_conf import ASSIGNMENT
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.table.catalog import find_table
from paimark.core.table.definition.row_changes import change_rules
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.names import named_table
from paimark.core.table.records import Snapshot
from paimark.core.travel.statements.row_changes import RowChange

if TYPE_CHECKING:
    from paimark.core.spark.engine.statement import Job

# The name of the target in our catalog, where only the name in the statement finds it.
_TARGET = "paimark_target"


class ChangedRows(msgspec.Struct, frozen=True):
    """`table` has its branch if the statement names one. `snapshot_id` is None if nothing was committed.

    `deleted` and `updated` are None if nobody counted them. `said` are the counts in words;
    `remark` is what failed after the commit.
    """

    table: str
    snapshot_id: int | None
    deleted: int | None
    updated: int | None
    inserted: int
    said: str
    remark: str = ""


def change_rows(session: EngineSession, job: Job, change: RowChange, order: Inserting) -> ChangedRows:
    """Run the statement. Raises `StatementFailed`, Spark's errors, and `Refused` like a commit."""
    database, views = session.state.database, session.views
    target = _target(session.warehouse, change, database, order)
    with failing_at(change.table_position):
        _require_able(session, change, target)
    parts = change.parts if len(change.parts) > 1 or database is None else (database, *change.parts)

    def run(table: Any) -> None:
        # Last: a table that the statement reads too may have the same name.
        views.queries.java.putTable(_TARGET, list(parts), table)
        job.tell_readings()
        session.spark.sql(job.text)

    views.register(job.named)
    try:
        made = session.writes.change(target, run)
    finally:
        views.queries.java.remove(_TARGET)
        views.drop(job.named)
        views.forget()
    label = target.name + ("" if target.follows_main else f"$branch_{target.branch}")
    if made.commit is None:
        return ChangedRows(label, None, 0, 0, 0, "")
    counts, commit = made.counts, made.commit
    updated = None if counts.again and change.command == "update" else counts.updated
    deleted = None if counts.gone else counts.deleted
    return ChangedRows(
        label, commit.snapshot.id, deleted, updated, counts.inserted, counts.said, commit.remark
    )


def _target(
    warehouse: WarehouseAccess, change: RowChange, database: str | None, order: Inserting
) -> WriteTarget:
    """The table in the state of the order. Raises `StatementFailed` at its name, `Refused`."""
    files = warehouse.files
    with failing_at(change.table_position):
        table, branch = named_table(change.parts, database)
        root = branch_root(files, find_table(files, table.full_name), branch)
    if root.branch != order.root:
        raise Refused(
            f"Another branch of {table.full_name} became main since the plan was made", "Run it again."
        )
    return WriteTarget(
        *warehouse.address(root),
        Lineage(files, root).require_schema().to_json().decode(),
        follows_main=branch is None,
        commit_user=order.commit_user,
        head=order.head,
        known=Snapshot.from_json(order.head.encode(), "the order").id if order.head else 0,
        operation=change.action,
        statement=change.sql,
    )


def _require_able(session: EngineSession, change: RowChange, target: WriteTarget) -> None:
    for each in change_rules(target.table_schema, change.command):
        raise Refused(f"{target.name} {each.reason}", each.hint)
    session.writes.require(target)
    if (mode := session.conf.get(ASSIGNMENT)).upper() != "ANSI":
        raise Refused(
            f"{ASSIGNMENT} is {mode}, and values could be cut in silence", f"SET {ASSIGNMENT}=ANSI first."
        )
