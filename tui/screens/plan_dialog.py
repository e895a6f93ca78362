"""The dialog of every action: its arguments, the plan they make, and only then the doing."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.timer import Timer
from textual.widgets import Input, Static

from core.actions.plan import Outcome, Plan
from core.actions.registry import Action, Argument
from core.errors import PaimarkError
from core.table.layout import TablePath
from core.text import clean_text
from tui.background import Slot, post
from tui.faults import unexpected
from tui.messages import Noted
from tui.plan_text import error_lines, outcome_lines, plan_lines
from tui.screens.dialog import Dialog
from tui.session import Session
from tui.widgets.choices import Choices
from tui.widgets.key_bar import KeyBar
from tui.widgets.lines import Line
from tui.widgets.scroll_lines import ScrollLines

State = Literal["asking", "planning", "planned", "applying", "done", "failed"]
CANCEL, APPLY, CLOSE = "Cancel", "Apply", "Close"
_CONFIRM = "confirm"
# How long after the last key a new plan is made.
_PAUSE = 0.25


class FieldInput(Input):
    """Says what Enter does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "to the plan", id="dialog.submit"),
        Binding("down", "app.focus_next", "next field", show=False, id="dialog.next"),
        Binding("up", "app.focus_previous", "field before", show=False, id="dialog.previous"),
    ]


class Field(Horizontal):
    """One argument: its name, and a place to write."""

    def __init__(self, name: str, help_: str, value: str) -> None:
        super().__init__()
        self.argument = name
        self.input = FieldInput(value, placeholder=help_, compact=True)

    def compose(self) -> ComposeResult:
        yield Static(self.argument, markup=False)
        yield self.input


class PlanDialog(Dialog[Outcome | None]):
    """Cancel has the focus whenever there is a plan; nothing is applied but the plan on the screen."""

    DEFAULT_CSS = """
    PlanDialog Field { height: 1; }
    PlanDialog Field Static { width: 14; color: $quiet; }
    PlanDialog Field Input { width: 1fr; background: $panel 50%; }
    PlanDialog ScrollLines { margin-top: 1; }
    PlanDialog Choices { height: 1; margin-top: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "cancel", key_display="esc", id="dialog.close"),
        Binding("a", "apply", "apply", id="dialog.apply"),
        Binding("c", "confirm", "confirm by its name", id="dialog.confirm"),
        Binding("e", "edit", "edit the arguments", id="dialog.edit"),
        Binding("r", "plan", "plan again", id="dialog.plan"),
        Binding("j,down", "scroll(1)", "scroll", key_display="j k", id="dialog.down"),
        Binding("k,up", "scroll(-1)", "scroll back", show=False, id="dialog.up"),
        Binding("pagedown", "scroll(10)", "page down", show=False, id="dialog.page_down"),
        Binding("pageup", "scroll(-10)", "page up", show=False, id="dialog.page_up"),
    ]

    def __init__(
        self, session: Session, action: Action, table: TablePath, given: Mapping[str, object]
    ) -> None:
        super().__init__()
        self._session = session
        self._action = action
        self._table = table
        self._state: State = "asking"
        self._plan: Plan | None = None
        self._told: list[Line] = []
        self._timer: Timer | None = None
        self._outcome: Outcome | None = None
        self._fields = {
            argument.name: Field(
                argument.name, clean_text(argument.help), _text(given.get(argument.name, argument.default))
            )
            for argument in action.arguments
        }
        self._text = ScrollLines()
        self._text.can_focus = False
        self._choices = Choices([CANCEL])

    def compose(self) -> ComposeResult:
        with self.framed(f"{self._action.name} · {self._table.full_name}"):
            yield from self._fields.values()
            if self._action.danger == "destructive":
                self._fields[_CONFIRM] = Field(_CONFIRM, f"type {self._phrase} to confirm", "")
                yield self._fields[_CONFIRM]
            yield self._text
            yield self._choices
            yield KeyBar()

    def on_mount(self) -> None:
        self._planning: Slot[Plan] = Slot(self.app, "plan", self._planned, self._not_planned)
        empty = self._first_missing
        if empty is None:
            self.set_focus(self._choices)
        else:
            self.set_focus(empty.input)
        self.call_after_refresh(self.action_plan)

    # Arguments

    @property
    def _first_missing(self) -> Field | None:
        for argument in self._action.arguments:
            if argument.required and not self._fields[argument.name].input.value.strip():
                return self._fields[argument.name]
        return None

    @property
    def _phrase(self) -> str:
        """What a destructive action has typed to confirm it: the name of what goes, else the table's."""
        name = self._fields.get("name")
        return name.input.value if name is not None and name.input.value else self._table.full_name

    def _arguments(self) -> dict[str, object]:
        values: dict[str, object] = {}
        for argument in self._action.arguments:
            text = self._fields[argument.name].input.value.strip()
            if text:
                values[argument.name] = _value(argument, text)
        return values

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._state in ("applying", "done"):
            return
        if event.input is not self._confirmation:
            # The plan on the screen is of other arguments now: it can't be applied any more.
            self._plan = None
            self._state = "asking"
            if self._timer is not None:
                self._timer.stop()
            self._timer = self.set_timer(_PAUSE, self.action_plan)
        self._offer()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        missing = self._first_missing
        if missing is not None and missing.input is not event.input:
            self.set_focus(missing.input)
            return
        if missing is None:
            if self._plan is None:
                self.action_plan()
            self.set_focus(self._choices)

    @property
    def _confirmation(self) -> Input | None:
        field = self._fields.get(_CONFIRM)
        return None if field is None else field.input

    # Planning

    def action_plan(self) -> None:
        if self._state in ("applying", "done"):
            return
        missing = self._first_missing
        if missing is not None:
            self._planning.drop()
            self._state = "asking"
            self._show(
                [
                    [(clean_text(self._action.summary), "strong")],
                    [("", "")],
                    [(f"Say the {missing.argument}.", "quiet")],
                ]
            )
            return
        if self._timer is not None:
            self._timer.stop()
        self._state, self._plan = "planning", None
        if not self._told:
            self._show([[("Reading what it takes …", "quiet")]])
        action, table, session = self._action, self._table, self._session
        try:
            arguments = self._arguments()
        except PaimarkError as error:
            self._not_planned(error)
            return
        self._planning.ask(lambda report: report(action.plan(session.context, table, arguments)))

    def _planned(self, plan: Plan) -> None:
        self._plan, self._state = plan, "planned"
        self._show(plan_lines(plan, self._table.directory))

    def _not_planned(self, error: PaimarkError) -> None:
        self._plan, self._state = None, "failed"
        self._show(error_lines(error)[1:])

    # Doing

    @property
    def _can_be_done(self) -> bool:
        return self._plan is not None and not self._plan.refusals and not self._plan.empty

    @property
    def _allowed(self) -> bool:
        confirmation = self._confirmation
        return self._can_be_done and (confirmation is None or confirmation.value == self._phrase)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "apply":
            return self._allowed and self._state == "planned"
        if action == "confirm":
            return self._can_be_done and not self._allowed and self._state == "planned"
        if action in ("edit", "plan"):
            return self._state in ("asking", "planned", "failed") and bool(self._fields)
        if action == "close":
            return self._state != "applying"
        return True

    def action_apply(self) -> None:
        plan = self._plan
        if plan is None or not self._allowed or self._state != "planned":
            return
        self._state = "applying"
        self._show([*self._told, [("", "")]])
        self.set_focus(self._choices)
        app = self.app

        def work() -> None:
            try:
                outcome = self._action.apply(
                    self._session.context, plan, lambda line: post(app, lambda: self._step(line))
                )
            except PaimarkError as error:
                problem = error
                post(app, lambda: self._failed(problem))
            except Exception as error:
                # The edge of the thread: a fault in the middle of a change must be said above all others.
                unforeseen = unexpected(error)
                post(app, lambda: self._failed(unforeseen))
            else:
                post(app, lambda: self._done(outcome))

        threading.Thread(target=work, name=f"paimark-{plan.action}", daemon=True).start()

    def _step(self, line: str) -> None:
        self._show([*self._told, [("  · ", "accent"), (clean_text(line), "")]], from_end=True)
        self.post_message(Noted(f"{self._action.name} {self._table.full_name}: {line}"))

    def _done(self, outcome: Outcome) -> None:
        self._state, self._outcome = "done", outcome
        self._show([*self._told, *outcome_lines(outcome)], from_end=True)
        self.post_message(Noted(outcome.message, "good"))

    def _failed(self, error: PaimarkError) -> None:
        self._state, self._plan = "failed", None
        self._show([*self._told, *error_lines(error)], from_end=True)
        self.post_message(Noted(f"{self._action.name} {self._table.full_name}: {error.message}", "bad"))

    @property
    def applying(self) -> bool:
        return self._state == "applying"

    def _show(self, lines: list[Line], *, from_end: bool = False) -> None:
        self._told = lines
        self._offer()
        self.show_text(self._text, lines, from_end=from_end)
        self.refresh_bindings()

    def _offer(self) -> None:
        if self._state == "applying":
            self._choices.offer([])
        elif self._state == "done":
            self._choices.offer([CLOSE])
        else:
            self._choices.offer([CANCEL, APPLY] if self._allowed else [CANCEL])

    # Keys

    def on_choices_chosen(self, event: Choices.Chosen) -> None:
        if event.label == APPLY:
            self.action_apply()
        else:
            self.action_close()

    def action_confirm(self) -> None:
        self.set_focus(self._confirmation)

    def action_edit(self) -> None:
        for field in self._fields.values():
            self.set_focus(field.input)
            return

    def action_scroll(self, lines: int) -> None:
        self._text.action_scroll(lines)

    def action_close(self) -> None:
        self.dismiss(self._outcome)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _value(argument: Argument, text: str) -> object:
    """What was typed, as the action takes it; a number that is none is left for the action to refuse."""
    if argument.kind == "int" and text.isascii() and text.isdigit():
        return int(text)
    if argument.kind == "flag":
        return text.lower() in ("1", "yes", "true", "on")
    return text
