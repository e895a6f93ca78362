"""Tab 9: what was done to the table, by whom and why, and from a row the way back to it."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from typing import ClassVar

import msgspec
from textual.binding import Binding, BindingType

from paimark.core.actions.change.operations import replayed
from paimark.core.actions.declared.kinds import RowVersion
from paimark.core.figures import counted
from paimark.core.table.layout import MAIN, Root, TablePath
from paimark.core.table.operations import Entry, Operation, checks_said, log_entries, read_entries
from paimark.core.table.system_tables import take_back, with_remark
from paimark.core.travel.requested_version import RequestedVersion
from paimark.tui.named_keys import key
from paimark.tui.panes.pane import Desk, PaneRows
from paimark.tui.panes.record_pane import RecordPane
from paimark.tui.records.marks import Mark
from paimark.tui.records.sources import GridColumn, RecordKey, Records, values_by
from paimark.tui.session import Opened, Session
from paimark.tui.widgets.detail_strip import Detail, Fact, described
from paimark.tui.work.background import ThreadReport

# The first page is a screenful or two; each later one is larger, so that few are shown again and again.
_PAGE, _GROWS = 100, 5


class OperationLine(msgspec.Struct, frozen=True):
    """`is_undone`: it is no longer in effect."""

    operation: Operation
    is_undone: bool

    @property
    def who(self) -> str:
        return self.operation.author or self.operation.user

    @property
    def checked(self) -> str:
        return checks_said(self.operation.checks) if self.operation.checks else ""

    @property
    def moved(self) -> str:
        before, after = self.operation.before, self.operation.after
        return f"{before} → {after}" if before else after


class OperationRows(Records[OperationLine]):
    def __init__(self, table: TablePath, known: Sequence[Operation]) -> None:
        stacks = replayed(known)
        in_effect = {each.token for each in (*stacks.in_effect, *stacks.undos)}
        lines = [OperationLine(each, each.token not in in_effect) for each in reversed(known)]
        super().__init__(lines, values_by(OperationsPane.COLUMNS), lambda line: _key(table, line.operation))


class OperationsPane(RecordPane[OperationRows]):
    """Newest first."""

    TITLE = "Operations"
    ONE_ROOT: ClassVar[bool] = False
    SAME_FOR_BRANCHES: ClassVar[bool] = True
    COLUMNS: ClassVar[tuple[GridColumn, ...]] = (
        GridColumn("id", "id", "accent", of=lambda line: line.operation.number),
        GridColumn("", style="warn", of=lambda line: "undone" if line.is_undone else None),
        GridColumn("age", "age", "quiet", of=lambda line: line.operation.time),
        GridColumn("action", style="second", of=lambda line: line.operation.action),
        GridColumn("author", most=16, of=lambda line: line.who),
        GridColumn("message", most=48, of=lambda line: line.operation.message),
        GridColumn("before → after", most=60, of=lambda line: line.moved),
        GridColumn("checks", of=lambda line: line.checked or None),
        GridColumn("done", "time", "quiet", of=lambda line: line.operation.time),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "record", tooltip="show the whole record", id="pane.query")
    ]

    def __init__(self, session: Session, desk: Desk) -> None:
        super().__init__(session, desk)
        # By their tokens: those of the log that nobody writes again.
        self._settled: dict[str, Operation] = {}

    def empty_note(self) -> str:
        return f"Nothing was done yet. {key('act.savepoint')} on a snapshot makes a savepoint."

    def read(self, opened: Opened, report: ThreadReport[PaneRows[OperationRows]]) -> None:
        table = opened.root.table
        entries = log_entries(self.session.files, table)
        for known, total in self._pages(table, entries):
            if not report.wanted:
                return
            is_whole, rows = len(known) == total, OperationRows(table, known)
            fingerprint = _fingerprint(entries, known) if is_whole else None
            report(PaneRows(opened, rows, fingerprint, None if is_whole else total))

    def _pages(self, table: TablePath, entries: Sequence[Entry]) -> Iterator[tuple[list[Operation], int]]:
        """The newest operations, the oldest of them first, and the number of all; then with more of them."""
        size, found = _PAGE, dict[str, Operation]()
        while entries or not found:
            entries, page = entries[:-size], entries[-size:]
            known = {each.token: self._settled[each.token] for each in page if each.token in self._settled}
            unknown = [each for each in page if each.token not in known]
            read = {each.token: each for each in read_entries(self.session.files, table, unknown)}
            self._settled |= {token: each for token, each in read.items() if _is_settled(each)}
            found |= {**known, **read}
            yield (
                sorted(found.values(), key=lambda each: (each.number, each.token)),
                len(found) + len(entries),
            )
            size *= _GROWS
            if not entries:
                return

    def fingerprint(self, opened: Opened) -> Hashable:
        table = opened.root.table
        entries = log_entries(self.session.files, table)
        unknown = [each for each in entries if each.token not in self._settled]
        return _fingerprint(entries, read_entries(self.session.files, table, unknown))

    async def action_choose(self) -> None:
        await self.desk.action_record()

    # The row under the cursor

    def detail(self, index: int) -> Detail:
        line, now = self.rows.records[index], int(time.time() * 1000)
        of = line.operation
        facts = [
            Fact("did", with_remark(of).summary),
            Fact("message", of.message or ""),
            Fact("by", f"{line.who} ({of.user} on {of.host})"),
            Fact.moment("when", of.time, now),
            Fact("action", of.action),
            *(Fact(f"with {name}", _plain(value)) for name, value in of.request.items() if value is not None),
            Fact("before", of.before),
            Fact("after", of.after),
            Fact("checks", line.checked),
            *(
                Fact(f"check {each.name}", f"{each.verdict}: {counted(each.rows, 'row')}")
                for each in of.checks or ()
            ),
            Fact("in effect", "no: it was undone" if line.is_undone else "yes"),
            Fact("way back", "" if line.is_undone else take_back(self._root, of)),
        ]
        return described(f"operation {of.number}", facts)

    def version(self, index: int) -> RowVersion | None:
        of = self.rows.records[index].operation
        rows, place = of.turned.rows, self._place(of.turned.rows.root) if of.turned.rows else None
        if rows is None or place is None:
            return RowVersion(operation=of.number)
        return RowVersion(f"snapshot.{rows.after.id}", place, None, rows.after.id, None, of.number)

    def name_of(self, index: int) -> str:
        return str(self.rows.records[index].operation.number)

    @property
    def change(self) -> tuple[Mark, Mark] | None:
        index = self.grid.index
        if index is None:
            return None
        edits = self.rows.records[index].operation.turned
        if (rows := edits.rows) is not None and rows.before is not None and rows.before.id:
            return self._marks((rows.root, rows.before.id), (rows.root, rows.after.id))
        if (cut := edits.history) is not None:
            return self._marks((cut.kept_as, cut.before.id), (cut.root, cut.after.id))
        if (main := edits.main) is not None and main.head is not None and not main.was_dropped:
            old = edits.moved.after if edits.moved else main.before
            return self._marks((old, None), (main.after, main.head))
        return None

    @property
    def why_no_change(self) -> str:
        return "This changed no rows of a version that is there: its record says what it did"

    def _marks(self, *ends: tuple[str | None, int | None]) -> tuple[Mark, Mark] | None:
        """The versions of two roots, each at a snapshot or at its head; None if one has no name any more."""
        marks = []
        for root, snapshot in ends:
            if (place := self._place(root)) is None:
                return None
            version = None if snapshot is None else f"snapshot.{snapshot}"
            marks.append(Mark(RequestedVersion(None if place == MAIN else place, version), snapshot))
        return marks[0], marks[1]

    def _place(self, root: str | None) -> str | None:
        """The name of a root now: a branch, or main; None if it has none."""
        main = MAIN if self.loaded is None else self.loaded.opened.main
        return MAIN if (root or MAIN) == main else root

    @property
    def _root(self) -> Root:
        assert self.target is not None
        return self.target.table.root()


def _fingerprint(entries: Sequence[Entry], known: Sequence[Operation]) -> Hashable:
    """Of the names, and of the entries that are written again: those of streams."""
    return hash(tuple(entries)), tuple(each.to_json() for each in known if not _is_settled(each))


def _is_settled(operation: Operation) -> bool:
    """Whether its entry stays as it is."""
    return operation.stream is None and operation.landed is not False


def _key(table: TablePath, operation: Operation) -> RecordKey:
    return RecordKey(table.root(), "operation", f"operation {operation.number}", operation.token)


def _plain(value: object) -> str:
    return str(value) if isinstance(value, str) else msgspec.json.encode(value).decode()
