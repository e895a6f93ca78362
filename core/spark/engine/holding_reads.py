"""Keeps the snapshots that a statement reads from expiring under it, where that statement takes long.

A statement that has run for a second gets a tag for each of its snapshots, which every engine's expiry
honours and which goes with the statement. Most statements are over before, and write nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from msgspec.structs import replace

from core.errors import FileMissing, PaimarkError, StatementFailed
from core.spark.engine.tables import OpenedTable
from core.spark.protocol import ParentGone, Reading
from core.storage.files import Files
from core.table.layout import Root
from core.table.lineage.lineage import Lineage
from core.table.read_tags import TIME_TO_LIVE_MS, is_left_over, is_read_tag, read_tag_name
from core.table.records import Snapshot
from core.table.tag_times import with_time_to_live

_WORTH_IT_SECONDS = 1.0
_RENEWED_SECONDS = TIME_TO_LIVE_MS / 1000 / 6
_END_SECONDS = 10.0
_READ_ONLY = "Not protected from expiry, in read-only mode."

Tell = Callable[[Reading], None]


class Held(NamedTuple):
    """A snapshot that is read."""

    root: Root
    snapshot_id: int


class HeldReads:
    """What one engine holds. `held` in one thread at a time; `end` from any."""

    def __init__(self, files: Files, read_only: bool) -> None:
        self._files = files
        self._is_read_only = read_only
        self._lock = threading.Lock()
        self._tags: dict[str, Held] = {}

    @contextmanager
    def held(self, read: Mapping[Held, Reading], tell: Tell) -> Iterator[None]:
        """While inside, after a second, what they read is kept. Raises `StatementFailed` for what was lost.

        `tell` gets the tables again, with a note, that can't be protected; from another thread.
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
                if not self._is_there(each):
                    raise StatementFailed(
                        f"Snapshot {each.snapshot_id} of {reading.table} expired while it was read",
                        "Run the statement again, or read a savepoint or a tag.",
                    ) from error
            raise
        finally:
            over.set()
            if worker.ident is not None:
                worker.join(_END_SECONDS)
                self.end()

    def end(self) -> None:
        """Keep nothing any more."""
        with self._lock:
            tags, self._tags = self._tags, {}
        for path, held in tags.items():
            with suppress(PaimarkError):
                if not self._files.exists(held.root.snapshot(held.snapshot_id)):
                    # What only this tag keeps by now needs more than its file deleted: `recover` frees it.
                    free = held.root.tag(read_tag_name(held.snapshot_id, is_over=True))
                    self._files.create(free, self._files.read(path))
                self._files.delete(path)

    def reading(self, table: OpenedTable) -> Reading:
        """What is told of a table before it is read."""
        if not self._is_read_only or _held(table) is None:
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
                    tell(_noted(reading, f"Not protected from expiry: {error.message}."))
        for root in {each.root for each in read}:
            with suppress(PaimarkError):
                self._tidy(root)
        while not over.wait(_RENEWED_SECONDS):
            self._renew()

    def _take(self, held: Held) -> None:
        source = held.root.snapshot(held.snapshot_id)
        path = held.root.tag(read_tag_name(held.snapshot_id))
        try:
            data = self._files.read(source)
        except FileMissing:
            # Expired already: whoever reads it finds out.
            return
        with self._lock:
            self._tags[path] = held
        self._files.create(path, with_time_to_live(data, _now(), TIME_TO_LIVE_MS))
        # Too late where an expiry that listed the tags before is deleting, or the statement is over.
        is_late = not self._files.exists(source)
        with self._lock:
            if is_late:
                self._tags.pop(path, None)
            is_late = path not in self._tags
        if is_late:
            self._files.delete(path)

    def _renew(self) -> None:
        with self._lock:
            paths = list(self._tags)
        for path in paths:
            with suppress(PaimarkError):
                self._files.replace(path, with_time_to_live(self._files.read(path), _now(), TIME_TO_LIVE_MS))

    def _tidy(self, root: Root) -> None:
        """Remove what readers that died have left, where nothing else depends on it."""
        lineage = Lineage(self._files, root)
        for name in filter(is_read_tag, lineage.tag_names()):
            tag = lineage.tag(name)
            if is_left_over(name, tag, _now()) and lineage.has_snapshot(tag.id):
                self._files.delete(root.tag(name))

    def _is_there(self, held: Held) -> bool:
        with self._lock:
            if held in self._tags.values():
                return True
        try:
            return self._files.exists(held.root.snapshot(held.snapshot_id))
        except PaimarkError:
            return True


def snapshots_read(tables: Sequence[OpenedTable]) -> dict[Held, Reading]:
    """The snapshots of a statement's tables that nothing keeps which it asked for."""
    return {held: table.reading for table in tables if (held := _held(table)) is not None}


def _held(table: OpenedTable) -> Held | None:
    """None for a table read at a tag or a savepoint, and for one without rows."""
    scan = table.scan
    if scan is None or not scan.snapshot or not table.reading.version.startswith("snapshot."):
        return None
    return Held(scan.root, Snapshot.from_json(scan.snapshot.encode(), "the scan").id)


def _noted(reading: Reading, note: str) -> Reading:
    return replace(reading, note=f"{reading.note} {note}".strip())


def _now() -> int:
    return time.time_ns() // 1_000_000
