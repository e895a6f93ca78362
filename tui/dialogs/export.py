"""`ctrl+e`: ask for the file for the rows of a result."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from paimark.core.export import FORMATS
from paimark.core.text import clean_text
from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.query.sql_files import full_path
from paimark.tui.theme import Line
from paimark.tui.widgets.clean_input import CleanInput
from paimark.tui.widgets.grid.scroll_lines import ScrollLines
from paimark.tui.widgets.key_bar import KeyBar


class NameInput(CleanInput):
    """An input that shows its key."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "submit", "write the file", id="export.write")]


class ExportScreen(Dialog[Path]):
    """The result is the path; an existing file is never overwritten."""

    DEFAULT_CSS = """
    ExportScreen Input { height: 1; background: $panel 50%; }
    ExportScreen ScrollLines { margin-top: 1; }
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what
        self._input = NameInput(placeholder=f"a name ending in {', '.join(FORMATS)}", compact=True)
        self._text = ScrollLines(lambda: "")

    def compose(self) -> ComposeResult:
        with self.framed("Export the rows"):
            yield self._input
            yield self._text
            yield KeyBar()

    def on_mount(self) -> None:
        self._tell()
        self.set_focus(self._input)

    def on_input_changed(self) -> None:
        self._tell()

    def on_input_submitted(self) -> None:
        if self._problem is None:
            self.dismiss(self._path)
        else:
            self._tell(pressed=True)

    @property
    def _path(self) -> Path:
        # Not by `Path`, which raises errors for names that no file can have.
        return Path(os.path.expanduser(self._input.value.strip()))

    @property
    def _problem(self) -> str | None:
        path = self._path
        if path.suffix.lower() not in FORMATS:
            return f"End the name with one of {', '.join(FORMATS)}: it says the format."
        if os.path.lexists(path):
            return f"{path} exists and is not written over: choose another name."
        if not os.path.isdir(path.parent):
            return f"There is no directory {path.parent}."
        return None

    def _tell(self, *, pressed: bool = False) -> None:
        lines: list[Line] = [[(self._what, "")]]
        problem = self._problem
        if problem is not None and (pressed or self._path.suffix):
            lines.append([("! ", "warn"), (clean_text(problem), "warn")])
        elif problem is None:
            lines.append([("→ ", "accent"), (clean_text(full_path(str(self._path))), "quiet")])
        self.show_text(self._text, lines)
