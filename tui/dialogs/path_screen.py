"""Ask for the name of a file: of a .sql file to open or to save, or of one for the rows of a result."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input

from paimark.core.errors import PaimarkError
from paimark.core.export import FORMATS
from paimark.core.text import clean_text
from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.query.sql_files import completions, full_path
from paimark.tui.theme import Line
from paimark.tui.widgets.clean_input import CleanInput
from paimark.tui.widgets.grid.scroll_lines import ScrollLines
from paimark.tui.work.background import Slot

_MOST_SHOWN = 40
_Completed = tuple[str, tuple[str, list[str]]]


class PathLine(CleanInput):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "take it", id="path.take"),
        Binding("tab", "screen.complete", "complete", id="path.complete"),
    ]


class PathScreen(Dialog[Path]):
    """The result is a whole path. With `exists` the file must exist. Tab completes the name."""

    DEFAULT_CSS = """
    PathScreen Input { height: 1; background: $panel 50%; }
    PathScreen ScrollLines { margin-top: 1; }
    """

    def __init__(
        self,
        title: str,
        *,
        exists: bool,
        text: str = "",
        example: str = "a path, such as ~/queries/orders.sql",
    ) -> None:
        self._input = PathLine(text, placeholder=example, compact=True)
        self._input.select_on_focus = False
        self._text = ScrollLines(lambda: "")
        super().__init__(title, self._input, self._text)
        self._must_exist = exists

    def on_mount(self) -> None:
        self._completing: Slot[_Completed] = Slot(self.app, "path", self._completed, self._failed)
        self._tell()
        self.set_focus(self._input)

    def on_input_changed(self) -> None:
        self._tell()

    def on_input_submitted(self) -> None:
        if problem := self.problem(self._typed):
            self._tell(_warning(problem))
        else:
            self.dismiss(full_path(self._typed))

    @property
    def _typed(self) -> str:
        return self._input.value.strip()

    def problem(self, typed: str) -> str:
        """Why the file can't be taken; empty if it can."""
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
        return "" if os.path.isdir(path.parent) else f"There is no directory {path.parent}."

    # Completing

    def action_complete(self) -> None:
        typed = self._input.value
        self._completing.ask(lambda report: report((typed, completions(typed))))

    def _completed(self, completed: _Completed) -> None:
        typed, (longer, names) = completed
        if self._input.value != typed:
            return
        with self.prevent(Input.Changed):
            self._input.value = longer
        self._input.cursor_position = len(longer)
        if not names:
            self._tell([("nothing begins like that", "quiet")])
        elif len(names) == 1:
            self._tell()
        else:
            more = f"  and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
            self._tell([(clean_text("  ".join(names[:_MOST_SHOWN])) + more, "")])

    def _failed(self, error: PaimarkError) -> None:
        self._tell(_warning(error.message))

    def _tell(self, line: Line | None = None) -> None:
        """Show a line; without one the whole path."""
        self.show_text(self._text, [line or self._goal])

    @property
    def _goal(self) -> Line:
        goal = str(full_path(self._typed)) if self._typed.strip("\0") else ""
        return [("→ ", "accent"), (clean_text(goal), "quiet")]


class ExportScreen(PathScreen):
    """The file for rows of which `what` tells: an existing one is never overwritten."""

    def __init__(self, what: str) -> None:
        super().__init__("Export the rows", exists=False, example=f"a name ending in {', '.join(FORMATS)}")
        self._what = what

    def problem(self, typed: str) -> str:
        if Path(typed).suffix.lower() not in FORMATS:
            return f"End the name with one of {', '.join(FORMATS)}: it says the format."
        if os.path.lexists(os.path.expanduser(typed)):
            return f"{full_path(typed)} exists and is not written over: choose another name."
        return super().problem(typed)

    def _tell(self, line: Line | None = None) -> None:
        lines: list[Line] = [[(self._what, "")]]
        problem = self.problem(self._typed)
        if line is None and problem and Path(self._typed).suffix:
            line = _warning(problem)
        if line is not None or not problem:
            lines.append(line or self._goal)
        self.show_text(self._text, lines)


def _warning(problem: str) -> Line:
    return [("! ", "warn"), (clean_text(problem), "warn")]
