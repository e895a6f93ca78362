"""The text of a sheet: whether it would be lost with the sheet, and the name of the sheet."""

from __future__ import annotations

from dataclasses import dataclass, replace

from paimark.tui.panes.sheets.sheet_bar import SheetName
from paimark.tui.query.sql_files import SqlFile


@dataclass(frozen=True, slots=True)
class SheetText:
    """`kept` is a text that is not lost with the sheet: the history has it, or it can be made again.

    `number` tells the sheets without a file apart.
    """

    kept: str = ""
    file: SqlFile | None = None
    number: int = 1

    def is_unsaved(self, text: str) -> bool:
        """Whether the text was typed, and neither saved nor run. The text of a file must be saved."""
        if self.file is not None:
            return text != self.file.text
        return bool(text.strip()) and text != self.kept

    def is_free(self, text: str) -> bool:
        """Whether another statement may replace the text."""
        return self.file is None and not self.is_unsaved(text)

    def after_run(self, text: str, ran: str) -> SheetText:
        """After a run the history has what ran; the text is kept if that was all of it."""
        is_all = _without_end(ran) == _without_end(text)
        return replace(self, kept=text) if is_all else self

    def name(self, text: str, *, running: bool) -> SheetName:
        is_unsaved = self.is_unsaved(text)
        if self.file is None:
            return SheetName(f"query {self.number}", is_unsaved, running)
        return SheetName(self.file.name, is_unsaved, running, self.file.path.parent.name)

    @property
    def loss(self) -> str:
        """The warning before it is closed unsaved."""
        if self.file is None:
            return "This text is neither saved nor run. The history keeps it."
        return f"What was changed in {self.file.name} is not saved. The history keeps the text."


def _without_end(text: str) -> str:
    return text.strip().removesuffix(";").strip()
