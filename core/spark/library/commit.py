"""The commit of rows that Paimon's library wrote: the library prepares it, and Paimark publishes it.

Each try has an object of its own in Java, `Committing`. It prepares manifests and a snapshot on the snapshot
that it is given, and waits. Only the file that `Publisher` creates makes the commit. Then the library does
what follows a commit: Iceberg metadata, callbacks.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from paimark.core.cancelling import check_cancelled, to_the_end
from paimark.core.errors import Outrun, PaimarkError, Refused, Unavailable, before_commit
from paimark.core.redaction import redacted
from paimark.core.spark.stores.access import innermost
from paimark.core.spark.writing.late_commit import FileChanges
from paimark.core.spark.writing.publishing import Publisher
from paimark.core.spark.writing.target import (
    WriteTarget,
    has_moved,
    require_head,
    require_lock,
    require_unchanged,
    was_taken_back,
)
from paimark.core.spark.writing.write_log import write_log
from paimark.core.storage.files import Files, Unanswered, read_if_there
from paimark.core.storage.open import require_conditions
from paimark.core.table.commits import Overwritten, note_last, require_last_commit
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.notes import with_note
from paimark.core.table.operations import Owed
from paimark.core.table.records import Snapshot

# The library's 10 tries would be used up within seconds beside a job that commits all the time.
_RETRIES, _MOST_WAIT_MS = 100, 1000
_POLL_MS = 100
# What the library says if files are gone that a commit replaces, or others are where its files belong.
_OUTDATED = ("File deletion conflicts detected", "LSM conflicts detected", "have encountered conflicts")
# What it says of files for buckets that a partition does not have yet.
_RESCALED = "Total buckets of partition"
_ADVICE = "Nothing has changed. Run it again, or raise the table's option commit.max-retries."


class Outdated(Outrun):
    """Others replaced meanwhile the files that this commit is to replace. Nothing was committed."""


class Committed(NamedTuple):
    """A commit: the content of its snapshot's file, and what failed of the work that follows a commit.

    `unseen` says why no reader sees its rows, and what helps; or what else was committed along with it.
    """

    snapshot_json: bytes
    changes: FileChanges
    remark: str = ""
    unseen: str = ""

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot.from_json(self.snapshot_json, "the commit")


class _Latest(NamedTuple):
    """The newest snapshot. `data` is the content of its file."""

    data: str
    record: Snapshot


class LibraryCommit:
    """One commit, in several tries if others commit meanwhile. `write` is Java's `TableWrite`.

    If it fails with `may_have_landed`, it may be committed all the same: then its files must stay.
    """

    def __init__(
        self, files: Files, target: WriteTarget, write: Any, publisher: Publisher | None = None
    ) -> None:
        self._files = files
        self._target = target
        self._write = write
        require = partial(require_lock, files, target)
        self._publisher = publisher or Publisher(
            files, target.root, require, write_log(files, target), partial(was_taken_back, files, target)
        )
        # Of a snapshot that is about to be published: what another branch is to lose after it.
        self.owed: Callable[[Snapshot], Owed | None] = lambda new: None

    @property
    def may_have_landed(self) -> bool:
        return self._publisher.may_have_landed

    def make(self) -> Committed | None:
        """Commit; None if there was nothing to commit. If it fails, the tasks' files are deleted.

        Raises `Refused` if main, the table's schema or (with `head`) its newest snapshot has changed, or if
        others commit all the time. Raises `Unanswered` if it is unknown whether it was committed, and
        `Overwritten`: then the files stay.
        """
        try:
            require_last_commit(self._files, self._target.root)
            made = self._tried()
        except BaseException as error:
            if self.may_have_landed:
                if isinstance(error, Overwritten) or not isinstance(error, Exception):
                    raise
                raise Unanswered(
                    f"It is not known whether the rows were committed to {self._target.name}: {error}",
                    "Look at the rows before you run it again.",
                ) from error
            with before_commit():
                with to_the_end():
                    self._publisher.forget()
                    self._write.delete()
                raise
        if made is not None:
            note_last(self._files, self._target.root, made.snapshot.id, made.snapshot_json)
        return made

    def rehearse(self) -> None:
        """Raises `Refused` if the library would not prepare it now. Nothing is committed."""
        attempt = _Attempt(self._write, self._target.name, self._latest(), is_fast=False)
        if attempt.prepared():
            attempt.give_up(clean=True)

    def _tried(self) -> Committed | None:
        began, tries = time.monotonic(), 0
        while True:
            check_cancelled()
            require_conditions(self._files)
            # At each try, because a commit that lost a race is tried again on the winner's snapshot.
            require_unchanged(self._files, self._target)
            latest = self._latest()
            self._require_new(latest and latest.record)
            require_head(self._files, self._target, latest and latest.record)
            self._require_room(latest)
            self._require_same_buckets(latest)
            attempt = _Attempt(self._write, self._target.name, latest, is_fast=tries > 0)
            if not attempt.prepared():
                return None
            if committed := self._published(attempt, latest):
                return committed
            tries += 1
            seconds = time.monotonic() - began
            if tries > self._retries or seconds * 1000 > self._write.commitTimeout():
                raise Refused(
                    f"Others committed to {self._target.name} each time that this write tried to", _ADVICE
                )
            self._wait(tries)

    def _require_new(self, latest: Snapshot | None) -> None:
        """Raises an error of its own if another process made this very commit, up to that snapshot."""

    def _latest(self) -> _Latest | None:
        """The newest snapshot, and that very file's content: the library stands on it."""
        root = self._target.root
        record = Lineage(self._files, root).latest()
        if record is None:
            return None
        path = root.snapshot(record.id)
        data = read_if_there(self._files, path)
        if data is None or Snapshot.from_json(data, path) != record:
            raise Refused(
                f"Snapshots of {self._target.name} were taken away while its rows were committed",
                "Nothing was committed: start again.",
            )
        return _Latest(data.decode(), record)

    def _require_room(self, latest: _Latest | None) -> None:
        """Raises `Refused` if others committed what can't stay beside the rows of an overwrite."""
        if latest is not None and self._write.isOutrun(latest.data):
            assert self._target.head
            head = Snapshot.from_json(self._target.head.encode(), "the target")
            raise has_moved(self._target, head.id, latest.record.id)

    def _require_same_buckets(self, latest: _Latest | None) -> None:
        if self._write.hasOtherBuckets(latest and latest.data):
            raise Refused(
                f"Another writer gave keys of {self._target.name} their buckets while these "
                "rows were written",
                "Nothing has changed. Run it again, while no other job writes to the table.",
            )

    def _published(self, attempt: _Attempt, latest: _Latest | None) -> Committed | None:
        """Publish what the library prepared. None if another commit came first."""
        publisher = self._publisher
        try:
            prepared = Snapshot.from_json(attempt.snapshot_json, "the commit")
            snapshot = with_note(prepared, self._target.note)
            data = snapshot.to_json()
            changes = FileChanges.of_snapshot(self._files, self._target.root.table, snapshot)
            changes = changes._replace(owed=self.owed(snapshot))
            publisher.before, publisher.file_changes = latest and latest.record, changes
            is_published = self._publish(snapshot.id, data)
        except BaseException:
            attempt.give_up(clean=not self.may_have_landed)
            raise
        if is_published:
            return Committed(data, changes, attempt.followed())
        attempt.give_up(clean=not self.may_have_landed)
        if publisher.refused is not None:
            raise publisher.refused
        return None

    def _publish(self, snapshot_id: int, data: bytes) -> bool:
        """As the publisher; the store may have done what it gave no answer to."""
        try:
            return self._publisher.publish(snapshot_id, data)
        except (PaimarkError, OSError):
            if not self.may_have_landed:
                raise
            if read_if_there(self._files, self._target.root.snapshot(snapshot_id)) != data:
                raise
        return self._publisher.accept(snapshot_id, data)

    @property
    def _retries(self) -> int:
        named: int = self._write.commitRetries()
        return _RETRIES if named < 0 else named

    def _wait(self, tries: int) -> None:
        named: int = self._write.commitMostWait()
        most = _MOST_WAIT_MS if named < 0 else named
        millis = min(self._write.commitLeastWait() * 2 ** min(tries - 1, 20), most)
        end = time.monotonic() + millis * random.uniform(1, 1.2) / 1000
        while (left := end - time.monotonic()) > 0:
            check_cancelled()
            time.sleep(min(left, _POLL_MS / 1000))


class _Attempt:
    """One try of the library."""

    def __init__(self, write: Any, name: str, latest: _Latest | None, *, is_fast: bool) -> None:
        self._name = name
        self._java = write.committing(latest and latest.data, is_fast)
        self.snapshot_json = b""

    def prepared(self) -> bool:
        """Wait for the library. False if there is nothing to commit. Raises `Refused`, `Unavailable`."""
        try:
            while not self._java.isReady(_POLL_MS):
                check_cancelled()
        except BaseException:
            self.give_up(clean=True)
            raise
        data = self._java.snapshot()
        if data is None:
            if (failure := self._java.failure()) is not None:
                raise _error_of(self._name, failure)
            return False
        self.snapshot_json = str(data).encode()
        return True

    def followed(self) -> str:
        """Let the library do what follows the commit. Returns what failed of it, empty for nothing."""
        failure = self._java.landed()
        return "" if failure is None else _text_of(failure)

    def give_up(self, *, clean: bool) -> None:
        """`clean`: the snapshot was not published, and never will be."""
        if clean:
            self._java.lost()
        else:
            self._java.leave()


def _text_of(failure: Any) -> str:
    cause = innermost(failure)
    text = str(cause.getMessage() or cause.toString())
    return redacted(text.strip().split("\n")[0].rstrip("."))


def _all_texts(failure: Any) -> Iterator[str]:
    """What it says, and what each of its causes says."""
    while failure is not None:
        yield str(failure.getMessage())
        failure = failure.getCause()


def other_buckets(name: str) -> Refused:
    return Refused(
        f"Rows would go to partitions of {name} with another number of buckets than it has now",
        "INSERT OVERWRITE the partitions with their own rows first.",
    )


def _error_of(name: str, failure: Any) -> PaimarkError:
    """What the library says, after our own words."""
    text, kind = _text_of(failure), str(innermost(failure).getClass().getName())
    if kind.startswith("java.io.") or "No space left" in text:
        return Unavailable(f"The commit can't be prepared: {text}", "Nothing was committed.")
    if text.startswith(_RESCALED):
        return other_buckets(name)
    if any(said in each for each in _all_texts(failure) for said in _OUTDATED):
        return Outdated(
            f"Others replaced files of {name} meanwhile, as a compaction does",
            "Nothing was committed: start again.",
        )
    return Refused(f"Paimon does not commit the rows: {text}", "Nothing was committed.")
