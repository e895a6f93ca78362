"""Detect a snapshot that came too late: its id had been used and had expired while this process was stopped.

Expiry frees the name, so a file can be created there again, below snapshots that do not build on it. The rows
of such a commit would be lost. But a commit in time can look the same a moment later, if others have built on
it, and the snapshots around it have expired.

Or the snapshot that it is built on was cut off, and it would bring back what was in that. Or the table was
moved away, or another branch is main, so that nobody would read it.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import NamedTuple, Self

from paimark.core.redaction import redacted
from paimark.core.spark.writing.target import WriteTarget
from paimark.core.storage.files import Files, Unanswered, read_if_there
from paimark.core.table.commits import states_since
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_branch_name
from paimark.core.table.manifests.files import delta_facts, names_any, snapshot_facts
from paimark.core.table.operations import Owed
from paimark.core.table.records import Snapshot, is_same_commit


class FileChanges(NamedTuple):
    """The names of the data files that a commit adds and deletes, and the records in them.

    `owed` is what another branch is to lose after it.
    """

    added: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    records_added: int = 0
    records_removed: int = 0
    owed: Owed | None = None

    @classmethod
    def of_snapshot(cls, files: Files, table: TablePath, snapshot: Snapshot) -> Self:
        """From the manifests that a snapshot is about to bring. Raises `FileMissing` and `Corrupt`."""
        listed = list(delta_facts(files, table, snapshot))
        added = [facts for facts in listed if facts.is_added]
        deleted = [facts for facts in listed if not facts.is_added]
        return cls(
            frozenset(facts.name for facts in added),
            frozenset(facts.name for facts in deleted),
            sum(facts.rows for facts in added),
            sum(facts.rows for facts in deleted),
        )


def came_too_late(
    files: Files, root: Root, snapshot_id: int, changes: FileChanges, before: Snapshot | None = None
) -> bool:
    """Whether the snapshot that was just created, on the one `before`, came too late.

    Raises `Unanswered` if that is unknown.
    """
    lineage = Lineage(files, root)
    path = root.snapshot(snapshot_id - 1)
    previous = read_if_there(files, path) if snapshot_id > 1 else None
    is_cut_off = False
    if previous is not None:
        is_cut_off = before is not None and not is_same_commit(Snapshot.from_json(previous, path), before)
        # The oldest expire first: while the one before exists, no snapshot with this id has expired.
        if not is_cut_off:
            return False
    # In this order: if there is a newer snapshot, there was a next one; if that is missing, it has expired.
    newest = lineage.latest_id() or 0
    if newest <= snapshot_id:
        is_late = is_cut_off or newest < snapshot_id or _is_left(files, root)
        # What is cut off goes from the newest on: had this one been there in time, it would be gone.
        return is_late and lineage.has_snapshot(snapshot_id)
    path = root.snapshot(snapshot_id + 1)
    if (data := read_if_there(files, path)) is not None:
        return not _is_built_on(files, root, Snapshot.from_json(data, path), changes)
    if lineage.has_snapshot(snapshot_id):
        # The expiry of the next one would have deleted this one first, so it was created later.
        return True
    if any(names_any(files, root.table, each, changes.added) for each in states_since(lineage, snapshot_id)):
        return False
    raise Unanswered(
        f"Snapshot {snapshot_id} of {root.table.full_name} expired as soon as it was created",
        "Look at the rows before you run it again.",
    )


def _is_left(files: Files, root: Root) -> bool:
    """Whether the root is gone, or is the table directory while a branch is main."""
    return not files.names(root.schemas) or (
        root.branch is None and main_branch_name(files, root.table) is not None
    )


def _is_built_on(files: Files, root: Root, following: Snapshot, changes: FileChanges) -> bool:
    """Whether the next snapshot builds on the commit: it names added files, or lacks the deleted ones."""
    if changes.added:
        return names_any(files, root.table, following, changes.added)
    live = snapshot_facts(files, root.table, following)
    return not any(each.name in changes.deleted for each in live)


_LOG = logging.getLogger(__name__)


# The step makes a savepoint if one is due by the table's options. That is an action, in a layer above this.
# A function can't be passed to Spark's workers, so the target has its name.
def after_commit(target: WriteTarget) -> None:
    """Run the target's step after its commit. Call it once per commit; it never raises.

    A failure is only logged: with an error Spark would assume that nothing was committed.
    """
    if target.after_commit is None:
        return
    module, _, name = target.after_commit.partition(":")
    try:
        message = getattr(import_module(module), name)(target.warehouse, target.options, target.root)
    except Exception as error:
        _LOG.warning(
            "The rows were committed to %s, but what should follow failed: %s",
            target.name,
            redacted(str(error)),
        )
    else:
        if message:
            _LOG.info(message)
