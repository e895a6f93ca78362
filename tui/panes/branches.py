"""Tab 3: main and the branches of a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import ClassVar

from textual.binding import Binding, BindingType

from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.errors import PaimarkError
from paimark.core.figures import counted
from paimark.core.storage.files import read_if_there
from paimark.core.table.definition.retention import retention_options
from paimark.core.table.layout import MAIN, Root, TablePath
from paimark.core.table.lineage import branches
from paimark.core.table.lineage.forks import Unheld
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.protected import reasons
from paimark.core.table.records import Snapshot
from paimark.tui.named_keys import key
from paimark.tui.panes.branch_heads import BranchHeads
from paimark.tui.panes.pane import Desk, PaneRows
from paimark.tui.panes.record_pane import COUNTED, RecordPane
from paimark.tui.panes.snapshots import snapshot_facts
from paimark.tui.panes.tags import PROTECTED
from paimark.tui.records.row_actions import PROTECTING, RowAction, RowActions
from paimark.tui.records.sources import GridColumn, RecordKey, Records, values_by
from paimark.tui.session import Opened, Session
from paimark.tui.widgets.detail_strip import Detail, Fact, described
from paimark.tui.work.background import ThreadReport


def _health(known: branches.BranchRow) -> str:
    """The health in words, with the key that mends it."""
    protects = key("act.protect")
    match known.health:
        case "exposed":
            return f"stock expiry here can destroy savepoints: {protects} protects it"
        case "unheld":
            return f"stock expiry on main can take its files: {protects} tags what they share"
        case "endless":
            return f"a branch's options came here, and nothing expires: {protects} takes them out"
    return "its schema can't be read" if known.health == "unreadable" else ""


@dataclass(frozen=True, slots=True)
class BranchLine:
    """The row of one branch, and its newest snapshot; or in `problem` the reason why it can't be read.

    `unheld` is the shared snapshot that main should tag for it, `protected` why no action may delete it.
    """

    root: Root
    known: branches.BranchRow
    unheld: Unheld | None = None
    newest: Snapshot | None = None
    problem: str = ""
    protected: str = ""

    @property
    def name(self) -> str:
        return self.known.branch_name

    @property
    def is_main(self) -> bool:
        return self.known.is_main

    @property
    def newest_id(self) -> int | None:
        return self.known.latest_snapshot_id if self.newest is None else self.newest.id

    @property
    def marks(self) -> str | None:
        marks = ["MAIN"] if self.is_main else []
        marks += [PROTECTED] if self.protected else []
        marks += [f"! {self.known.health}"] if self.known.health != "ok" else []
        return " ".join(marks) or None


BranchRows = Records[BranchLine]


def _of_newest(field: str) -> Callable[[BranchLine], object]:
    return lambda row: getattr(row.newest, field, None)


class BranchesPane(RecordPane[BranchRows]):
    """Main first."""

    TITLE = "Branches"
    ONE_ROOT: ClassVar[bool] = False
    SAME_FOR_BRANCHES: ClassVar[bool] = True
    COLUMNS: ClassVar[tuple[GridColumn, ...]] = (
        GridColumn("branch", style="accent", of=lambda row: row.name),
        GridColumn("", style="warn", of=lambda row: row.marks),
        GridColumn("ahead", "number", of=lambda row: row.known.ahead),
        GridColumn("behind", "number", of=lambda row: row.known.behind),
        GridColumn("newest", "id", of=lambda row: row.newest_id),
        GridColumn("age", "age", "quiet", of=_of_newest("time_millis")),
        GridColumn(COUNTED, "number", of=_of_newest("total_record_count")),
        GridColumn("made from", style="second", of=lambda row: row.known.created_from),
        GridColumn("committed", "time", "quiet", of=_of_newest("time_millis")),
        GridColumn("oldest", "id", "quiet", of=lambda row: row.known.earliest_snapshot_id),
        GridColumn("schema", "id", "quiet", of=_of_newest("schema_id")),
        GridColumn("", style="bad", of=lambda row: row.problem or None),
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("v", "view", "view branch", id="branches.view")]

    def __init__(self, session: Session, desk: Desk) -> None:
        super().__init__(session, desk)
        self._heads = BranchHeads()

    def empty_note(self) -> str:
        return f"No branches. {key('act.branch')} on a snapshot makes one."

    def read(self, opened: Opened, report: ThreadReport[PaneRows[BranchRows]]) -> None:
        # The list of branches is the same for every branch in view.
        fingerprint, table = self.fingerprint(opened), opened.root.table
        main = opened.of_main.root
        why = reasons(self.session.files, main, "branch")
        rows = [
            replace(
                _branch_row(self.session, table, main, state),
                protected=why.get(state.row.branch_name, ""),
            )
            for state in branches.branch_states(self.session.files, table)
        ]
        report(PaneRows(opened, Records(rows, values_by(self.COLUMNS), _key), fingerprint))

    def fingerprint(self, opened: Opened) -> Hashable:
        files, main = self.session.files, opened.of_main
        protected = read_if_there(files, main.target.table.protected)
        return main.root, self._heads.fingerprint(files, main), protected

    def detail(self, index: int) -> Detail:
        row = self.rows.records[index]
        known = row.known
        title = f"branch {row.name}" + (" (main)" if row.is_main and row.name != MAIN else "")
        facts = [
            Fact("health", _health(known)),
            Fact(PROTECTED, row.protected),
            Fact("unreadable", row.problem),
        ]
        if known.ahead is not None and known.behind is not None:
            since = f"since snapshot {known.fork_snapshot_id}"
            both = f"{counted(known.ahead, 'commit')} ahead of main, {known.behind:,} behind"
            facts.append(Fact("lineage", f"{both} {since}"))
        elif not row.is_main:
            facts.append(Fact("lineage", "nothing tells where it parted from main"))
        if row.newest is not None:
            facts += [
                Fact("snapshots", f"{known.earliest_snapshot_id} to {row.newest.id}"),
                Fact("made from", known.created_from or ""),
                *snapshot_facts(row.newest, int(time.time() * 1000), self.counted),
            ]
        facts.append(Fact("directory", row.root.directory))
        return described(title, facts)

    def _why_gone(self, lost: RecordKey) -> str:
        opened = None if self.loaded is None else self.loaded.opened
        if opened is None or lost.root != opened.target.table.root() or opened.main == MAIN:
            return super()._why_gone(lost)
        return f"{lost.name} was replaced: {opened.main} is main now"

    def version(self, index: int) -> RowVersion | None:
        row = self.rows.records[index]
        return RowVersion(branch=MAIN if row.is_main else row.name)

    def row_actions(self, name: str) -> RowActions | None:
        """The action that protects the branch, unless it is to switch off expiry on the branch itself."""
        if name != PROTECTING or self.grid.index is None:
            return None
        row = self.rows.records[self.grid.index]
        if row.known.health == "endless":
            return RowActions([RowAction(name, {"unset": retention_options()}, row.name)])
        if row.known.health != "unheld" or row.unheld is None:
            return None
        if not row.unheld.in_main:
            return RowActions([], "Main has lost that snapshot, too: expire main with this console alone")
        tag = {"name": row.unheld.tag_name, "snapshot": str(row.unheld.snapshot.id)}
        return RowActions([RowAction("create-tag", tag, row.name)])

    async def action_view(self) -> None:
        """Show the snapshots, savepoints, tags and schema of this branch."""
        if self.grid.index is None:
            self.says_no_row()
            return
        row = self.rows.records[self.grid.index]
        await self.desk.view_branch(None if row.is_main else row.name)


def _branch_row(session: Session, table: TablePath, main: Root, state: branches.BranchState) -> BranchLine:
    known, unheld = state
    root = main if known.is_main else table.root(known.branch_name)
    try:
        return BranchLine(root, known, unheld, Lineage(session.files, root).latest())
    except PaimarkError as error:
        # One unreadable branch must not hide the others.
        return BranchLine(root, known, unheld, problem=error.message)


def _key(row: BranchLine) -> RecordKey:
    return RecordKey(row.root, "branch", row.name, row.known.create_time)
