"""Tab 1: the commits of a branch, newest first."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from typing import ClassVar

import msgspec
from textual import events
from textual.timer import Timer

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.errors import PaimarkError
from paimark.core.table.layout import SAVEPOINT_TAG_PREFIX, Root, in_order_of_makers, number_in
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.notes import note_of
from paimark.core.table.records import Snapshot
from paimark.core.table.rows import SnapshotRow
from paimark.tui.messages import LogLineAdded
from paimark.tui.named_keys import key
from paimark.tui.panes.pane import Desk, PaneRows
from paimark.tui.panes.record_pane import COUNTED, RecordPane
from paimark.tui.records.sources import (
    CommitKey,
    GridColumn,
    RecordKey,
    Records,
    commit_of,
    commit_of_row,
    has_moved,
    snapshot_key,
    user_cell,
)
from paimark.tui.session import PAGE, Opened, Session
from paimark.tui.widgets.detail_strip import Detail, Fact, described
from paimark.tui.work.background import Slot, ThreadReport

# Rows read at a time when all are read: small enough to show progress, and to stop soon if unwanted.
_CHUNK = 20_000
# How long the cursor rests on a row before the whole record is read, so that a held key reads nothing.
_REST = 0.05
# If a slow store has not answered by then, the facts of the row itself are shown.
_LATE = 0.4

# A record's key, and the record read in full.
Whole = tuple[RecordKey, Snapshot]
# The tags that keep each snapshot, savepoints first.
KeptBy = Mapping[CommitKey, tuple[str, ...]]


class Fingerprint(msgspec.Struct, frozen=True):
    """`commits` differs if there are other rows, `tags` if the tags have changed."""

    commits: Hashable
    tags: Hashable


class Marks(msgspec.Struct, frozen=True):
    """`tags` is the fingerprint of the tags before they were read."""

    root: Root
    tags: Hashable
    kept_by: KeptBy


class SnapshotRows(Records[SnapshotRow]):
    """The commits of a root, newest first, and the tags that keep some of them."""

    def __init__(self, root: Root, records: Sequence[SnapshotRow], kept_by: KeptBy) -> None:
        super().__init__(records, self._values_of, lambda row: snapshot_key(root, commit_of_row(row)))
        self._kept_by = kept_by
        self._kept_ids = {commit.id for commit in kept_by}

    def find(self, key: Hashable) -> int | None:
        if not isinstance(key, RecordKey) or not isinstance(key.made, CommitKey):
            return None
        index = self.find_id(key.made.id)
        is_it = index is not None and (self.key(index) == key or has_moved(key, self.key(index)))
        return index if is_it else None

    def find_id(self, snapshot_id: int) -> int | None:
        """The index of a snapshot, or None. By bisection: there may be a hundred thousand."""
        index = bisect_left(self.records, -snapshot_id, key=lambda row: -row.snapshot_id)
        return index if index < len(self) and self.records[index].snapshot_id == snapshot_id else None

    def kept_by(self, index: int) -> tuple[str, ...]:
        """The tags that keep the files of the snapshot at an index."""
        return self._kept_by_of(self.records[index])

    def _kept_by_of(self, row: SnapshotRow) -> tuple[str, ...]:
        if row.snapshot_id not in self._kept_ids:
            return ()
        return self._kept_by.get(commit_of_row(row), ())

    def _values_of(self, row: SnapshotRow) -> Sequence[object]:
        kept_by = self._kept_by_of(row)
        return (
            row.snapshot_id,
            _sign(kept_by),
            row.commit_time,
            row.commit_time,
            row.commit_kind,
            row.total_record_count,
            row.delta_record_count,
            row.schema_id,
            ", ".join(kept_by) or None,
            row.said and row.said.message,
            row.said and row.said.author,
            user_cell(row.commit_user),
        )


class SnapshotsPane(RecordPane[SnapshotRows]):
    """Reads the newest page without a listing, then the number; the rest once the pane has had the focus."""

    TITLE = "Snapshots"
    COLUMNS: ClassVar[tuple[GridColumn, ...]] = (
        GridColumn("id", "id", "accent"),
        GridColumn("", style="second"),
        GridColumn("committed", "time"),
        GridColumn("age", "age", "quiet"),
        GridColumn("kind", most=9),
        GridColumn(COUNTED, "number"),
        GridColumn("added", "number"),
        GridColumn("schema", "id", "quiet"),
        GridColumn("kept by", style="second"),
        GridColumn("message", most=48),
        GridColumn("author", style="quiet"),
        GridColumn("commit user", style="quiet"),
    )

    def empty_note(self) -> str:
        query = key("tab.query")
        return f"No snapshots. {query} opens the query pane: an INSERT makes one."

    def __init__(self, session: Session, desk: Desk) -> None:
        super().__init__(session, desk)
        self._kept_by: KeptBy = {}
        self._whole: Whole | None = None
        self._tags_fingerprint: Hashable = None
        self._want_all = self._reads_all = False
        self._pauses: list[Timer] = []
        self._known: tuple[Root | None, Sequence[SnapshotRow]] = (None, ())

    def on_mount(self) -> None:
        self._reading_whole: Slot[Whole] = Slot(self.app, "snapshot", self._take_whole, self._log_error)
        self._reading_marks: Slot[Marks] = Slot(self.app, "marks", self._take_marks, self._log_error)

    def first_page(self, opened: Opened, rows: Sequence[SnapshotRow], unit: str) -> None:
        """Show the rows that were read before the screen existed."""
        self.target = opened.target
        self.take(msgspec.structs.replace(self._pane_rows(opened, rows, None), unit=unit))
        if len(rows) >= PAGE:
            self.load()

    def load(self) -> None:
        # Decided here and not in the thread, which could end just before the focus comes.
        self._reads_all = self._want_all
        super().load()

    def _load_rest(self) -> None:
        """Read the rows after the first page, if they are wanted and nobody reads them."""
        if self._want_all and not self._reads_all and self.loaded is not None and self.loaded.is_part:
            self.load()

    def read(self, opened: Opened, report: ThreadReport[PaneRows[SnapshotRows]]) -> None:
        root, before = self._known
        if root != opened.root:
            before = ()
        newest = opened.lineage.newest(PAGE)
        if len(newest) < PAGE:
            report(self._pane_rows(opened, newest, None))
            return
        rows = _joined(newest, before)
        if not before:
            report(self._pane_rows(opened, rows, None))
        ids = set(opened.lineage.snapshot_ids())
        rows = [row for row in rows if row.snapshot_id in ids]
        total = len(ids)
        report(self._pane_rows(opened, rows, total))
        while self._reads_all and report.wanted and len(rows) < total:
            chunk = opened.lineage.newest(_CHUNK, before=rows[-1].snapshot_id) if rows else []
            rows = [*rows, *chunk]
            # Some may have expired since the listing, or can't be read.
            total = total if chunk else len(rows)
            report(self._pane_rows(opened, rows, total))

    def reload(self) -> None:
        self._known, self._tags_fingerprint = (None, ()), None
        super().reload()

    def fingerprint(self, opened: Opened) -> Fingerprint:
        root, rows = self._known
        newest = opened.lineage.newest(1)
        # Expiry deletes the oldest. Checking that our oldest still exists needs no listing.
        oldest_left = root != opened.root or not rows or opened.lineage.has_snapshot(rows[-1].snapshot_id)
        commits = (opened.root, commit_of_row(newest[0]) if newest else None, oldest_left)
        return Fingerprint(commits, tags_fingerprint(opened))

    def _checked(self, fingerprint: Hashable) -> None:
        assert isinstance(fingerprint, Fingerprint)
        super()._checked(fingerprint.commits)
        if (
            self.loaded is not None
            and fingerprint.tags != self._tags_fingerprint
            and not self._reading_marks.busy
        ):
            self._read_tags(self.loaded.opened)

    def take(self, loaded: PaneRows[SnapshotRows]) -> None:
        if self.loaded is None or self.loaded.opened.root != loaded.opened.root:
            self._kept_by, self._tags_fingerprint = {}, None
        self._known = (loaded.opened.root, loaded.rows.records)
        super().take(self._with_marks(loaded))
        if self._tags_fingerprint is None:
            self._read_tags(loaded.opened)
        self._load_rest()

    def _read_tags(self, opened: Opened) -> None:
        self._reading_marks.ask(lambda report: report(_read_marks(opened)))

    def detail(self, index: int) -> Detail:
        row = self.rows.records[index]
        now_ms = int(time.time() * 1000)
        if self._whole is not None and self._whole[0] == self.rows.key(index):
            facts = snapshot_facts(self._whole[1], now_ms, self.counted, ", ".join(self.rows.kept_by(index)))
        else:
            facts = [
                Fact.moment("committed", row.commit_time, now_ms),
                Fact("kind", row.commit_kind),
                Fact("user", row.commit_user),
            ]
        return described(f"snapshot {row.snapshot_id}", facts)

    def version(self, index: int) -> RowVersion | None:
        row = self.rows.records[index]
        return RowVersion(
            version=f"snapshot.{row.snapshot_id}",
            tag=next(iter(self.rows.kept_by(index)), None),
            snapshot_id=row.snapshot_id,
            commit_time=row.commit_time,
        )

    def name_of(self, index: int) -> str:
        return f"snapshot.{self.rows.records[index].snapshot_id}"

    def index_of(self, name: str) -> int | None:
        number = number_in(name, "snapshot.")
        return None if number is None else self.rows.find_id(number)

    @property
    def newest(self) -> bool | None:
        """True if the cursor is still on the newest snapshot, and the pane does not have the focus."""
        return self.grid.index == 0 and not self.has_focus_within

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._want_all = True
        self._load_rest()

    def moved(self) -> bool:
        """Read the whole record once the cursor rests; until it has arrived the last one stays visible."""
        for timer in self._pauses:
            timer.stop()
        index = self.grid.index
        if index is None or (self._whole is not None and self._whole[0] == self.rows.key(index)):
            return True
        self._pauses = [self.set_timer(_REST, self._read_whole_row), self.set_timer(_LATE, self._late)]
        return self._whole is None

    def _late(self) -> None:
        self.post_message(self.Changed(self))

    def _pane_rows(
        self, opened: Opened, rows: Sequence[SnapshotRow], total: int | None
    ) -> PaneRows[SnapshotRows]:
        newest = commit_of_row(rows[0]) if rows else None
        left_out = tuple(opened.lineage.unreadable.values())
        shown = SnapshotRows(opened.root, rows, {})
        return PaneRows(opened, shown, (opened.root, newest, True), total, left_out=left_out)

    def _read_whole_row(self) -> None:
        """Read the record under the cursor in full, after the cursor has rested on it."""
        index, loaded = self.grid.index, self.loaded
        if index is None or loaded is None:
            return
        lineage, snapshot_id = loaded.opened.lineage, self.rows.records[index].snapshot_id
        self._reading_whole.ask(lambda report: report(_read_whole(lineage, snapshot_id)))

    def _take_whole(self, whole: Whole) -> None:
        self._whole = whole
        self.post_message(self.Changed(self))

    def _log_error(self, error: PaimarkError) -> None:
        self.post_message(LogLineAdded(error.message, "warn"))

    def _take_marks(self, marks: Marks) -> None:
        loaded = self.loaded
        if loaded is None or marks.root != loaded.opened.root:
            return
        self._tags_fingerprint = marks.tags
        if marks.kept_by == self._kept_by:
            return
        self._kept_by = marks.kept_by
        self.loaded = self._with_marks(loaded)
        self._show(self.loaded)
        self.post_message(self.Changed(self))

    def _with_marks(self, loaded: PaneRows[SnapshotRows]) -> PaneRows[SnapshotRows]:
        rows = SnapshotRows(loaded.opened.root, loaded.rows.records, self._kept_by)
        return msgspec.structs.replace(loaded, rows=rows)


def _sign(kept_by: Sequence[str]) -> str:
    """A filled sign for a snapshot with a savepoint, a hollow one for a snapshot with a tag."""
    if not kept_by:
        return ""
    return "◆" if kept_by[0].startswith(SAVEPOINT_TAG_PREFIX) else "◇"


def _joined(newest: list[SnapshotRow], before: Sequence[SnapshotRow]) -> list[SnapshotRow]:
    """Join the newest page with the rows read earlier, which are dropped if the two do not overlap."""
    if newest and before:
        oldest = newest[-1]
        index = bisect_left(before, -oldest.snapshot_id, key=lambda row: -row.snapshot_id)
        if index < len(before) and before[index] == oldest:
            return [*newest, *before[index + 1 :]]
    return newest


def tags_fingerprint(opened: Opened) -> Hashable:
    """A value that differs when a tag is made, deleted, or moved to another snapshot. One listing."""
    return frozenset(opened.lineage.files.entries(opened.root.tags))


def _read_marks(opened: Opened) -> Marks:
    fingerprint = tags_fingerprint(opened)
    names: dict[CommitKey, list[str]] = {}
    for name, tag in opened.lineage.tags():
        names.setdefault(commit_of(tag), []).append(name)
    kept_by = {commit: in_order_of_makers(tags) for commit, tags in names.items()}
    return Marks(opened.root, fingerprint, kept_by)


def _read_whole(lineage: Lineage, snapshot_id: int) -> Whole:
    snapshot = lineage.snapshot(snapshot_id)
    return snapshot_key(lineage.root, commit_of(snapshot)), snapshot


def snapshot_facts(snapshot: Snapshot, now_ms: int, counted: str, kept_by: str = "") -> list[Fact]:
    """All fields, the most wanted first; unknown ones under their names in the file. `counted` is the name of
    the count."""
    facts = [
        Fact.moment("committed", snapshot.time_millis, now_ms),
        Fact("kind", snapshot.commit_kind),
        Fact.number(counted, snapshot.total_record_count),
        Fact.number("added", snapshot.delta_record_count),
        Fact.id("schema", snapshot.schema_id),
        Fact("user", snapshot.commit_user),
        *_written_by(snapshot),
        Fact("kept by", kept_by),
    ]
    listed = {"id", "schema_id", "commit_user", "commit_kind", "time_millis", "total_record_count"}
    listed |= {"delta_record_count", "operation", "unknown"}
    for name in snapshot.__struct_fields__:
        value = getattr(snapshot, name)
        if name not in listed and value is not None:
            facts.append(Fact(name.replace("_", " "), _plain(value), value))
    return [*facts, *(Fact(name, _plain(value), value) for name, value in snapshot.unknown.items())]


def _written_by(snapshot: Snapshot) -> list[Fact]:
    """Why it was made, by whom and with what."""
    # Here, because the first frame has only rows.
    from paimark.core.actions.plan_wording import engine_of

    note, engine = note_of(snapshot), snapshot.writer_version
    return [
        Fact("message", note.message),
        Fact("author", note.author),
        Fact("operation", snapshot.operation or ""),
        Fact("written by", engine_of(engine) if engine else ""),
    ]


def _plain(value: object) -> str:
    return msgspec.json.encode(value).decode() if isinstance(value, (dict, list)) else str(value)
