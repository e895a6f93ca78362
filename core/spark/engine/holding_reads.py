"""Protect what a long statement reads: from expiry, and from the deletion of its tag or savepoint.

After a second, each version that a running statement reads gets a read tag, which every engine's expiry
respects. The tags are deleted at the end of the statement. Most statements take less than a second, and write
none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from msgspec.structs import replace

from paimark.core.errors import FileMissing, NotFound, PaimarkError, Refused, StatementFailed
from paimark.core.spark.engine.tables import OpenedTable
from paimark.core.spark.protocol import ParentGone, Reading
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import BARRIER_ID, SAVEPOINT_TAG_PREFIX, TAG_PREFIX, Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots, has_schema, root_exists
from paimark.core.table.manifests.files import has_lists
from paimark.core.table.read_tags import (
    TIME_TO_LIVE_MS,
    is_read_tag,
    is_stale,
    read_tag_name,
    with_time_to_live,
)
from paimark.core.table.records import Snapshot, is_same_commit

_WORTH_IT_SECONDS = 1.0
_RENEWED_SECONDS = TIME_TO_LIVE_MS / 1000 / 6
_END_SECONDS = 10.0
_READ_ONLY = "Not protected from expiry, in read-only mode."

Tell = Callable[[Reading], None]


class Held(NamedTuple):
    """A version that a statement reads. `tag` is the name of the tag by which it does, as of a savepoint."""

    root: Root
    snapshot_id: int
    tag: str = ""

    @property
    def path(self) -> str:
        """The file without which nobody finds the version any more."""
        return self.root.tag(self.tag) if self.tag else self.root.snapshot(self.snapshot_id)


class HeldReads:
    """The read tags of one engine. `held` is for one thread at a time; any thread may call `end`."""

    def __init__(self, files: Files, read_only: bool) -> None:
        self._files = files
        self._is_read_only = read_only
        self._lock = threading.Lock()
        self._tags: dict[str, Held] = {}

    @contextmanager
    def held(self, read: Mapping[Held, Reading], tell: Tell) -> Iterator[None]:
        """Within the context, after a second, the versions are protected.

        Raises `StatementFailed` for one that went meanwhile. Another thread calls `tell`, with a note, for
        each table that can't be protected.
        """
        over = threading.Event()
        worker = threading.Thread(target=self._hold, args=(read, over, tell), name="held reads", daemon=True)
        if read and not self._is_read_only:
            worker.start()
        try:
            yield
        except ParentGone:
            raise
        except Exception as error:
            for each, reading in read.items():
                if why := self._why_gone(each, reading.table):
                    hint = "Run the statement again, or read another savepoint or tag."
                    raise StatementFailed(f"{why} while it was read", hint) from error
            raise
        finally:
            over.set()
            if worker.ident is not None:
                worker.join(_END_SECONDS)
                self.end()

    def end(self) -> None:
        """Delete all read tags. Any thread may call this."""
        with self._lock:
            tags, self._tags = self._tags, {}
        for path, held in tags.items():
            with suppress(PaimarkError):
                self._drop(path, held)

    def reading(self, table: OpenedTable) -> Reading:
        """The report on a table before it is read."""
        held = _held(table)
        if not self._is_read_only or held is None or held.tag:
            return table.reading
        return _noted(table.reading, _READ_ONLY)

    def _hold(self, read: Mapping[Held, Reading], over: threading.Event, tell: Tell) -> None:
        if over.wait(_WORTH_IT_SECONDS):
            return
        for each, reading in read.items():
            try:
                self._take(each)
            except PaimarkError as error:
                with suppress(ParentGone):
                    from_what = "deletion" if each.tag else "expiry"
                    tell(_noted(reading, f"Not protected from {from_what}: {error.message}."))
        for root in {each.root for each in read}:
            with suppress(PaimarkError):
                self._tidy(root)
        while not over.wait(_RENEWED_SECONDS):
            self._renew()

    def _take(self, held: Held) -> None:
        path = held.root.tag(read_tag_name(held.snapshot_id))
        try:
            data = self._files.read(held.path)
        except FileMissing:
            # It went already: the statement's read will fail.
            return
        if self._is_going(held.root):
            return
        with self._lock:
            self._tags[path] = held
        try:
            self._files.create(path, with_time_to_live(data, _now(), TIME_TO_LIVE_MS))
        except Refused:
            # Nothing was sent. A store that is never changed gets no request to delete it either.
            with self._lock:
                self._tags.pop(path, None)
            raise
        # The tag is too late if an expiry had listed the tags before it.
        if self._is_going(held.root) or (not self._exists(held) and not self._is_whole(held, data)):
            with self._lock:
                self._tags.pop(path, None)
        self._drop_if_over(path, held)

    def _renew(self) -> None:
        with self._lock:
            tags = dict(self._tags)
        for path, held in tags.items():
            with suppress(PaimarkError):
                self._files.replace(path, with_time_to_live(self._files.read(path), _now(), TIME_TO_LIVE_MS))
                if self._is_going(held.root):
                    with self._lock:
                        self._tags.pop(path, None)
                self._drop_if_over(path, held)

    def _drop_if_over(self, path: str, held: Held) -> None:
        """Drop a tag just written if nobody else will: `end` may have looked for the file before it came."""
        with self._lock:
            is_over = path not in self._tags
        if is_over:
            self._drop(path, held)

    def _drop(self, path: str, held: Held) -> None:
        """Delete a tag. If only it keeps the files of its snapshot, `recover` gets a tag that is over."""
        data = read_if_there(self._files, path)
        if data is None and (root := self._root_now(path, held)) is not None:
            held = held._replace(root=root)
            path = root.tag(path.rpartition(TAG_PREFIX)[2])
            data = read_if_there(self._files, path)
        if data is not None:
            is_given = self._give(held, data)
            self._files.delete(path)
            if not is_given:
                # An expiry that spared the files for this tag may have deleted the snapshot just now.
                self._give(held, data)
        if held.root.branch is not None and not root_exists(self._files, held.root):
            # The branch was deleted before the tag. Empty directories would be taken for a branch.
            self._files.prune(held.root.directory)

    def _root_now(self, path: str, held: Held) -> Root | None:
        """The root that a tag went to: a branch that was renamed takes its tags along. None if it is gone."""
        name = path.rpartition(TAG_PREFIX)[2]
        roots = all_roots(self._files, held.root.table)
        return next((each for each in roots if self._files.exists(each.tag(name))), None)

    def _give(self, held: Held, data: bytes) -> bool:
        """Create a tag that is over if the snapshot expired and its files are there; return whether it is.

        `recover` deletes that tag with the files.
        """
        tag = Snapshot.from_json(data, "a read tag")
        if self._is_commit(held.root.snapshot(tag.id), tag) or self._is_commit(held.path, tag):
            return False
        if not self._is_whole(held, data) or self._is_going(held.root):
            return False
        path = held.root.tag(read_tag_name(held.snapshot_id, is_over=True))
        self._files.create(path, data)
        if self._is_going(held.root):
            self._files.delete(path)
            return False
        return True

    def _is_going(self, root: Root) -> bool:
        """Whether a branch is deleted or marked for it: a tag written now could outlive its schemas.

        A tag alone would make it a branch again, and stock orphan cleaning fails on one without a schema.
        A deletion that marks the branch later finds the tag.
        """
        if root.branch is None:
            return False
        return self._files.exists(root.snapshot(BARRIER_ID)) or not has_schema(self._files, root)

    def _tidy(self, root: Root) -> None:
        """Delete read tags of dead readers, unless only the tag still keeps its snapshot."""
        lineage = Lineage(self._files, root)
        for name in filter(is_read_tag, lineage.tag_names()):
            with suppress(NotFound):
                # A read that ends deletes its own.
                tag = lineage.tag(name)
                if is_stale(name, tag, _now()) and self._is_commit(root.snapshot(tag.id), tag):
                    self._files.delete(root.tag(name))

    def _is_commit(self, path: str, tag: Snapshot) -> bool:
        """Whether a file is there, and is of the commit of a read tag. Rollbacks give its id to others."""
        there = read_if_there(self._files, path)
        return there is not None and is_same_commit(Snapshot.from_json(there, path), tag)

    def _exists(self, held: Held) -> bool:
        return self._files.exists(held.path)

    def _is_whole(self, held: Held, data: bytes) -> bool:
        """Whether an expired snapshot's files are there, because the expiry knew its tag."""
        return has_lists(self._files, held.root.table, Snapshot.from_json(data, "a read tag"))

    def _why_gone(self, held: Held, table: str) -> str:
        """What became of a version; empty if it is there, or nobody knows."""
        root = held.root
        try:
            if not has_schema(self._files, root) or self._is_going(root):
                return f"{table} was {'dropped or renamed' if root.branch is None else 'deleted or renamed'}"
            with self._lock:
                paths = [path for path, each in self._tags.items() if each == held]
            if any(map(self._files.exists, [held.path, *paths])):
                return ""
        except PaimarkError:
            return ""
        if not held.tag:
            return f"Snapshot {held.snapshot_id} of {table} expired"
        number = held.tag.removeprefix(SAVEPOINT_TAG_PREFIX)
        return f"{f'Tag {number}' if number == held.tag else f'Savepoint {number}'} of {table} was deleted"


def versions_read(tables: Sequence[OpenedTable]) -> dict[Held, Reading]:
    """The versions that a statement's tables are read at."""
    return {held: table.reading for table in tables if (held := _held(table)) is not None}


def _held(table: OpenedTable) -> Held | None:
    """The version that a table is read at; None for a table without rows."""
    scan = table.scan
    if scan is None or not scan.snapshot:
        return None
    number = Snapshot.from_json(scan.snapshot.encode(), "the scan").id
    is_snapshot = table.version in (f"now/{number}", f"snapshot.{number}")
    return Held(scan.root, number, "" if is_snapshot else table.version)


def _noted(reading: Reading, note: str) -> Reading:
    return replace(reading, note=f"{reading.note} {note}".strip())


def _now() -> int:
    return time.time_ns() // 1_000_000
