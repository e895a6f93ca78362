"""Tab 3: main and the branches of a table."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType

from core.errors import PaimarkError
from core.table.layout import MAIN, Root
from core.table.lineage import Lineage
from core.table.main_branch import branch_names
from core.table.records import Snapshot
from tui.background import Report
from tui.panes.record_pane import Found, RecordPane
from tui.panes.snapshots import snapshot_facts
from tui.session import Session, Target, Version
from tui.sources import Column, Records
from tui.widgets.detail_strip import Detail


@dataclass(frozen=True, slots=True)
class BranchRow:
    """`oldest` is the id of the first snapshot there is, `made_from` the tag that the branch began with.

    `problem` says why the rest is not known.
    """

    root: Root
    is_main: bool
    newest: Snapshot | None = None
    oldest: int | None = None
    made_from: str | None = None
    problem: str = ""

    @property
    def name(self) -> str:
        return self.root.label


BranchRows = Records[BranchRow]


class BranchesPane(RecordPane[BranchRows]):
    """Main first."""

    TITLE = "Branches"
    EMPTY = "No branches."
    COLUMNS: ClassVar[tuple[Column, ...]] = (
        Column("branch", style="accent"),
        Column("", style="warn"),
        Column("newest", "id"),
        Column("committed", "time"),
        Column("age", "age", "quiet"),
        Column("rows", "number"),
        Column("made from", style="second"),
        Column("oldest", "id", "quiet"),
        Column("schema", "id", "quiet"),
        Column("", style="bad"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [Binding("v", "view", "view branch", id="branches.view")]

    def read(self, target: Target, report: Report[Found[BranchRows]]) -> None:
        # Branches are the table's, whichever of them is in view.
        opened = self.session.open(Target(target.table))
        names = branch_names(self.session.files, target.table)
        roots = [target.table.root(name) for name in names]
        others = [root for root in roots if root != opened.root]
        rows = [
            _branch_row(self.session, root, is_main=root == opened.root) for root in (opened.root, *others)
        ]
        viewed = self.session.open(target)
        report(Found(viewed, Records(rows, _values), (opened.root, tuple(names))))

    def fingerprint(self, target: Target) -> Hashable:
        opened = self.session.open(Target(target.table))
        return opened.root, tuple(branch_names(self.session.files, target.table))

    def detail(self, index: int) -> Detail:
        row = self._record(index)
        title = f"branch {row.name}" + (" (main)" if row.is_main and row.name != MAIN else "")
        facts = [("directory", row.root.directory)]
        if row.newest is not None:
            facts = [
                ("snapshots", f"{row.oldest} to {row.newest.id}"),
                *([("made from", row.made_from)] if row.made_from else []),
                *snapshot_facts(row.newest, int(time.time() * 1000)),
                *facts,
            ]
        if row.problem:
            facts.insert(0, ("unreadable", row.problem))
        return Detail(title, tuple(facts))

    def version(self, index: int) -> Version | None:
        row = self._record(index)
        return Version(branch=MAIN if row.is_main else row.name)

    async def action_view(self) -> None:
        """Show the snapshots, savepoints, tags and schema of this branch."""
        if self.grid.index is not None:
            row = self._record(self.grid.index)
            await self.desk.view_branch(None if row.is_main else row.name)

    def _record(self, index: int) -> BranchRow:
        assert self.found is not None
        return self.found.rows.records[index]


def _branch_row(session: Session, root: Root, *, is_main: bool) -> BranchRow:
    lineage = Lineage(session.files, root)
    try:
        oldest = lineage.earliest_id()
        made_from = (
            None if is_main else next((name for name, tag in lineage.tags() if tag.id == oldest), None)
        )
        return BranchRow(root, is_main, lineage.latest(), oldest, made_from)
    except PaimarkError as error:
        # One unreadable branch must not hide the others.
        return BranchRow(root, is_main, problem=error.message)


def _values(row: BranchRow) -> Sequence[object]:
    newest = row.newest
    return (
        row.name,
        "MAIN" if row.is_main else None,
        newest.id if newest else None,
        newest.time_millis if newest else None,
        newest.time_millis if newest else None,
        newest.total_record_count if newest else None,
        row.made_from,
        row.oldest,
        newest.schema_id if newest else None,
        row.problem or None,
    )
