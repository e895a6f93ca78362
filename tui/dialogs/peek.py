"""`p`: the first rows of the version under the cursor, without Spark, by a process that can be killed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from paimark.core.actions.plan import Outcome
from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.figures import counted
from paimark.core.spark.datasource.scan import WarehouseAccess, make_scan
from paimark.core.table.definition.file_sizes import unit_of
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.records import point_of
from paimark.core.text import clean_text
from paimark.core.travel.diff.versions import DiffVersion, find_version
from paimark.core.travel.requested_version import RequestedVersion
from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.formats import copied_cells
from paimark.tui.keymap import hidden
from paimark.tui.memory import ColumnLayout
from paimark.tui.messages import Copied, StatusShown
from paimark.tui.named_keys import key
from paimark.tui.query.arrow_rows import ArrowRows, arrow_columns
from paimark.tui.session import Session, Target
from paimark.tui.terminal.key_order import ROWS
from paimark.tui.widgets.grid.record_grid import RecordGrid
from paimark.tui.work.background import Slot, ThreadReport

if TYPE_CHECKING:
    from paimark.tui.dialogs.editing.target import EditTarget


# The number of key columns that stay visible.
_MOST_PINNED = 3
Peeked = tuple[DiffVersion, Any]


class PeekScreen(Dialog[None]):
    """A grid of rows; closing it ends the read."""

    DEFAULT_CSS = """
    PeekScreen > Vertical { height: 90%; max-width: 100%; width: 98%; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        hidden("peek.close", "p,q", "close", "close"),
        Binding("y", "copy", "copy the row", id="peek.copy"),
        Binding("i", "record", "record", id="peek.record"),
        Binding("enter", "cell", "cell", tooltip="the whole value under the cursor", id="peek.cell"),
        Binding("E", "change", "edit", tooltip="change cells, add and delete rows", id="peek.change"),
    ]

    def __init__(self, title: str, peeking: Peeking) -> None:
        self._grid = RecordGrid(frozen=1, cells=True)
        super().__init__(f"{title}: first rows", self._grid)
        self._of = title
        self._peeking = peeking
        self._is_reading = True
        self._version: DiffVersion | None = None

    def on_mount(self) -> None:
        self._reading: Slot[Peeked] = Slot(self.app, "peek", self._take, self._failed)
        self._grid.say("Reading without Spark …")
        self.set_focus(self._grid)
        self._reading.ask(self._peeking.read)

    def _take(self, peeked: Peeked) -> None:
        self._is_reading = False
        self._version, table = version, _ = peeked
        names = table.schema.names
        keys = [name for name in version.schema.primary_keys if name in names][:_MOST_PINNED]
        self._grid.shown_columns.pinned = max(1, len(keys))
        self._grid.show(
            ArrowRows(table.to_batches()),
            arrow_columns(names, [str(each) for each in table.schema.types]),
            note="No rows.",
            is_cut=table.num_rows == PEEKED,
        )
        self._grid.lay_out(ColumnLayout((*keys, *(name for name in names if name not in keys))))
        at = f"snapshot {version.snapshot.id}" if version.snapshot else "no snapshot"
        first = "the first " if table.num_rows == PEEKED else ""
        self.retitle(f"{self._of} at {at}: {first}{counted(table.num_rows, 'row')}{_records(version)}")

    def _failed(self, error: PaimarkError) -> None:
        self._is_reading = False
        self._grid.say(error.message, error.hint)

    def waits_for(self, binding: str) -> str:
        """The event that a key must wait for: the rows that it is for may still be read."""
        for_rows = binding.startswith(("grid.", "peek.copy", "peek.record", "peek.cell", "peek.change"))
        return ROWS if self._is_reading and for_rows else ""

    def action_copy(self) -> None:
        if (index := self._grid.index) is not None:
            self.app.post_message(Copied(copied_cells(self._grid.source.row(index), "null")))

    async def action_record(self) -> None:
        from paimark.tui.dialogs.record import RecordScreen, row_of

        if (row := row_of(self._grid)) is not None:
            await self.app.push_screen(RecordScreen(row))

    async def action_cell(self) -> None:
        from paimark.tui.dialogs.record import cell_of

        if (cell := cell_of(self._grid)) is not None:
            await self.app.push_screen(cell)

    def action_change(self) -> None:
        from paimark.tui.dialogs.editing.edit_screen import open_editing

        if self._version is not None:
            open_editing(self._grid, self._peeking.session, self._find, self._again)

    def _find(self) -> EditTarget:
        from paimark.tui.dialogs.editing.target import target_of

        version, peeking = self._version, self._peeking
        assert version is not None
        read = None if version.snapshot is None else point_of(version.snapshot)
        names, context = [column.title for column in self._grid.columns], peeking.session.context
        return target_of(context, peeking.table, peeking.branch, read, names, was_newest=peeking.was_newest)

    def _again(self, outcome: Outcome) -> None:
        self.post_message(StatusShown(clean_text(outcome.message), "good"))
        self._reading.ask(self._peeking.read)

    def action_close(self) -> None:
        if not self.take_filter_away():
            self._peeking.stop()
            self.dismiss(None)


def _records(version: DiffVersion) -> str:
    """The number of records that metadata counts, in a table with a key: its rows are fewer."""
    total = None if version.snapshot is None else version.snapshot.total_record_count
    unit = unit_of(version.schema)
    return "" if total is None or unit == "row" else f" of {counted(total, unit)}"


PEEKED = 100


class Peeking:
    """One such read: call `read` in a thread, and `stop` from any thread."""

    def __init__(self, session: Session, target: Target, requested: RequestedVersion) -> None:
        self.session = session
        self._target = target
        self._requested = requested
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False
        # Of what was read last: whether it was the newest then. A job may have committed since.
        self.was_newest = False

    @property
    def table(self) -> TablePath:
        return self._target.table

    @property
    def branch(self) -> str | None:
        return self._requested.branch

    def read(self, report: ThreadReport[tuple[DiffVersion, Any]]) -> None:
        """Report the version found and its rows (a pyarrow Table). Raises `NotFound` and `Unavailable`."""
        files = self.session.files
        version = find_version(files, self._target.table, self._requested)
        root = branch_root(files, self.table, self.branch)
        # The newest version of an earlier main is an old one.
        self.was_newest = version.snapshot is not None and (
            version.name is None
            or (version.root, version.snapshot.id) == (root, Lineage(files, root).latest_id())
        )
        warehouse = WarehouseAccess(files, files.uri, self.session.settings.options)
        scan = make_scan(warehouse, version.root, version.snapshot, pinned=version.name is not None)
        with self.session.room.paused():
            process = self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "paimark.core.cli.query.peek", str(PEEKED)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            if self._stopped:
                process.kill()
            out, errors = process.communicate(scan.to_text().encode())
        if self._stopped:
            return
        if process.returncode != 0:
            last = errors.decode(errors="replace").strip().rpartition("\n")[2]
            raise Unavailable(
                f"The rows could not be read: {clean_text(last) or f'exit code {process.returncode}'}",
                f"{key('pane.query')} on its row prepares the query that reads them with Spark.",
            )
        report((version, _table(out)))

    def stop(self) -> None:
        """End the read: the rows are not wanted any more."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()


def _table(data: bytes) -> Any:
    import pyarrow as pa

    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()
