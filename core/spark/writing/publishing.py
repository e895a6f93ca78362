"""Publish the snapshot that Paimon's library prepared: all that a commit of ours does around its one write.

The store guarantees that a snapshot's file is complete, and that only one writer creates it.
"""

from __future__ import annotations

from collections.abc import Callable

from paimark.core.errors import PaimarkError, Refused, Unavailable
from paimark.core.spark.writing.late_commit import FileChanges, came_too_late
from paimark.core.spark.writing.write_log import WriteLog
from paimark.core.storage.files import Files, NotWritten
from paimark.core.table.commits import Overwritten, settle
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import Snapshot


class _NotAnnounced(Unavailable):
    """The commit was not tried, because the operation log can't be written."""


class Publisher:
    """Publishes one commit, which may take several tries.

    `file_changes` are the files that the next snapshot adds and deletes, `before` is the one it is built on.
    After a failure `may_have_landed` tells whether it may be committed all the same. `refused` is why there
    must be no other try.
    """

    def __init__(
        self,
        files: Files,
        root: Root,
        require: Callable[[], None] = lambda: None,
        log: WriteLog | None = None,
        was_taken_back: Callable[[], bool] = lambda: False,
    ) -> None:
        """`require` raises `Refused` if nothing may be committed any more.

        `was_taken_back` tells right after the commit whether somebody was told meanwhile that there is none.
        """
        self._files = files
        self._root = root
        self._require = require
        self._log = log
        self._was_taken_back = was_taken_back
        self.may_have_landed = False
        # Kept here, because the libraries would try again after any error.
        self.refused: PaimarkError | None = None
        self.snapshot_json: bytes | None = None
        self.file_changes = FileChanges()
        self.before: Snapshot | None = None

    def publish(self, snapshot_id: int, data: bytes) -> bool:
        """Create the snapshot's file. False if the newest is not the one before it any more, and if `refused`
        says why.
        """
        if (Lineage(self._files, self._root).latest_id() or 0) != snapshot_id - 1:
            return False
        path, was_unsure = self._root.snapshot(snapshot_id), self.may_have_landed
        try:
            self._require()
            self._announce(data)
            # True until the store has answered.
            self.may_have_landed = True
            is_created = self._files.create(path, data)
        except (Refused, _NotAnnounced) as error:
            # Nothing was written.
            self.may_have_landed, self.refused = was_unsure, error
            return False
        except NotWritten as error:
            self.may_have_landed = was_unsure
            raise Unavailable(
                f"The commit can't be written: {error.message}", f"Nothing was committed. {error.hint}"
            ) from error
        if is_created and came_too_late(self._files, self._root, snapshot_id, self.file_changes, self.before):
            self._files.delete_own(path, lambda there: there == data)
            if not self._files.names(self._root.schemas):
                # It was deleted or moved away, and must not remain as empty directories.
                self._files.prune(self._root.directory)
            is_created = False
        if is_created and self._was_taken_back():
            self._withdraw(snapshot_id, data)
        if not is_created:
            self.may_have_landed = was_unsure
            return False
        return self.accept(snapshot_id, data)

    def _withdraw(self, snapshot_id: int, data: bytes) -> None:
        """Delete the snapshot's file. Its other files stay, because others may just be building on it."""
        if (Lineage(self._files, self._root).latest_id() or 0) <= snapshot_id:
            self._files.delete_own(self._root.snapshot(snapshot_id), lambda there: there == data)
        raise Unavailable(
            f"Another process took back this change of {self._root.table.full_name}",
            "Look at the table before you try again.",
        )

    def accept(self, snapshot_id: int, data: bytes) -> bool:
        """The snapshot's file was created, or is found there. False if it was overwritten: see `refused`."""
        try:
            settle(self._files, self._root, snapshot_id, data)
        except Overwritten as error:
            self.refused = error
            return False
        self.snapshot_json = data
        if self._log is not None:
            self._log.confirm()
        return True

    def _announce(self, data: bytes) -> None:
        if self._log is None:
            return
        try:
            self._log.begin(self.before, Snapshot.from_json(data, "the commit"), self.file_changes)
        except PaimarkError as error:
            raise _NotAnnounced(
                f"The commit can't be written into the operation log: {error.message}", error.hint
            ) from error

    def forget(self) -> None:
        """Take back what announced the commit: it was not made, and never will be."""
        if self._log is not None:
            self._log.forget()
