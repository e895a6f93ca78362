"""The text of a sheet: whether it would be lost with the sheet, and what the sheet is called."""

from __future__ import annotations

from dataclasses import dataclass

from tui.panes.sheets.sheet_bar import SheetName


@dataclass(frozen=True, slots=True)
class SheetText:
    """`kept` is the text that can be had again: from the history, or from where it was made."""

    kept: str = ""

    def is_unsaved(self, text: str) -> bool:
        """Whether it was typed, and neither saved nor run."""
        return bool(text.strip()) and text != self.kept

    def is_free(self, text: str) -> bool:
        """Whether another statement may take its place."""
        return not self.is_unsaved(text)

    def after_run(self, text: str, statement: str) -> SheetText:
        """The history has what was run: that may be one statement of several."""
        is_all = statement.strip() == text.strip().removesuffix(";").strip()
        return SheetText(text) if is_all else self

    def name(self, text: str, *, running: bool) -> SheetName:
        return SheetName("query", self.is_unsaved(text), running)
