"""The dialog of every action: its arguments, then its plan, and only then the change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import ClassVar, Literal

from textual.binding import BindingType
from textual.timer import Timer
from textual.widgets import Input

from paimark.core.actions.context import Context
from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.merge.conflict_lines import MERGE
from paimark.core.actions.merge.resolution import Between
from paimark.core.actions.plan import Instead, Outcome, Plan
from paimark.core.actions.recover_first import Recovery, plan_to_apply, recovery
from paimark.core.actions.registry import Action, action, conflicting
from paimark.core.cancelling import Cancellation, cancellable
from paimark.core.errors import PaimarkError, UsageError
from paimark.core.table.layout import TablePath
from paimark.core.text import clean_text
from paimark.tui.dialogs.argument_fields import ArgumentFields, FieldHelp, FieldRows, known_lines
from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.dialogs.plan_text import PLAN_KEYS, by_fields, error_lines, outcome_lines, plan_lines
from paimark.tui.messages import StatusShown
from paimark.tui.named_keys import key
from paimark.tui.session import Session
from paimark.tui.theme import Line
from paimark.tui.widgets.choices import Choices
from paimark.tui.widgets.grid.scroll_lines import ScrollLines
from paimark.tui.work.background import Slot, ThreadReport
from paimark.tui.work.jobs import NO_RETURN
from paimark.tui.work.running_change import RunningChange

DialogState = Literal["asking", "planning", "planned", "applying", "done", "failed"]
CANCEL, APPLY, CLOSE = "Cancel", "Apply", "Close"
LEAVE, STOP, RECOVER = "To the background", "Cancel it", "Recover it first"
# The argument that names a file of choices.
_RESOLVE = "resolve"
_READING = "Reading what it takes …"
_STARTING = "Spark is starting: the plan is made when it is ready …"
# A terminal with fewer lines has no blank ones in its dialogs.
_TIGHT = 16
# The lines of a dialog that are for no field: its frame, three of text, two of help, buttons and keys.
_BESIDE_FIELDS = 10
# How long after the last key a new plan is made, in seconds.
_PAUSE = 0.25
# How often the elapsed time of a change is updated, in seconds.
_TICK = 0.5


def _named(instead: Instead) -> str:
    """The button that opens its plan: `Plan revert`."""
    return f"Plan {instead.action}"


class PlanDialog(Dialog[Outcome | None]):
    """Cancel has the focus whenever there is a plan; it applies only the plan on the screen.

    Closing it does not stop a running change that it is given.
    """

    DEFAULT_CSS = """
    PlanDialog FieldRows, PlanDialog > Vertical > ArgumentField { margin-top: 1; }
    PlanDialog.-tight FieldRows, PlanDialog.-tight ArgumentField, PlanDialog.-tight Choices { margin-top: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = PLAN_KEYS

    def __init__(
        self,
        session: Session,
        action: Action,
        table: TablePath,
        given: Mapping[str, object],
        change: RunningChange | None = None,
        *,
        statement: str = "",
    ) -> None:
        """`statement` is the one that asks for the action, if it is of a statement."""
        self._fields = ArgumentFields(action, given)
        self._rows = FieldRows(*self._fields)
        self._help = FieldHelp(markup=False)
        # In a field letters are text, so the named key is no letter.
        self._text = ScrollLines(lambda: key("dialog.page_down"))
        self._choices = Choices([CANCEL])
        # The fields are for one object: a change of many has none.
        fields = (self._rows, self._help) if change is None or not change.plan.parts else ()
        super().__init__(
            f"{action.name} · {table.full_name}",
            *(self._text, *fields, self._fields.confirmation, self._choices),
        )
        self._statement = statement
        self._session = session
        self._action = action
        self._table = table
        self._state: DialogState = "asking" if change is None else "applying"
        self._plan: Plan | None = None
        self._lines: list[Line] = []
        self._at_end = False
        self._above: list[Line] = []
        self._timer: Timer | None = None
        # True until its first plan begins.
        self._is_new = change is None
        self._outcome: Outcome | None = None
        self._change = change
        # The existing names for arguments, by argument.
        self._known: Mapping[str, Line] = {}
        # Of an interrupted change that is in the way of the plan, if it needs no person.
        self._recovery: Recovery | None = None
        # The dialog of the action that does what the refused plan would have done.
        self._other: PlanDialog | None = None
        # Cancels the plan that is being made.
        self._counting = Cancellation()
        branch = given.get("branch")
        self._begun_on = None if branch is None else str(branch)
        # Until a person edits them, arguments that are there are one line below the plan.
        self._is_edited = self._fields.first_missing is not None
        self._is_open = False

    def on_mount(self) -> None:
        self._make_room()
        self._planning: Slot[Plan] = Slot(self.app, "plan", self._planned, self._not_planned)
        # The names only help: an error is ignored.
        self._naming: Slot[Mapping[str, Line]] = Slot(self.app, "names", self._read_names, lambda error: None)
        self._looking: Slot[Recovery | None] = Slot(
            self.app, "recovery", self._in_the_way, lambda error: None
        )
        self.set_interval(_TICK, self._tick)
        if self._change is not None:
            self.set_focus(self._choices)
            self._watch(self._change)
            return
        missing = self._fields.first_missing
        if missing is not None:
            session, table, action, branch = self._session, self._table, self._action.name, self._begun_on
            self._naming.ask(lambda report: report(known_lines(session.files, table, action, branch)))
        self.set_focus(self._choices if missing is None else missing.input)
        # After the fields' first `Changed` messages, which would drop the plan.
        self.call_after_refresh(self.action_plan)

    def on_resize(self) -> None:
        self._make_room()
        self.show_text(self._text, self._lines, from_end=self._at_end)

    def _make_room(self) -> None:
        is_tight = self.app.size.height < _TIGHT
        self.set_class(is_tight, "-tight")
        self._rows.fit(self.app.size.height - _BESIDE_FIELDS - (0 if is_tight else 2))
        self._rows.display = self._rows.display and self._is_edited

    # Arguments

    def on_descendant_focus(self) -> None:
        field = self.focused
        is_argument = field is not self._fields.confirmation.input
        self._help.tell(field if is_argument else None, self.text_width(self._text))
        self.show_text(self._text, self._lines, from_end=self._at_end)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._state in ("applying", "done"):
            return
        is_said = self._fields.is_message(event.input) and not self._fields.problem
        if event.input is not self._fields.confirmation.input and not (is_said and self._plan is not None):
            # The arguments differ from those of the plan: it can't be applied any more, nor can one that is
            # still being made.
            if self._plan is not None:
                self._fields.unconfirm()
            self._planning.drop()
            self._plan = self._change = None
            self._state = "asking"
            if self._timer is not None:
                self._timer.stop()
            self._timer = self.set_timer(_PAUSE, self.action_plan)
        self._offer()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        missing = self._fields.first_missing
        if missing is not None and missing.input is not event.input:
            self.set_focus(missing.input)
            return
        if missing is None:
            if self._plan is None:
                self.action_plan()
            self.set_focus(self._choices)

    # Planning

    def action_plan(self) -> None:
        self._ask_for_plan()

    def _ask_for_plan(self, *, recovers: bool = False) -> None:
        self._is_new = False
        if self._state in ("applying", "done"):
            return
        if self._state in ("planned", "failed"):
            self._fields.unconfirm()
        self._is_open = False
        if problem := self._fields.problem:
            self._planning.drop()
            self._state = "asking"
            self._show_problem(problem)
            return
        if self._timer is not None:
            self._timer.stop()
        self._state, self._plan, self._change, self._recovery = "planning", None, None, None
        self._looking.drop()
        self._counting.cancel()
        self._counting = Cancellation()
        make = partial(self._make_plan, self._counting, self._fields.values, recovers)
        self._planning.ask(make, partial(self._is_slow, self._lines))

    def _show_problem(self, problem: str) -> None:
        """Show which argument is missing, and its possible names, once those are read."""
        names = [self._known[each.argument] for each in self._fields.missing if each.argument in self._known]
        lines = [[(clean_text(self._action.summary), "strong")], [("", "")], [(clean_text(problem), "quiet")]]
        self._show([*lines, *names])

    def _read_names(self, known: Mapping[str, Line]) -> None:
        self._known = known
        if self._state == "asking" and (problem := self._fields.problem):
            self._show_problem(problem)

    def _is_slow(self, before: list[Line]) -> None:
        # A plan of before must not be taken for the new one; progress stays.
        if self._lines is before:
            self._show([[(self._waiting, "quiet")]])

    @property
    def _waiting(self) -> str:
        """What a plan that takes long waits for. Statements that change rows are planned with Spark."""
        needs_spark = self._statement and self._action.name not in DECLARED
        return _STARTING if needs_spark and self._session.room.state == "starting" else _READING

    def _make_plan(
        self, counting: Cancellation, arguments: dict[str, object], recovers: bool, report: ThreadReport[Plan]
    ) -> None:
        """Make the plan, after a recovery if it `recovers`. Called in a thread."""
        context = replace(
            self._session.context, progress=lambda line: report.meanwhile(lambda: self._counted(line))
        )
        make = partial(plan_to_apply, self._action) if recovers else self._action.plan
        plan = partial(make, context, self._table, arguments)
        with cancellable(counting):
            report(self._session.within_warehouse(plan))

    def _counted(self, line: str) -> None:
        """Show the progress of a plan, which may take minutes."""
        self._show([[(_READING, "quiet")], [("  · ", "accent"), (clean_text(line), "")]])

    def _planned(self, plan: Plan) -> None:
        self._plan, self._state = plan, "planned"
        self._show(self._plan_lines(plan))
        if plan.refusals:
            self._look_for_recovery()

    def _look_for_recovery(self) -> None:
        self._looking.ask(lambda report: report(recovery(self._session.context, self._table)))

    def _in_the_way(self, found: Recovery | None) -> None:
        if found is not None and self._is_over:
            self._recovery = found
            self._show(
                [
                    *self._lines,
                    [("", "")],
                    [(f"{found.of} can be recovered first, and this planned anew.", "")],
                ]
            )

    def _plan_lines(self, plan: Plan) -> list[Line]:
        lines = plan_lines(plan, self._table.directory, with_steps=self._is_open)
        if not self._is_edited and (said := self._fields.said):
            lines += [[("", "")], [(clean_text(said), "quiet")]]
        return lines

    def action_steps(self) -> None:
        """Show the steps of the plan, or fold them again."""
        self._is_open = not self._is_open
        if self._plan is not None and self._state == "planned":
            self._show(self._plan_lines(self._plan))

    def _not_planned(self, error: PaimarkError) -> None:
        self._plan, self._state = None, "failed"
        if isinstance(error, UsageError) and not self._is_edited:
            # It was chosen by its name, and one of several arguments has to be given.
            self._state = "asking"
            self._open_fields()
            self._show_problem(f"{error.message}. {by_fields(error.hint)}")
            return
        self._show(error_lines(error, self._statement, self.text_width(self._text))[1:])
        self._look_for_recovery()

    # The change

    @property
    def change(self) -> RunningChange | None:
        """The change that the dialog has begun, or was opened for; that of the action it offered instead."""
        return self._change or (self._other.change if self._other is not None else None)

    @property
    def _can_be_done(self) -> bool:
        return self._plan is not None and not self._plan.refusals and not self._plan.empty

    @property
    def _is_over(self) -> bool:
        """Whether there is nothing to cancel: it is done, has failed, is refused, or does nothing."""
        return self._state in ("done", "failed") or (self._state == "planned" and not self._can_be_done)

    @property
    def _allowed(self) -> bool:
        return self._can_be_done and self._fields.is_confirmed

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("apply", "confirm"):
            return self._state == "planned" and self._can_be_done and self._allowed == (action == "apply")
        if action == "conflicts":
            return self._compared is not None
        if action in ("edit", "plan"):
            is_open = self._state in ("asking", "planned", "failed")
            return is_open and (action == "plan" or any(self._fields))
        if action == "steps":
            return self._state == "planned" and self._can_be_done and bool(self._plan and self._plan.steps)
        if action in ("close", "finish", "leave"):
            end = "finish" if self._is_over else "close"
            return action == {"applying": "leave"}.get(self._state, end)
        return True

    def action_apply(self) -> None:
        plan = self._plan
        if plan is None or not self._allowed or self._state != "planned":
            return
        session = self._session
        change = RunningChange(
            self.app,
            lambda: session.context,
            session.room,
            session.changes,
            session.jobs,
            session.show_change,
            self._action,
            self._fields.noted(plan),
        )
        self._watch(change)

    def _watch(self, change: RunningChange) -> None:
        """Show the progress of a change below its plan."""
        self._state, self._change = "applying", change
        self._above = [*plan_lines(change.plan, self._table.directory), [("", "")]]
        self._is_edited = False
        self._make_room()
        change.watcher = self._look
        self.set_focus(self._choices)
        self._look()

    def _tick(self) -> None:
        if self._state == "applying" and self._change is not None:
            self._change.tick()
        elif self._lines in ([[(_READING, "quiet")]], [[(_STARTING, "quiet")]]):
            self._show([[(self._waiting, "quiet")]])

    def _look(self) -> None:
        change = self._change
        assert change is not None
        if change.error is not None:
            self._state, self._plan = "failed", None
            end = error_lines(change.error)
        elif change.outcome is not None:
            self._state, self._outcome = "done", change.outcome
            end = outcome_lines(change.outcome)
        else:
            end = [change.line]
        self._show([*self._above, *change.lines, *end], from_end=True)

    def _show(self, lines: list[Line], *, from_end: bool = False) -> None:
        self._lines, self._at_end = lines, from_end
        self._ask_for_agreement()
        self._offer()
        self.show_text(self._text, lines, from_end=from_end)
        self.refresh_bindings()

    def _ask_for_agreement(self) -> None:
        """Ask for the phrase of the plan. The field stays while a plan with the same phrase is made."""
        if self._state == "planning":
            return
        plan = self._plan if self._state == "planned" and self._can_be_done else None
        phrase = "" if plan is None else plan.ask.phrase
        if not phrase and self._fields.confirmation.input.has_focus:
            self.set_focus(self._choices)
        self._fields.ask(phrase)

    def _offer(self) -> None:
        if self._state == "applying":
            stops = self._change is not None and self._change.can_be_cancelled
            self._choices.offer([LEAVE, STOP] if stops else [LEAVE])
        else:
            ends = [CANCEL, APPLY] if self._allowed else [CANCEL]
            over = [CLOSE] if self._recovery is None else [CLOSE, RECOVER]
            over += [] if self._instead is None else [_named(self._instead)]
            self._choices.offer(over if self._is_over else ends)

    @property
    def _instead(self) -> Instead | None:
        """What does the same as the refused plan; nothing while a cut-off change is in the way of both."""
        if self._state != "planned" or self._plan is None or self._recovery is not None:
            return None
        return next((each.instead for each in self._plan.refusals if each.instead is not None), None)

    async def _open_other(self, instead: Instead) -> None:
        def closed(outcome: Outcome | None) -> None:
            if self.change is not None:
                self.dismiss(outcome)

        self._other = PlanDialog(self._session, action(instead.action), self._table, instead.arguments)
        await self.app.push_screen(self._other, closed)

    # Keys

    async def on_choices_chosen(self, event: Choices.Chosen) -> None:
        if (instead := self._instead) is not None and event.label == _named(instead):
            await self._open_other(instead)
            return
        act_of: dict[str, Callable[[], object]] = {
            LEAVE: self.action_leave,
            APPLY: self.action_apply,
            STOP: self.cancel,
            RECOVER: partial(self._ask_for_plan, recovers=True),
        }
        act_of.get(event.label, self.action_close)()

    def action_confirm(self) -> None:
        self.set_focus(self._fields.confirmation.input)

    def _open_fields(self) -> None:
        self._is_edited = True
        self._make_room()
        self.set_focus(next(iter(self._fields)).input)

    def action_edit(self) -> None:
        self._open_fields()
        if self._plan is not None and self._state == "planned":
            self._show(self._plan_lines(self._plan))

    @property
    def _compared(self) -> Plan | None:
        """The planned or failed merge or repair whose conflicts can be shown; else None."""
        failed = self._change.plan if self._state == "failed" and self._change is not None else None
        plan = self._plan if self._state == "planned" else failed
        if plan is None or not (plan.arguments.get("kind") == "keyed" or plan.arguments.get("conflicts")):
            return None
        return plan

    def waits_for(self, binding: str) -> str:
        """The event that a key must wait for. Keys that agree never wait: nobody has read the plan yet."""
        is_coming = self._state == "planning" or (self._is_new and not self._fields.problem)
        return "the plan is there" if is_coming and binding == "dialog.conflicts" else ""

    async def action_conflicts(self) -> None:
        if (plan := self._compared) is None:
            return
        from paimark.tui.dialogs.conflicts.screen import ConflictsScreen, RepairConflictsScreen

        def find(context: Context) -> Between:
            return conflicting(plan.action, context, self._table, plan.arguments)

        is_merge, file = plan.action == MERGE, self._fields.text(_RESOLVE)
        of = f"branch {plan.arguments['name']}" if is_merge else plan.action
        of += f" into {into}" if (into := plan.arguments.get("into")) else ""
        screen = ConflictsScreen if is_merge else RepairConflictsScreen
        await self.app.push_screen(screen(self._session, self._table, of, find, file), self._resolve)

    def _resolve(self, file: str | None) -> None:
        """Make a new plan with the choices for conflicts in this file; empty for no choices."""
        if file is not None and not self._fields.fill(_RESOLVE, file):
            # The name of the file is the same, but its content has changed.
            self.action_plan()

    def action_scroll(self, lines: int) -> None:
        self._text.action_scroll(lines)

    def cancel(self) -> bool:
        """Stop the running change, or the plan being made; return whether one runs."""
        if self._state == "planning" or self._is_new:
            self.action_close()
            return True
        if self._state == "applying" and self._change is not None and not self._change.cancel():
            self.app.post_message(StatusShown(NO_RETURN, "warn"))
        return self._state == "applying"

    def action_leave(self) -> None:
        assert self._change is not None
        self.app.post_message(
            StatusShown(f"{self._change.title} goes on: {key('browse.jobs')} finds it again")
        )
        self.action_close()

    def action_close(self) -> None:
        self.dismiss(self._outcome)

    action_finish = action_close

    def on_unmount(self) -> None:
        self._counting.cancel()
        self._planning.drop()
        self._looking.drop()
        self._naming.drop()
        # Another dialog may already watch the change.
        if self._change is not None and self._change.watcher == self._look:
            self._change.watcher = None
