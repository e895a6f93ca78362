"""The second commit of an overwrite of a chain table's delta branch: what leaves the snapshot branch.

Readers take a partition from the snapshot branch if that has it: there it would hide the new rows. So two
commits belong together. The entry of the first in the operation log says what the second has to do, before
either is made: if the writer dies in between, `recover` makes the second. Paimon's library would commit there
unseen; here it is an operation of its own, with its way back.
"""

from __future__ import annotations

from base64 import b64encode

from msgspec.structs import replace

from paimark.core.redaction import redacted
from paimark.core.spark.library.commit import Committed, LibraryCommit
from paimark.core.spark.library.written_table import WrittenTables
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.definition.kind_signs import chain_branches
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.manifests.files import delta_facts, snapshot_facts
from paimark.core.table.operations import AFTER_IT, Owed
from paimark.core.table.records import Snapshot, point_of


def rehearsed(tables: WrittenTables, target: WriteTarget, new: Snapshot) -> Owed | None:
    """What the snapshot branch is to lose after the commit that is about to be made.

    Raises `Refused` if the library refuses that: then the first commit would have no effect.
    """
    owed = _owed_by(tables.files, target, new)
    if owed is not None and (commit := _prepared(tables, target, owed)) is not None:
        commit.rehearse()
    return owed


def take_along(tables: WrittenTables, target: WriteTarget, made: Committed) -> str:
    """After a statement's commit to the delta branch. Returns what became of it, empty for nothing to do."""
    if (owed := made.changes.owed) is None:
        return ""
    try:
        commit = _prepared(tables, target, owed)
        committed = None if commit is None else commit.make()
    # Whatever failed: the rows are committed.
    except Exception as error:
        why = redacted(str(error).strip().split("\n")[0]).rstrip(".")
        return (
            f"The rows are committed, but branch {owed.branch} keeps the same partitions, and readers take "
            f"them from there: {why}. `paimark recover {target.root.table.word}` takes them out"
        )
    if committed is None:
        return ""
    return (
        f"Snapshot {committed.snapshot.id} of branch {owed.branch} takes the same partitions out, so that "
        "readers see these rows: `undo` brings those back first"
    )


def _owed_by(files: Files, target: WriteTarget, new: Snapshot) -> Owed | None:
    """What the snapshot branch has of the partitions that the commit changes; None for nothing.

    Actions write rows as a version had them: the snapshot branch stays as it is. Raises `NotFound`.
    """
    full, delta = chain_branches(target.table_schema.options)
    # Where nothing was to be replaced it is a plain commit.
    overwrites = target.overwrite or new.commit_kind == "OVERWRITE"
    if target.operation is None or not full or target.branch != delta or not overwrites:
        return None
    root = branch_root(files, target.root.table, full)
    if (head := Lineage(files, root).latest()) is None:
        return None
    changed = {each.key.partition for each in delta_facts(files, root.table, new)}
    found = changed & {each.key.partition for each in snapshot_facts(files, root.table, head)}
    if not found:
        return None
    return Owed(full, point_of(head), tuple(b64encode(each).decode() for each in sorted(found)))


def _prepared(tables: WrittenTables, target: WriteTarget, owed: Owed) -> LibraryCommit | None:
    """The commit that takes them out; None if the branch has none of them."""
    root = branch_root(tables.files, target.root.table, owed.branch)
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
        commit_user=f"{target.commit_user}-{AFTER_IT}",
        operation="delete-from",
        overwrite=False,
        dynamic=False,
        head=None,
        known=newest,
        after_commit=None,
    )
    taken = tables.opened(beside, "TableWrite", data.decode(), "NOTHING", False)
    taken.takeOutPartitions(list(owed.partitions))
    return None if taken.isEmpty() else LibraryCommit(tables.files, beside, taken)
