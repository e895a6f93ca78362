"""The arguments of an action as lines to write on, and the words that confirm a destructive one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Static

from core.actions.registry import Action, Argument
from core.text import clean_text
from tui.keymap import hidden


class FieldInput(Input):
    """Says what Enter does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "to the plan", id="dialog.submit"),
        hidden("dialog.next", "down", "app.focus_next", "next field"),
        hidden("dialog.previous", "up", "app.focus_previous", "field before"),
    ]


class ArgumentField(Horizontal):
    """One argument: its name, and a place to write."""

    DEFAULT_CSS = """
    ArgumentField { height: 1; }
    ArgumentField Static { width: 14; color: $quiet; }
    ArgumentField Input { width: 1fr; background: $panel 50%; }
    """

    def __init__(self, name: str, help_: str, value: str = "") -> None:
        super().__init__()
        self.argument = name
        self.input = FieldInput(value, placeholder=help_, compact=True)

    def compose(self) -> ComposeResult:
        yield Static(self.argument, markup=False)
        yield self.input


class ArgumentFields:
    """The fields of an action on a table. `confirmation` is there where it is destructive."""

    def __init__(self, action: Action, table_name: str, given: Mapping[str, object]) -> None:
        self._arguments = action.arguments
        self._table_name = table_name
        self._fields = {
            argument.name: ArgumentField(
                argument.name, clean_text(argument.help), _text(given.get(argument.name, argument.default))
            )
            for argument in action.arguments
        }
        self.confirmation: ArgumentField | None = None
        if action.danger == "destructive":
            self.confirmation = ArgumentField("confirm", f"type {self._phrase} to confirm")

    def __iter__(self) -> Iterator[ArgumentField]:
        yield from self._fields.values()
        if self.confirmation is not None:
            yield self.confirmation

    @property
    def first_missing(self) -> ArgumentField | None:
        """The first that must be filled in."""
        required = (self._fields[each.name] for each in self._arguments if each.required)
        return next((field for field in required if not field.input.value.strip()), None)

    @property
    def is_confirmed(self) -> bool:
        return self.confirmation is None or self.confirmation.input.value == self._phrase

    @property
    def values(self) -> dict[str, object]:
        """What is filled in, by argument."""
        texts = {each: self._fields[each.name].input.value.strip() for each in self._arguments}
        return {argument.name: _value(argument, text) for argument, text in texts.items() if text}

    @property
    def _phrase(self) -> str:
        """The phrase that confirms a destructive action: the thing to delete, else the table's."""
        name = self._fields.get("name")
        return (name.input.value if name is not None else "") or self._table_name


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _value(argument: Argument, text: str) -> object:
    """The typed text as the action takes it; a number that is none is left for the action to refuse."""
    if argument.kind == "int" and text.isascii() and text.isdigit():
        return int(text)
    if argument.kind == "flag":
        return text.lower() in ("1", "yes", "true", "on")
    return text
