"""Ask for the name of a .sql file, to open or to save; Tab completes it."""

from __future__ import annotations

import os
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from paimark.core.errors import PaimarkError
from paimark.core.text import clean_text
from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.query.sql_files import completions, full_path
from paimark.tui.theme import Line
from paimark.tui.widgets.clean_input import CleanInput
from paimark.tui.widgets.grid.scroll_lines import ScrollLines
from paimark.tui.widgets.key_bar import KeyBar
from paimark.tui.work.background import Slot, ThreadReport

_MOST_SHOWN = 40
_Completed = tuple[str, tuple[str, list[str]]]


class PathLine(CleanInput):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "take it", id="path.take"),
        Binding("tab", "screen.complete", "complete", id="path.complete"),
    ]


class PathScreen(Dialog[str]):
    """The result is the path as it was typed. With `exists` the file must exist."""

    DEFAULT_CSS = """
    PathScreen Input { height: 1; background: $panel 50%; }
    PathScreen ScrollLines { margin-top: 1; }
    """

    def __init__(self, title: str, *, exists: bool, text: str = "") -> None:
        super().__init__()
        self._title = title
        self._must_exist = exists
        self._input = PathLine(text, placeholder="a path, such as ~/queries/orders.sql", compact=True)
        self._input.select_on_focus = False
        self._text = ScrollLines(lambda: "")

    def compose(self) -> ComposeResult:
        with self.framed(self._title):
            yield self._input
            yield self._text
            yield KeyBar()

    def on_mount(self) -> None:
        self._completing: Slot[_Completed] = Slot(self.app, "path", self._completed, self._failed)
        self._tell([])
        self.set_focus(self._input)

    def on_input_changed(self) -> None:
        self._tell([])

    def on_input_submitted(self) -> None:
        problem = self._problem
        if problem is None:
            self.dismiss(self._input.value.strip())
        else:
            self._tell([[("! ", "warn"), (clean_text(problem), "warn")]])

    @property
    def _problem(self) -> str | None:
        typed = self._input.value.strip()
        path = full_path(typed)
        if not typed:
            return "Type the name of a file."
        if "\0" in typed:
            return "A name can't hold a NUL."
        # Not by `Path`, which raises errors for names that no file can have.
        if os.path.isdir(path):
            return f"{path} is a directory: name a file in it."
        if self._must_exist and not os.path.exists(path):
            return f"There is no file {path}."
        return None if os.path.isdir(path.parent) else f"There is no directory {path.parent}."

    # Completing

    def action_complete(self) -> None:
        typed = self._input.value

        def work(report: ThreadReport[_Completed]) -> None:
            report((typed, completions(typed)))

        self._completing.ask(work)

    def _completed(self, completed: _Completed) -> None:
        typed, (longer, names) = completed
        if self._input.value != typed:
            return
        with self.prevent(Input.Changed):
            self._input.value = longer
        self._input.cursor_position = len(longer)
        if not names:
            self._tell([[("nothing begins like that", "quiet")]])
        elif len(names) == 1:
            self._tell([])
        else:
            more = f"  and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
            self._tell([[(clean_text("  ".join(names[:_MOST_SHOWN])) + more, "")]])

    def _failed(self, error: PaimarkError) -> None:
        self._tell([[("! ", "warn"), (clean_text(error.message), "warn")]])

    def _tell(self, lines: list[Line]) -> None:
        self.show_text(self._text, lines or [[("→ ", "accent"), (clean_text(self._goal), "quiet")]])

    @property
    def _goal(self) -> str:
        return str(full_path(self._input.value)) if self._input.value.strip("\0 ") else ""
