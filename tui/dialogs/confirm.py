"""Ask before an operation that removes rows or a text; Cancel has the focus."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from paimark.core.text import clean_text
from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.keymap import steps
from paimark.tui.named_keys import key
from paimark.tui.widgets.choices import Choices
from paimark.tui.widgets.grid.scroll_lines import ScrollLines

_CANCEL = "Cancel"


class ConfirmScreen(Dialog[bool]):
    """The result is true if the person agrees."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "agree", "do it", id="confirm.agree"),
        *steps("confirm", "scroll", up="up,k", down="down,j"),
    ]

    def __init__(
        self, question: str, statement: str, *, title: str = "Rows will be removed", agree: str = "Run it"
    ) -> None:
        """`statement` is the text in question; `agree` is the label of the button that agrees."""
        self._text = ScrollLines(lambda: key("confirm.down"))
        self._choices = Choices([_CANCEL, agree])
        super().__init__(title, self._text, self._choices)
        self._agree = agree
        self._question = question
        self._statement = statement

    def on_mount(self) -> None:
        statement = [[(clean_text(line), "")] for line in self._statement.strip().splitlines()]
        lines = [[("! ", "warn"), (self._question, "strong")], [("", "")], *statement]
        self.show_text(self._text, lines)
        self.set_focus(self._choices)

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        self.dismiss(event.label == self._agree)

    def action_scroll(self, lines: int) -> None:
        self._text.action_scroll(lines)

    def action_agree(self) -> None:
        self.dismiss(True)

    def action_close(self) -> None:
        self.dismiss(False)
