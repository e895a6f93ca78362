"""The base of all dialogs: a framed panel over the screen, with a line of keys."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget

from paimark.core.text import clean_text
from paimark.tui.keymap import ANYWHERE, hidden
from paimark.tui.messages import StatusShown
from paimark.tui.named_keys import how_to_quit, key
from paimark.tui.theme import Line
from paimark.tui.widgets.clean_input import FilterLine
from paimark.tui.widgets.grid.record_grid import RecordGrid
from paimark.tui.widgets.grid.scroll_lines import ScrollLines
from paimark.tui.widgets.key_bar import KeyBar

# One line of the screen above and one below; with the frame's own two lines.
_OUTSIDE = 2
_FRAME = 2 + _OUTSIDE
_LEAST = 3
# The panel's width (as in the CSS below): percent of the screen, the most cells, the cells of its frame.
_SHARE, _WIDEST, _SIDES = 92, 96, 4

Result = TypeVar("Result")


def _lines_of(widget: Widget) -> int:
    """The height of a widget: the one in its styles, if any, which may not be laid out yet."""
    styled = widget.styles.height
    cells = None if styled is None else styled.cells
    return max(1, widget.outer_size.height if cells is None else cells)


def _unmarked(title: str) -> str:
    """Textual parses titles as markup, so brackets are escaped; control characters are removed."""
    return clean_text(title).replace("[", r"\[")


def _hides_rows(grid: RecordGrid) -> bool:
    """Whether it has a filter that is not on the screen; a line above a grid without focus is the filter."""
    return grid.can_focus and bool(grid.order.text)


class Dialog(ModalScreen[Result]):
    """`parts` are in a frame, above a line of keys. Escape removes a filter, else closes it.

    Every screen that can be closed is a dialog.
    """

    AUTO_FOCUS = ""
    DEFAULT_CSS = """
    Dialog { align: center middle; background: $background 60%; }
    Dialog:ansi { background: ansi_default; }
    Dialog > Vertical {
        width: 92%; max-width: 96; height: auto; max-height: 100%;
        background: $surface; border: round $primary; padding: 0 1;
        border-title-color: $primary; border-title-style: bold;
    }
    Dialog ScrollLines { height: 3; }
    Dialog Choices { height: 1; margin-top: 1; }
    Dialog KeyBar { height: 1; background: $surface;}
    """
    # Whether it has the line of keys.
    HAS_BAR: ClassVar[bool] = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "close", key_display="esc", id="dialog.close"),
        hidden("dialog.keys", "question_mark,f1", "app.help", "the keys of this dialog"),
        *ANYWHERE,
    ]

    def __init__(self, title: str, *parts: Widget) -> None:
        super().__init__()
        self.bar = KeyBar()
        self._panel = Vertical(*parts, *((self.bar,) if self.HAS_BAR else ()))
        self.retitle(title)

    def compose(self) -> ComposeResult:
        yield self._panel

    def retitle(self, title: str) -> None:
        self._panel.border_title = _unmarked(title)

    @on(RecordGrid.Moved)
    def _show_filter(self) -> None:
        """Show filters in the frame: the rows that are left would look like all."""
        filtered = [grid.position for grid in self._panel.query(RecordGrid) if _hides_rows(grid)]
        self._panel.border_subtitle = _unmarked("  ".join(filtered))

    def show_text(self, text: ScrollLines, paragraphs: Sequence[Line], *, from_end: bool = False) -> None:
        """Show text, and make its widget as high as it needs, or as the terminal allows."""
        text.show(paragraphs, from_end=from_end)
        self._fit(text)
        # Lay out the text for the new height.
        text.update_lines()
        if not text.size.width:
            # The height was an estimate, to paint the panel once: twice would cost thousands of bytes.
            self.call_after_refresh(self._fit, text)

    def _fit(self, text: ScrollLines) -> None:
        height = self.app.size.height
        shown = (child for child in text.siblings if child.display)
        others = sum(_lines_of(child) + child.styles.margin.height for child in shown)
        room = height - others - text.styles.margin.height - _FRAME
        if room < _LEAST:
            # The frame takes the lines above and below it, and the text has at least one.
            room = max(1, min(_LEAST, room + _OUTSIDE))
        text.styles.height = min(max(_LEAST, text.needed(self.text_width(text))), room)

    def text_width(self, text: ScrollLines) -> int:
        """The cells of a line of a text, also before it is laid out."""
        return text.size.width or min(_WIDEST, self.app.size.width * _SHARE // 100) - _SIDES

    def on_key(self, event: events.Key) -> None:
        if event.key == "q":
            # Nothing else took it: it may be meant for the dialog, or for all of Paimark.
            text = f"{key('dialog.close')} closes this, {how_to_quit()}"
            self.post_message(StatusShown(text))

    def on_key_bar_height_changed(self) -> None:
        for text in self.query(ScrollLines):
            self._fit(text)
            text.update_lines()

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        """Close it. Idempotent: the first result counts.

        Textual's own method removes the top screen, whichever that is: a second key can be under way when the
        first one closes the dialog, and another dialog can be over one that a thread's result closes. Then it
        stays open, and can be closed again.
        """
        return super().dismiss(result) if self.is_active else AwaitComplete()

    def take_filter_away(self) -> bool:
        """Remove the filter of the focused grid; return whether it had one."""
        grid = self.focused
        if not isinstance(grid, RecordGrid) or not grid.order.text:
            return False
        grid.filter("")
        return True

    def action_close(self) -> None:
        if not self.take_filter_away():
            self.dismiss(None)


class SearchedText(Dialog[None]):
    """A text that `/` narrows to what has the words. `parts` names what it consists of: `keys`."""

    parts: ClassVar[str]

    def __init__(self, title: str) -> None:
        self._text = ScrollLines()
        super().__init__(title, self._text)
        self._words = ""

    def on_mount(self) -> None:
        self._show()
        self.set_focus(self._text)

    @abstractmethod
    def _show(self) -> None:
        """Show what matches `self._words` in `self._text`."""

    async def action_find(self) -> None:
        example = f"words; with ! in front: {self.parts} without"
        await FilterLine(self._text, self._words, self._find, example).open()
        # The text has one line less.
        self.call_after_refresh(self._show)

    def _find(self, words: str) -> None:
        if words != self._words:
            self._words = words
            self._show()

    def take_filter_away(self) -> bool:
        had_words = bool(self._words)
        self._find("")
        return had_words
