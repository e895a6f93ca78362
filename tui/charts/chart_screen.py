"""`C`: a chart over the pane. Escape or `C` closes it, left and right go to the other charts."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from paimark.core.errors import PaimarkError
from paimark.core.text import clean_text, cut
from paimark.tui.charts.plotting import DRAWN, Chart, draw, knows_braille
from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.keymap import hidden
from paimark.tui.theme import Line
from paimark.tui.widgets.grid.scroll_lines import wrap_line
from paimark.tui.widgets.lines import Lines
from paimark.tui.widgets.query_status import problem
from paimark.tui.work.background import Slot

# In cells and lines: the least size for marks and a picture.
_NARROWEST, _LOWEST = 30, 6
_CAPTION = 2


class ChartLines(Lines):
    """A caption, and a picture that fills the room."""

    DEFAULT_CSS = "ChartLines { height: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self._chart: Chart | None = None
        self._place = ""
        self._said: Sequence[Line] = ()
        self._braille = knows_braille(os.environ)

    def show(self, chart: Chart, place: str) -> None:
        self._chart, self._place = chart, place
        self.update_lines()

    def say(self, *lines: Line) -> None:
        self._chart, self._said = None, lines
        self.update_lines()

    def lines(self, width: int) -> Sequence[Line]:
        chart, height = self._chart, self.size.height - _CAPTION
        if chart is None:
            return [each for line in self._said for each in wrap_line(line, width)]
        # The caption may be cut, and the number of charts not.
        caption = cut(clean_text(chart.caption), width - len(self._place))
        head: list[Line] = [[(caption, "strong"), (self._place, "quiet")], [("", "")]]
        if chart.instead:
            return [*head, *wrap_line([(clean_text(chart.instead), "")], width)]
        if width < _NARROWEST or height < _LOWEST:
            return [*head, *wrap_line([("The terminal is too small for a chart", "warn")], width)]
        drawn = draw(chart, width, height, braille=self._braille)
        return [*head, *(_inked(line, width) for line in drawn)]


class ChartScreen(Dialog[None]):
    """`read` returns the charts, in a thread; `first` is the name of the chart to show first."""

    DEFAULT_CSS = """
    ChartScreen > Vertical { width: 96%; max-width: 100; height: 92%; max-height: 28; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,C", "close", "close", key_display="esc", id="chart.close"),
        Binding("right,l,tab", "step(1)", "next chart", key_display="→", id="chart.next"),
        hidden("chart.previous", "left,h,shift+tab", "step(-1)", "chart before"),
    ]

    def __init__(self, title: str, read: Callable[[], Sequence[Chart]], first: str = "") -> None:
        self._lines = ChartLines()
        super().__init__(title, self._lines)
        self._read = read
        self._first = first
        self._charts: Sequence[Chart] = ()
        self._at = 0
        self._is_reading = True

    def on_mount(self) -> None:
        self._reading: Slot[Sequence[Chart]] = Slot(self.app, "chart", self._take, self._fail)
        self._reading.ask(
            lambda report: report(self._read_all()), lambda: self._lines.say([("Reading …", "quiet")])
        )

    def _read_all(self) -> Sequence[Chart]:
        """Read the charts in the thread, and import the plotting library there, because that is slow."""
        import textual_plotext

        assert textual_plotext is not None
        return self._read()

    def _take(self, charts: Sequence[Chart]) -> None:
        self._is_reading, self._charts = False, charts
        self._at = next((at for at, each in enumerate(charts) if each.name == self._first), 0)
        self._show()

    def _fail(self, error: PaimarkError) -> None:
        self._is_reading = False
        self._lines.say(*problem(error.message, error.hint))

    def waits_for(self, binding: str) -> str:
        """The event that a key must wait for: the charts may not be read yet."""
        is_step = binding in ("chart.next", "chart.previous")
        return "the charts are there" if self._is_reading and is_step else ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "step" or len(self._charts) > 1

    def action_step(self, by: int) -> None:
        self._at = (self._at + by) % len(self._charts)
        self._show()

    def _show(self) -> None:
        place = f"  {self._at + 1} of {len(self._charts)}" if len(self._charts) > 1 else ""
        self._lines.show(self._charts[self._at], place)
        self.refresh_bindings()

    def on_unmount(self) -> None:
        self._reading.drop()


def _inked(line: str, width: int) -> Line:
    """Colour a drawn line by the theme, so that the picture stands out from its marks."""
    pieces: list[tuple[str, str]] = []
    for character in cut(line, width):
        ink = "accent" if character in DRAWN else "quiet"
        # A blank keeps the colour before it: each change of colour would cost twenty bytes.
        if pieces and (pieces[-1][1] == ink or character == " "):
            pieces[-1] = (pieces[-1][0] + character, ink)
        else:
            pieces.append((character, ink))
    return pieces
