"""What an overwrite of a chain table's delta branch takes out of its snapshot branch, as in Paimon itself.

Readers take a partition from the snapshot branch if that has it: there it would hide the new rows. Paimon's
library would commit there unseen; here it is an operation of its own, with its way back.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from paimark.core.redaction import redacted
from paimark.core.spark.library.commit import Committed, LibraryCommit
from paimark.core.spark.library.written_table import WrittenTables
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.files import read_if_there
from paimark.core.table.definition.kind_signs import chain_branches
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root


def take_along(tables: WrittenTables, target: WriteTarget, write: Any, made: Committed) -> str:
    """After a statement's commit to the delta branch. Returns what became of it, empty for nothing to do.

    `write` is Java's `TableWrite` of that commit. Actions write rows as a version had them: the snapshot
    branch stays as it is.
    """
    full, delta = chain_branches(target.table_schema.options)
    overwrites = made.snapshot.commit_kind == "OVERWRITE"
    if target.operation is None or not full or target.branch != delta or not overwrites:
        return ""
    try:
        snapshot = _taken_out(tables, target, full, write, made)
    # Whatever failed: the rows are committed.
    except Exception as error:
        why = redacted(str(error).strip().split("\n")[0]).rstrip(".")
        return (
            f"The rows are committed, but branch {full} keeps the same partitions, and readers take them "
            f"from there: {why}. DELETE FROM `{target.table}$branch_{full}` takes them out"
        )
    if snapshot is None:
        return ""
    return (
        f"Snapshot {snapshot} of branch {full} takes the same partitions out, so that readers see these "
        "rows: `undo` brings those back first"
    )


def _taken_out(
    tables: WrittenTables, target: WriteTarget, branch: str, write: Any, made: Committed
) -> int | None:
    """The snapshot that takes them out; None if the branch has none of them."""
    root = branch_root(tables.files, target.root.table, branch)
    lineage = Lineage(tables.files, root)
    newest = lineage.latest_id()
    data = None if newest is None else read_if_there(tables.files, root.snapshot(newest))
    if newest is None or data is None:
        return None
    beside = replace(
        target,
        branch=root.branch,
        schema=lineage.require_schema().to_json().decode(),
        follows_main=False,
        commit_user=f"{target.commit_user}-chain",
        operation="delete-from",
        overwrite=False,
        dynamic=False,
        head=None,
        known=newest,
        after_commit=None,
    )
    taken = tables.opened(beside, "TableWrite", data.decode(), "NOTHING", False)
    taken.takeOutBeside(write, made.snapshot_json.decode())
    if taken.isEmpty():
        return None
    committed = LibraryCommit(tables.files, beside, taken).make()
    return None if committed is None else committed.snapshot.id
