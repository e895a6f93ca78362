"""The difference of two versions on the whole screen: totals, counts for each column, a page of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

from paimark.core.errors import PaimarkError, Refused
from paimark.core.figures import counted
from paimark.core.text import clean_text, cut_middle
from paimark.core.travel.diff.diff import Difference
from paimark.core.travel.diff.rows import DiffRow, Page, Totals
from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.dialogs.difference import shown
from paimark.tui.dialogs.difference.page import Counted, DifferenceReading, PageGrid
from paimark.tui.dialogs.difference.shown import Marked, arguments_of, key_of, why_not
from paimark.tui.keymap import hidden
from paimark.tui.messages import Copied, StatusShown
from paimark.tui.named_keys import cancel_key, key
from paimark.tui.terminal.key_order import ROWS
from paimark.tui.theme import Line
from paimark.tui.widgets.frame import follow_size
from paimark.tui.widgets.grid.record_grid import Edge, RecordGrid
from paimark.tui.widgets.query_status import QueryStatus, problem
from paimark.tui.work.background import Slot, ThreadReport
from paimark.tui.work.engine_room import EngineRoom
from paimark.tui.work.spark_work import SparkWork

_MOST_NAME = 24
_TICK = 0.5
_LOOKING = "Looking the two versions up"
_STARTING = "Counting the rows that differ"
_FOR_ROWS = ("choose", "record", "copy", "next", "previous", "mark", "take_back")


class DifferenceScreen(Dialog[str | Mapping[str, object]]):
    """The result is its statement, if the person wants it in the query pane, or the arguments of
    `restore-rows` for the marked rows. Closing cancels its reads.

    It opens before the versions are looked up, so that it gets the keys typed meanwhile.
    """

    DEFAULT_CSS = """
    DifferenceScreen > Vertical { height: 100%; max-width: 100%; width: 100%; }
    DifferenceScreen #both { height: 1fr; }
    DifferenceScreen #choices { width: 34; height: 1fr; }
    DifferenceScreen #rows { width: 1fr; height: 1fr; }
    DifferenceScreen.-narrow #choices { width: 23; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter", "choose", "choose", tooltip="the rows of that kind, or column", id="difference.choose"
        ),
        Binding("tab", "switch", "counts, rows", id="difference.switch"),
        Binding("i", "record", "all of the row", id="difference.record"),
        Binding("y", "copy", "copy the row", id="difference.copy"),
        Binding(">", "page(1)", "next rows", id="difference.next"),
        hidden("difference.previous", "<", "page(-1)", "the rows before"),
        Binding(
            "ctrl+e",
            "export",
            "export all",
            tooltip="all rows into a file",
            key_display="^e",
            id="difference.export",
        ),
        Binding(
            "s", "statement", "SQL", tooltip="the statement into the query pane", id="difference.statement"
        ),
        Binding("space", "mark", "mark", tooltip="mark the row for t", id="difference.mark"),
        Binding(
            "t",
            "take_back",
            "take back",
            tooltip="the marked rows, or this one, become what they were in the older version",
            id="difference.take_back",
        ),
        hidden("difference.again", "r", "again", "count again"),
        hidden("difference.close", "D,q", "close", "close"),
    ]

    def __init__(
        self,
        room: EngineRoom,
        title: str,
        look_up: Callable[[], Difference],
        accept: Callable[[Difference], str],
        require_old: Callable[[Difference], None],
    ) -> None:
        """`look_up` is called in a thread; `accept` returns why its result may not be shown, or nothing.
        `require_old`, in a thread, raises unless the older version is what it was.
        """
        self._head, self._state = QueryStatus(), QueryStatus()
        self._choices = RecordGrid(shown.CHOICE_COLUMNS, only_words=True, at_edge=self._at_edge)
        self._grid = PageGrid(self._reorder, self._at_edge)
        # Each in a container: a grid takes all of the width, and has its filter below it.
        both = Vertical(self._choices, id="choices"), Vertical(self._grid, id="rows")
        super().__init__(f"Difference of {title}", self._head, Horizontal(*both, id="both"), self._state)
        self._room = room
        self._look_up, self._accept, self._require_old = look_up, accept, require_old
        self._looked_up: Difference | None = None
        self._spark: SparkWork | None = None
        self._doing = self._written_to = ""
        self._totals = Totals()
        self._notes: Sequence[str] = ()
        self._choice = shown.Choice(None, "all", 0, 0)
        self._page = Page(limit=shown.PAGE_ROWS)
        self._rows: Sequence[DiffRow] = ()
        self._marked: Marked = {}
        self._problem: PaimarkError | None = None

    def on_mount(self) -> None:
        follow_size(self)
        self._looking: Slot[Difference] = Slot(self.app, "diff", self._take_versions, self._failed)
        self._counting: Slot[Counted] = Slot(self.app, "difference", self._take_totals, self._failed)
        self._paging: Slot[list[DiffRow]] = Slot(self.app, "difference-rows", self._take_page, self._failed)
        self._taking: Slot[Mapping[str, object]] = Slot(
            self.app, "older version", self._leave, lambda error: self._say(error.said)
        )
        self._exporting: Slot[str] = Slot(self.app, "difference-file", self._written, self._failed_export)
        self.set_focus(self._grid)
        self.set_interval(_TICK, self._tick)
        self._look()

    # Reading

    @property
    def _difference(self) -> Difference:
        """The difference whose rows are read; only after it was looked up."""
        assert self._looked_up is not None
        return self._looked_up

    def _begin(self, doing: str) -> DifferenceReading:
        self._spark, self._doing, self._problem = SparkWork(self._room), doing, None
        self._tick()
        return DifferenceReading(self._difference, self._spark.engine)

    @property
    def _is_looking(self) -> bool:
        return self._looked_up is None and self._problem is None

    @property
    def _is_busy(self) -> bool:
        return self._spark is not None or self._is_looking

    def _refuses(self) -> bool:
        if self._is_busy:
            is_ending = self._spark is not None and not self._spark.offer
            what = "it is being cancelled" if is_ending else f"{cancel_key()} cancels that"
            self.post_message(StatusShown(f"{self._doing}: {what}", "warn"))
        return self._is_busy

    def action_again(self) -> None:
        if self._refuses():
            return
        if self._looked_up is None:
            self._look()
        else:
            self._count()

    def _look(self) -> None:
        self._doing, self._problem = _LOOKING, None
        self._looking.ask(lambda report: report(self._look_up()))
        self._tick()

    def _take_versions(self, difference: Difference) -> None:
        if why_not := self._accept(difference):
            self._failed(Refused(why_not))
            return
        self._looked_up = difference
        self.retitle(f"Difference of {difference.title}")
        self._count()

    def _count(self) -> None:
        reading = self._begin(_STARTING)
        self._counting.ask(lambda report: report(reading.totals()))

    def _read_page(self, page: Page) -> None:
        self._page = page
        reading = self._begin("Reading the rows")
        self._paging.ask(lambda report: report(reading.page(page)))

    def _take_totals(self, counted_rows: Counted) -> None:
        self._spark, self._totals, self._notes = None, counted_rows.totals, counted_rows.notes
        listed = shown.choices(self._difference, counted_rows.totals)
        self._choice = next((each for each in listed if each.only == self._page.only), listed[0])
        self._choices.show(shown.choice_rows(listed))
        if counted_rows.totals.rows:
            self._read_page(self._page)
        else:
            self._grid.say("Both versions have the same rows.")
        self._tick()

    def _take_page(self, rows: list[DiffRow]) -> None:
        self._spark, self._rows = None, rows
        self._show_rows(0)
        self._tick()

    def _show_rows(self, at: int) -> None:
        only = self._page.only
        first = self._difference.pairs[only].name if isinstance(only, int) else None
        self._grid.show(
            shown.rows_shown(self._difference, self._rows, first, self._marked),
            shown.columns_of(self._difference),
            note="No rows of that kind.",
            is_cut=self._choice.lines > len(self._rows),
        )
        self._grid.move_to(at)

    def _failed(self, error: PaimarkError) -> None:
        self._spark, self._problem = None, error
        if not self._rows:
            self._grid.say("")
        self._tick()

    # Status

    def _tick(self) -> None:
        if self._spark is not None:
            self._spark.cancel_again()
        self._head.say(*self._heading())
        if self._spark is None and self._problem is not None:
            again = f"{key('difference.again')} tries again"
            hint = f"{self._problem.hint}  {again}" if self._problem.hint else again
            first, *more = problem(self._problem.message, hint)
            self._state.say(first, more)
        else:
            self._state.say(self._state_line())

    def _heading(self) -> tuple[Line, Sequence[Line]]:
        difference = self._looked_up
        if difference is None:
            return [("…", "quiet")], []
        notes = [*difference.notes]
        if not difference.keys:
            notes.append("The table has no key: whole rows are counted, and none is said to have changed")
        more: list[Line] = [[(clean_text(note), "quiet")] for note in (*notes, *self._notes)]
        if not self._choices.count:
            return [("…", "quiet")], more
        return shown.total_line(difference, self._totals), more

    def _state_line(self) -> Line:
        if self._is_looking:
            return [(f"{_LOOKING} …", ""), (f"  {cancel_key()} cancels", "quiet")]
        if self._spark is not None:
            return [(f"{self._doing}: ", ""), *self._spark.line, ("  ", ""), *self._spark.offer]
        has_key = bool(self._difference.keys)
        line = shown.position_line(
            self._choice, self._page.offset, len(self._rows), by_most=self._page.by_most, has_key=has_key
        )
        more = f"  {key('difference.next')}: the next" if self._has_next else ""
        return [*line, (more, "quiet")]

    @property
    def _has_next(self) -> bool:
        return self._page.offset + len(self._rows) < self._choice.lines

    def waits_for(self, binding: str) -> str:
        """The event that a key must wait for: the rows that it is for may still be read."""
        if self._is_looking and binding == "difference.statement":
            return "the versions are looked up"
        kept = ("grid.", *(f"difference.{each}" for each in _FOR_ROWS))
        is_reading = self._is_busy and not self._exporting.busy
        return ROWS if is_reading and binding.startswith(kept) else ""

    # Keys

    def cancel(self) -> bool:
        if self._is_looking:
            self._looking.drop()
            self._failed(Refused("cancelled"))
            return True
        if self._spark is None:
            return False
        self._spark.cancel()
        self._tick()
        return True

    def _at_edge(self, edge: Edge) -> None:
        if edge == "left" and self._grid.has_focus:
            self.set_focus(self._choices)
        elif edge == "right" and self._choices.has_focus:
            self.set_focus(self._grid)

    def action_switch(self) -> None:
        self.set_focus(self._grid if self._choices.has_focus else self._choices)

    async def action_choose(self) -> None:
        """Show the rows of the kind or column under the cursor; in the rows, show the whole row."""
        index = self._choices.index
        if not self._choices.has_focus:
            await self.action_record()
        elif index is not None and not self._refuses():
            self._choice = shown.choices(self._difference, self._totals)[index]
            self._read_page(Page(self._choice.only, self._page.by_most, 0, shown.PAGE_ROWS))
            self.set_focus(self._grid)

    def _reorder(self) -> None:
        if self._totals.rows and not self._refuses():
            self._read_page(Page(self._page.only, not self._page.by_most, 0, shown.PAGE_ROWS))

    def action_page(self, pages: int) -> None:
        offset = self._page.offset + pages * shown.PAGE_ROWS
        if offset < 0 or (pages > 0 and not self._has_next):
            self.post_message(
                StatusShown("These are the first rows" if pages < 0 else "There are no more rows")
            )
        elif not self._refuses():
            self._read_page(Page(self._page.only, self._page.by_most, offset, shown.PAGE_ROWS))

    def _row(self) -> DiffRow | None:
        index = self._grid.index
        return self._rows[index] if index is not None and index < len(self._rows) else None

    async def action_record(self) -> None:
        from paimark.tui.dialogs.record import RecordScreen

        if (row := self._row()) is not None:
            await self.app.push_screen(RecordScreen(shown.facts_of(self._difference, row)))

    def action_mark(self) -> None:
        """Mark the row under the cursor, or remove its mark, and go to the next."""
        index, row = self._grid.index, self._row()
        if index is None or row is None or self._says_why_not():
            return
        if self._marked.pop(key_of(row), None) is None:
            self._marked[key_of(row)] = row
        self._show_rows(min(index + 1, len(self._rows) - 1))
        marked = counted(len(self._marked), "row")
        take = key("difference.take_back")
        self.post_message(StatusShown(f"{marked} marked: {take} gives them what they were"))

    def action_take_back(self) -> None:
        row = self._row()
        rows = [*self._marked.values()] or ([] if row is None else [row])
        if not rows or self._refuses() or self._says_why_not():
            return
        arguments = arguments_of(self._difference, rows)
        if arguments is None:
            self._say("Keys of this type: use :restore-rows, where")
            return

        def checked(report: ThreadReport[Mapping[str, object]]) -> None:
            self._require_old(self._difference)
            report(arguments)

        self._taking.ask(checked)

    def _say(self, sentence: str) -> None:
        self.post_message(StatusShown(clean_text(sentence), "warn"))

    def _says_why_not(self) -> bool:
        """Say why no row can be taken back, if that is so."""
        if reason := why_not(self._difference):
            self._say(reason)
        return bool(reason)

    def action_copy(self) -> None:
        if (row := self._row()) is not None:
            self.app.post_message(Copied(shown.copied(row)))

    async def action_export(self) -> None:
        from paimark.tui.dialogs.path_screen import ExportScreen

        if self._refuses():
            return
        if not self._totals.rows:
            self.post_message(StatusShown("There are no rows to export", "warn"))
            return
        what = f"All {counted(self._totals.rows, 'row')} that differ, with every column: old and new values."
        await self.app.push_screen(ExportScreen(what), self._export_to)

    def _export_to(self, path: Path | None) -> None:
        if path is not None and not self._refuses():
            self._written_to = path.name
            reading = self._begin(_writing(path))
            self._exporting.ask(partial(self._write, reading, path))

    def _write(self, reading: DifferenceReading, path: Path, report: ThreadReport[str]) -> None:
        def tell(rows: int) -> None:
            report.meanwhile(lambda: self._hear(path, rows))

        with self._room.exports.writing(path):
            count = reading.write(path, tell)
        report(f"Wrote {counted(count, 'row')} to {path}")

    def _hear(self, path: Path, rows: int) -> None:
        self._doing = f"{_writing(path)}, {counted(rows, 'row')} so far"

    def _written(self, sentence: str) -> None:
        self._spark = None
        self._tick()
        self.post_message(StatusShown(sentence, "good"))

    def _failed_export(self, error: PaimarkError) -> None:
        self._spark = None
        self._tick()
        self.post_message(StatusShown(error.said, "bad"))

    def action_statement(self) -> None:
        if self._looked_up is not None:
            self._leave(self._looked_up.statement)

    def action_close(self) -> None:
        if not self.take_filter_away():
            self._leave(None)

    def _leave(self, result: str | Mapping[str, object] | None) -> None:
        if self._exporting.busy:
            lost = f"{clean_text(self._written_to)} was not written: the difference was closed"
            self.app.post_message(StatusShown(lost, "warn"))
        self._looking.drop()
        if self._spark is not None:
            for slot in (self._counting, self._paging, self._exporting):
                slot.drop()
            self._spark.cancel()
        self.dismiss(result)


def _writing(path: Path) -> str:
    """With the name cut: what comes after it must stay on the screen."""
    return f"Writing {cut_middle(clean_text(path.name), _MOST_NAME)}"
