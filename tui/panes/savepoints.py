"""Tab 2: the savepoints of a branch, and the time of the next automatic one."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.errors import PaimarkError
from paimark.core.figures import age, duration, exact_time
from paimark.core.storage.files import Files, read_if_there
from paimark.core.table.layout import CLAIM_PREFIX, SAVEPOINT_TAG_PREFIX, Root, numbered, savepoint_tag
from paimark.core.table.lineage.branches import branch_rows
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.protected import reasons
from paimark.core.table.records import Savepoint, Tag
from paimark.core.table.savepoints import SavepointManager
from paimark.tui.named_keys import key
from paimark.tui.panes.pane import PaneRows
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.panes.tags import PROTECTED
from paimark.tui.records.sources import GridColumn, RecordKey, Records, commit_of, values_by
from paimark.tui.session import Opened
from paimark.tui.widgets.detail_strip import Detail, Fact, described
from paimark.tui.work.background import ThreadReport

_OK, _FOREIGN, _UNFINISHED = "ok", "foreign tag", "unfinished"
_PROTECTED_BY = {
    "unprotected": "none: the next expiry may delete its files",
    _FOREIGN: "it is a tag only: another engine made it, or it came with a copy",
    _UNFINISHED: "it is a tag only: its savepoint is being made, or who made it died",
}
_UNVERIFIED = "never: nobody proved that its tag came in time; read it once, whole"


@dataclass(frozen=True, slots=True)
class SavepointLine:
    """A savepoint with its health, or a tag named like a savepoint that is none, or not yet.

    `kept_by` are the branches that were made from it, `protected` is why no action may delete it."""

    id: int
    snapshot_id: int
    health: str
    savepoint: Savepoint | None
    tag: Tag | None = None
    kept_by: tuple[str, ...] = ()
    protected: str | None = None

    @property
    def mark(self) -> str | None:
        return f"! {self.health}" if self.health != _OK else None

    def key(self, root: Root) -> RecordKey:
        name = savepoint_tag(self.id)
        if self.savepoint is not None:
            return RecordKey(root, "savepoint", name, self.savepoint.full_manifest_list)
        return RecordKey(root, "tag", name, None if self.tag is None else commit_of(self.tag))

    @property
    def commit_time(self) -> int | None:
        if self.savepoint is not None:
            return self.savepoint.snapshot_time
        return None if self.tag is None else self.tag.time_millis

    def either(self, field: str, of_tag: str = "") -> object:
        """A field of the savepoint, or of a tag that is none, as far as that has it."""
        return getattr(self.tag, of_tag, None) if self.savepoint is None else getattr(self.savepoint, field)


class SavepointRows(Records[SavepointLine]):
    """`automatic` is a sentence about the next automatic savepoint."""

    def __init__(self, root: Root, lines: Sequence[SavepointLine], automatic: str) -> None:
        super().__init__(lines, values_by(SavepointsPane.COLUMNS), lambda line: line.key(root))
        self.automatic = automatic


class SavepointsPane(RecordPane[SavepointRows]):
    """Newest first, because people mostly want the newest."""

    TITLE = "Savepoints"
    COLUMNS: ClassVar[tuple[GridColumn, ...]] = (
        # As in the system table: first the columns that every Paimon with savepoints has, in its order.
        GridColumn("savepoint_id", "id", "accent", of=lambda line: line.id),
        GridColumn("saved_snapshot_id", "id", of=lambda line: line.snapshot_id),
        GridColumn("schema_id", "id", "quiet", of=lambda line: line.either("schema_id", "schema_id")),
        GridColumn("save_time", "time", of=lambda line: line.either("save_time")),
        GridColumn(
            "record_count", "number", of=lambda line: line.either("record_count", "total_record_count")
        ),
        GridColumn("health", style="bad", of=lambda line: line.mark),
        GridColumn("kept by", style="second", of=lambda line: ", ".join(line.kept_by) or None),
        GridColumn("", style="warn", of=lambda line: PROTECTED if line.protected else None),
        GridColumn("comment", most=48, of=lambda line: line.either("comment")),
        GridColumn("snapshot_time", "time", "quiet", of=lambda line: line.commit_time),
        GridColumn("branch", style="second", of=lambda line: line.either("branch")),
        GridColumn("created_by", style="quiet", of=lambda line: line.either("created_by")),
    )

    def empty_note(self) -> str:
        return f"No savepoints. {key('act.savepoint')} makes one of the newest snapshot."

    def read(self, opened: Opened, report: ThreadReport[PaneRows[SavepointRows]]) -> None:
        files, fingerprint = self.session.files, self.fingerprint(opened)
        manager = SavepointManager(files, opened.root.table)
        lines = sorted(_lines(files, manager, opened.root), key=lambda line: -line.id)
        rows = SavepointRows(opened.root, lines, _automatic(files, opened.root))
        report(PaneRows(opened, rows, fingerprint, left_out=tuple(manager.unreadable.values())))

    def fingerprint(self, opened: Opened) -> Hashable:
        files, root, table = self.session.files, opened.root, opened.root.table
        # With the files' metadata: a table that was dropped and made again has the same names and ids.
        listed = [frozenset(files.entries(each)) for each in (table.savepoints, root.tags)]
        protected = read_if_there(files, table.protected)
        # The minute, so that a due time that passes is shown.
        return root, *listed, frozenset(files.names(table.branches)), protected, int(time.time() // 60)

    @property
    def position(self) -> str:
        return "  ".join(part for part in (super().position, self._automatic) if part)

    @property
    def _automatic(self) -> str:
        return "" if self.loaded is None else self.loaded.rows.automatic

    def detail(self, index: int) -> Detail:
        line = self.rows.records[index]
        now_ms = int(time.time() * 1000)
        protected = _PROTECTED_BY.get(line.health, savepoint_tag(line.id))
        facts = [
            Fact("kept by", f"branch {', '.join(line.kept_by)}, made from it" if line.kept_by else ""),
            Fact(PROTECTED, line.protected or ""),
            Fact.id("of snapshot", line.snapshot_id),
            Fact("protected by tag", protected),
        ]
        if line.savepoint is not None:
            facts = _savepoint_facts(line.savepoint, facts, now_ms, self.counted)
        elif line.tag is not None:
            facts.append(Fact("snapshot committed", exact_time(line.tag.time_millis, now_ms)))
        title = f"savepoint {line.id}" if line.savepoint is not None else f"tag {savepoint_tag(line.id)}"
        return described(title, facts)

    def version(self, index: int) -> RowVersion | None:
        line = self.rows.records[index]
        name = savepoint_tag(line.id)
        return RowVersion(version=name, tag=name, snapshot_id=line.snapshot_id, commit_time=line.commit_time)

    def sign(self, index: int) -> str:
        return " " if self.rows.records[index].health == _OK else "!"

    def name_of(self, index: int) -> str:
        return savepoint_tag(self.rows.records[index].id)


def _lines(files: Files, manager: SavepointManager, root: Root) -> list[SavepointLine]:
    made_from: dict[str, list[str]] = {}
    for branch in branch_rows(files, root.table):
        if branch.created_from is not None and not branch.is_main:
            made_from.setdefault(branch.created_from, []).append(branch.branch_name)
    made_from = {tag: names for tag, names in made_from.items() if root.label not in names}
    why = reasons(files, root, "savepoint")
    lines = [
        SavepointLine(
            each.id,
            each.saved_snapshot_id,
            health,
            each,
            kept_by=tuple(made_from.get(savepoint_tag(each.id), ())),
            protected=why.get(str(each.id)),
        )
        for each, health in manager.health_of_root(root)
    ]
    lineage = Lineage(files, root)
    claimed = set(numbered(files.names(root.table.savepoints), CLAIM_PREFIX))
    for name in manager.foreign_tags(root):
        tag = lineage.tag(name)
        number = int(name.removeprefix(SAVEPOINT_TAG_PREFIX))
        health = _UNFINISHED if number in claimed else _FOREIGN
        lines.append(SavepointLine(number, tag.id, health, None, tag, tuple(made_from.get(name, ()))))
    return lines


def _automatic(files: Files, root: Root) -> str:
    """`auto-savepoint every 1 h, next due in 12 min`."""
    from paimark.core.actions.savepoints.auto_savepoint import schedule

    now = int(time.time() * 1000)
    try:
        due = schedule(files, root, now)
    except PaimarkError as error:
        return f"! auto-savepoint: {error.message}"
    if due.interval is None:
        return "auto-savepoint off"
    every = f"auto-savepoint every {duration(due.interval)}"
    if due.due_at is None:
        return f"{every}, nothing new to save"
    return f"{every}, due now" if due.due_at <= now else f"{every}, next due {age(due.due_at, now)}"


def _savepoint_facts(savepoint: Savepoint, about: Sequence[Fact], now_ms: int, counted: str) -> list[Fact]:
    verified = savepoint.verified_at
    return [
        Fact("comment", savepoint.comment or ""),
        Fact.moment("saved", savepoint.save_time, now_ms),
        *about,
        Fact.id("schema", savepoint.schema_id),
        Fact.number(counted, savepoint.record_count),
        Fact("made on", savepoint.branch),
        Fact("by", savepoint.created_by),
        Fact.moment("snapshot committed", savepoint.snapshot_time, now_ms),
        Fact("verified", _UNVERIFIED) if verified is None else Fact.moment("verified", verified, now_ms),
        Fact("manifest list", savepoint.full_manifest_list),
        *(Fact(name, str(value), value) for name, value in savepoint.unknown.items()),
    ]
