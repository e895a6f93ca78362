"""What the rows of a grid are rows of, and why they can't be edited."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from paimark.core.actions.context import Context
from paimark.core.actions.repair.commit import writing_repairs
from paimark.core.actions.repair.edits import why_no_key
from paimark.core.actions.rewrite.spark_rewrite import start_in
from paimark.core.actions.rollback.target import version_at
from paimark.core.errors import READ_ONLY, NotFound, Refused, UsageError
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.records import Point, TableSchema
from paimark.core.travel.parse.statement import Statement
from paimark.tui.query.query_result import QueryResult
from paimark.tui.query.ready_statements import table_of

_SNAPSHOT = "snapshot."
_OLD = Refused(
    "These rows are of an old version, and edits are for the newest",
    "`p` on a branch (tab 3) shows its newest rows, and so does a SELECT without a version.",
)


@dataclass(frozen=True)
class EditTarget:
    """The table and branch (main when None) of rows, and the snapshot that they were read at, if known."""

    table: TablePath
    branch: str | None
    read: Point | None
    schema: TableSchema


def read_again(context: Context, target: EditTarget) -> int | None:
    """The newest snapshot, if the one that the rows were read at has expired; None if it is there.

    After a truncation, or when main is another branch, another snapshot may have its number.
    """
    files, root = context.files, branch_root(context.files, target.table, target.branch)
    with suppress(NotFound):
        if target.read is not None and target.read.is_of(
            version_at(files, root, f"snapshot.{target.read.id}").snapshot
        ):
            return None
    return start_in(files, root, is_main=target.branch is None).head.snapshot.id


def target_of_result(context: Context, result: QueryResult | None) -> EditTarget:
    """Raises `UsageError` and `Refused` if rows of a query can't be edited, and what `target_of` raises."""
    labels = {each.table for each in result.readings} if result is not None else set[str]()
    if result is None or len(labels) != 1 or len(result.rows) == 0:
        raise UsageError("Rows can be edited if all are of one table", "")
    reading = result.readings[0]
    if not reading.version.startswith(_SNAPSHOT):
        raise _OLD
    tokens = result.asked.tokens if isinstance(result.asked, Statement) else ()
    names_one = any((a.upper, b.upper) == ("AS", "OF") for a, b in pairwise(tokens))
    table, branch = table_of(reading.table)
    # A number is looked for in main before it is in an earlier one.
    newest = Lineage(context.files, branch_root(context.files, table, branch)).latest()
    is_newest = newest is not None and reading.point is not None and reading.point.is_of(newest)
    was_newest = not names_one or is_newest
    return target_of(context, table, branch, reading.point, result.names, was_newest=was_newest)


def target_of(
    context: Context,
    table: TablePath,
    branch: str | None,
    read: Point | None,
    names: Sequence[str],
    *,
    was_newest: bool,
) -> EditTarget:
    """Raises `Refused` if rows of such a table, with columns of these names, can't be edited.

    `was_newest`: they are of the newest version of that time, which is not so if a person chose another.
    """
    if context.read_only:
        raise Refused(*READ_ONLY)
    start = start_in(context.files, branch_root(context.files, table, branch), is_main=branch is None)
    keys = start.schema.primary_keys
    if not keys:
        raise Refused(f"{table.full_name} has no primary key: nothing names a single row", "Use UPDATE.")
    if not was_newest:
        raise _OLD
    if lacking := [name for name in keys if name not in names]:
        raise Refused(f"The rows have no {', '.join(lacking)}, which the key has", "Select it, too.")
    if refusals := writing_repairs(context, start):
        raise Refused(refusals[0].reason, refusals[0].hint)
    if reason := why_no_key(start.schema):
        raise Refused(reason, "Use UPDATE.")
    return EditTarget(table, branch, read, start.schema)
