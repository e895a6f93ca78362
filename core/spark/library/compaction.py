"""Compact a table by Paimon's own library in Spark's tasks, always in a commit of its own.

A compaction makes the same rows of fewer files, and takes no file away: older snapshots have them. Beside
another one, the one that commits later begins anew.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from paimark.core.cancelling import check_cancelled
from paimark.core.errors import Refused
from paimark.core.quoting import shell_line
from paimark.core.redaction import redacted
from paimark.core.spark.library.commit import Committed, LibraryCommit, Outdated
from paimark.core.spark.library.written_table import WrittenTables, require_own_files
from paimark.core.spark.writing.target import WriteTarget, require_unchanged
from paimark.core.storage.files import read_if_there
from paimark.core.table.definition.kind_signs import hides_written_rows, is_on
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.operations import COMPACTION

# How often files are merged again while others replace them.
_TRIES = 5


class LibraryCompaction:
    """Compacts tables of a session's warehouse."""

    def __init__(self, tables: WrittenTables) -> None:
        self._tables = tables

    def show(self, target: WriteTarget, write: Any) -> str:
        """Compact the buckets of rows that were committed, in tables where nobody sees them before.

        `write` is Java's `TableWrite`. Returns why nobody sees them, and what helps; empty if they are seen.
        """
        schema, heal = target.table_schema, f"`{_command(target)}` shows them"
        # Those that replace others are compacted as they are written.
        if target.overwrite or not hides_written_rows(schema):
            return ""
        if is_on(schema.options, "write-only"):
            return f"Readers see the rows once a compaction has merged them (write-only = true): {heal}"
        follows = replace(
            target,
            commit_user=f"{target.commit_user}-compact",
            operation=None if target.operation is None else COMPACTION,
            statement=None,
            overwrite=False,
            head=None,
            after_commit=None,
        )
        try:
            self.compact(follows, is_full=False, only=write)
        # Whatever failed: the rows are committed.
        except Exception as error:
            why = redacted(str(error).strip().split("\n")[0]).rstrip(".")
            return f"The rows are committed, and no reader sees them: their compaction failed. {why}. {heal}"
        return ""

    def compact(
        self,
        target: WriteTarget,
        *,
        is_full: bool,
        partitions: Sequence[bytes] | None = None,
        only: Any = None,
    ) -> Committed | None:
        """Compact the root, or these partitions of it; None if there was nothing to do.

        `only` is Java's `TableWrite`: the buckets to which it brought files.

        Raises `Refused` if main or the table's schema has changed, or if others compact it each time; as
        `LibraryCommit.make`, and Spark's error of a task.
        """
        files, root = self._tables.files, target.root
        self._tables.require_reached(target)
        self._tables.require_safe(target)
        for _ in range(_TRIES):
            check_cancelled()
            require_unchanged(files, target)
            work = self._begun(target, is_full, partitions)
            if work is None:
                return None
            if only is not None:
                work.only(only)
            work.run()
            if work.isEmpty():
                return None
            require_own_files(files, root, work)
            try:
                return LibraryCommit(files, target, work).make()
            except Outdated:
                continue
        raise Refused(
            f"Others replaced files of {target.name} each of the {_TRIES} times that it was compacted",
            "Nothing was committed. Pause the job that compacts it, or leave the work to that.",
        )

    def _begun(self, target: WriteTarget, is_full: bool, partitions: Sequence[bytes] | None) -> Any:
        """Java's `Compaction` of the root as it is now; None if it has no snapshot."""
        files, root = self._tables.files, target.root
        newest = Lineage(files, root).latest_id()
        data = None if newest is None else read_if_there(files, root.snapshot(newest))
        if data is None:
            return None
        work = self._tables.opened(target, "Compaction", data.decode(), is_full)
        if partitions is not None:
            work.only(" ".join(b64encode(each).decode() for each in partitions))
        return work


def _command(target: WriteTarget) -> str:
    branch = [] if target.follows_main or target.branch is None else ["--branch", target.branch]
    return shell_line(["paimark", "compact", target.root.table.word, *branch])
