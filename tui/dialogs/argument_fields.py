"""The arguments of an action as input fields, and the phrase that confirms a destructive one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Input, Static

from paimark.core.actions.declared.declaration import AUTHOR, MESSAGE
from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.declared.kinds import Argument
from paimark.core.actions.names import known_names
from paimark.core.actions.plan import Plan
from paimark.core.actions.registry import Action
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.notes import checked
from paimark.core.text import clean_text, width_of, wrap
from paimark.tui.keymap import hidden
from paimark.tui.theme import Line
from paimark.tui.widgets.clean_input import CleanInput


class FieldInput(CleanInput):
    """An input that shows its keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "to the plan", id="dialog.submit"),
        hidden("dialog.next", "down", "app.focus_next", "next field"),
        hidden("dialog.previous", "up", "app.focus_previous", "field before"),
    ]


class ArgumentField(Horizontal):
    """One argument: its name, and an input."""

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


class FieldHelp(Static):
    """What a field takes, where the field itself does not show it: it has a value, or too little room."""

    DEFAULT_CSS = """
    FieldHelp { color: $quiet; display: none; }
    """

    def tell(self, field: Widget | None, width: int) -> None:
        text = field.placeholder if isinstance(field, FieldInput) else ""
        is_shown = isinstance(field, FieldInput) and not field.value and width_of(text) < field.size.width
        lines = [] if is_shown or not text else wrap(text, width)
        self.display = bool(lines)
        self.styles.height = len(lines)
        self.update(Text("\n".join(lines)))


class FieldRows(Vertical):
    """The fields, one below the other. If there is no room for all, they scroll to the focused one."""

    DEFAULT_CSS = """
    FieldRows { overflow-y: auto; scrollbar-size-vertical: 1; }
    """

    def fit(self, most: int) -> None:
        """Show all fields, or as many as `most` lines have room for."""
        count = sum(child.display for child in self.children)
        # No height would show a blank line: a change of many has only the field that confirms.
        self.display = count > 0
        self.styles.height = max(1, min(count, most))


class ArgumentFields:
    """The fields of an action, and `confirmation`, for a plan by which something is lost.

    An argument that is given as a list has no field: the plan shows each value.
    """

    def __init__(self, action: Action, given: Mapping[str, object]) -> None:
        # The settings say who makes a change.
        self._arguments = [each for each in action.arguments if each is not AUTHOR]
        self._phrase = ""
        self._several = {name: value for name, value in given.items() if isinstance(value, list)}
        self._fields = {
            argument.name: ArgumentField(
                argument.name, _what_to_write(argument), _text(given.get(argument.name, argument.default))
            )
            for argument in self._arguments
            if argument.name not in self._several
        }
        self.confirmation = ArgumentField("confirm", "")
        self.confirmation.display = False

    def __iter__(self) -> Iterator[ArgumentField]:
        yield from self._fields.values()

    def ask(self, phrase: str) -> None:
        """Ask for the phrase of the plan that is shown; for none if nothing is lost by it."""
        if phrase != self._phrase:
            self.unconfirm()
        self._phrase, self.confirmation.display = phrase, bool(phrase)
        self.confirmation.input.placeholder = f"type {clean_text(phrase)} to go on"

    def unconfirm(self) -> None:
        """Empty the field that confirms: what was typed there was for the plan that was shown."""
        self.confirmation.input.value = ""

    @property
    def said(self) -> str:
        """The arguments as one quiet line: `name fix_prices · layout pointer`."""
        values = ((each.argument, each.input.value.strip()) for each in self._fields.values())
        flags = {each.name for each in self._arguments if each.takes is bool}
        return " · ".join(
            f"{name} {value}" for name, value in values if value and not (name in flags and value == "no")
        )

    @property
    def missing(self) -> Sequence[ArgumentField]:
        """The empty fields of required arguments, unless another is given in their place."""
        filled = {each.argument for each in self if each.input.value.strip()} | self._several.keys()
        return [
            self._fields[each.name]
            for each in self._arguments
            if (each.required or each.unless) and filled.isdisjoint({each.name, each.unless})
        ]

    @property
    def first_missing(self) -> ArgumentField | None:
        return next(iter(self.missing), None)

    @property
    def problem(self) -> str:
        """The reason why the values do not allow a plan; empty if they do."""
        if missing := self.missing:
            others = {each.name: f"{each.name} or {each.unless}" for each in self._arguments if each.unless}
            return f"Fill in: {', '.join(others.get(each.argument, each.argument) for each in missing)}."
        for argument, text in self._written():
            try:
                argument.read(text)
            except ValueError as error:
                return f"{argument.name} {error}."
        return ""

    @property
    def is_confirmed(self) -> bool:
        return self.confirmation.input.value == self._phrase

    @property
    def values(self) -> dict[str, object]:
        """The values by argument, if there is no `problem`."""
        return {**{each.name: each.read(text) for each, text in self._written()}, **self._several}

    def is_message(self, field: Input) -> bool:
        """Whether it is the field of the message, of which no plan depends."""
        return MESSAGE.name in self._fields and self._fields[MESSAGE.name].input is field

    def noted(self, plan: Plan) -> Plan:
        """The plan with the message that is written now."""
        if MESSAGE.name not in self._fields:
            return plan
        return plan.noted(checked(self.text(MESSAGE.name), plan.note.author))

    def _written(self) -> Iterator[tuple[Argument, str]]:
        """What is in the fields that are not empty."""
        for each in self._arguments:
            if each.name in self._fields and (text := self._fields[each.name].input.value.strip()):
                yield each, text

    def text(self, name: str) -> str:
        """What is in the field of an argument."""
        return self._fields[name].input.value.strip()

    def fill(self, name: str, value: str) -> bool:
        """Set the field of an argument; return whether the value changed."""
        field = self._fields[name]
        before, field.input.value = field.input.value, value
        return before != value


def _what_to_write(argument: Argument) -> str:
    return clean_text(f"yes or no. {argument.help}" if argument.takes is bool else argument.help)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


# The names on a line; a table may have thousands.
_MOST = 12


def known_lines(files: Files, table: TablePath, action: str, branch: str | None) -> Mapping[str, Line]:
    """A line for each argument that has to be given and names something; `branch` is that of the dialog.

    For a thread. Raises the errors of reads.
    """
    needed = [each for each in DECLARED[action].arguments if each.required or each.unless]
    known = ((each.name, known_names(each, files, table, branch)) for each in needed)
    return {name: _line(name, names) for name, names in known if names is not None}


def _line(argument: str, names: Sequence[str]) -> Line:
    more = f", and {len(names) - _MOST:,}\u00a0more" if len(names) > _MOST else ""
    # No line ends within a name, or between an operation's number and its action.
    unbroken = (clean_text(name).replace(" ", "\u00a0") for name in names[:_MOST])
    listed = ", ".join(unbroken) + more if names else "none is there yet"
    return [(f"{argument} is one of: " if names else f"{argument}: ", "quiet"), (listed, "")]
