"""A plan as lines, for a person to read before agreeing."""

from __future__ import annotations

import re

from textual.binding import Binding, BindingType

from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.plan import Item, Outcome, Plan, Step
from paimark.core.errors import Cancelled, PaimarkError, StatementFailed
from paimark.core.figures import size
from paimark.core.text import clean_text
from paimark.core.travel.parse.statement import pointed
from paimark.tui.keymap import hidden
from paimark.tui.named_keys import key, palette_key
from paimark.tui.theme import Line

_LABEL = 9
# A command with no argument but the table, as in hints.
_COMMAND = re.compile(r"`paimark ([a-z-]+)(?: (?!--)[^` ]+)?`")

# Text in backquotes, which is a command, or an option outside of it.
_OPTION = re.compile(r"`[^`]*`|--([a-z][a-z-]*)")
_FIELDS = {argument.name for action in DECLARED.values() for argument in action.arguments}


# By kind of item: the ink of its label.
_INKS = {"unknown": "warn", "affects": "warn", "keeps": "good"}


def plan_lines(plan: Plan, directory: str, *, with_steps: bool = False) -> list[Line]:
    """The headline and the items in their order; of a refused plan only its reasons.

    `with_steps` adds the steps. Paths are relative to `directory`.
    """
    lines: list[Line] = []
    for refusal in plan.refusals:
        lines += [_blank()] if lines else []
        lines.append([("Refused: ", "alarm"), (clean_text(refusal.reason), "bad")])
        lines += [[(clean_text(by_keys(refusal.hint)), "quiet")]] if refusal.hint else []
    if plan.refusals:
        return lines
    lines.append([(clean_text(plan.headline), "strong")])
    lines += [_item(each) for each in plan.lines]
    if plan.empty:
        return [*lines, _blank(), [("There is nothing to do.", "quiet")]]
    if with_steps:
        lines += [_step(step, directory) for step in plan.steps]
    return lines


def outcome_lines(outcome: Outcome) -> list[Line]:
    """The message of a finished action, what is needed next, and how to undo it."""
    return [
        _blank(),
        [("✓ done   ", "good"), (clean_text(outcome.message), "strong")],
        *map(_item, outcome.lines),
    ]


def _item(item: Item) -> Line:
    label = ("! " if item.is_grave else "") + item.kind
    text = _way_back(item.text) if item.kind == "undo" else by_fields(item.text)
    if item.kind == "how":
        text += f" ({key('dialog.steps')})"
    if item.is_grave:
        return _labelled(label, "alarm", text, "bad")
    return _labelled(label, _INKS.get(item.kind, "quiet"), text, "")


def error_lines(error: PaimarkError, statement: str = "", width: int = 0) -> list[Line]:
    """The message, for an error in a `statement` its place, in lines of this width, and the hint."""
    message = clean_text(error.message)
    lines: list[Line] = [_blank()]
    if _is_of_a_cancel(error):
        # A cancellation is not a failure.
        lines.append([("! stopped ", "warn"), (message, "")])
    else:
        lines.append([("✗ failed ", "alarm"), (message, "bad")])
    if statement and isinstance(error, StatementFailed) and error.position is not None:
        # One cell is for the caret behind the last character.
        line, caret = pointed(statement, error.position, width - _LABEL - 1)
        lines += [_labelled("", "", line, ""), _labelled("", "", caret, "bad")]
    if error.hint:
        lines.append(_labelled("", "", by_keys(error.hint), "quiet"))
    return lines


def _is_of_a_cancel(error: PaimarkError) -> bool:
    """Whether it is due to a cancellation, also if some parts of a change of many were done before."""
    return any(isinstance(each, Cancelled) for each in (error, error.__cause__))


def by_keys(hint: str) -> str:
    """Replace commands in a hint by the palette's key and the name of the action, and options by fields."""

    def written(match: re.Match[str]) -> str:
        name = match[1]
        return f"`{palette_key()}` {name}" if name in DECLARED else match[0]

    return by_fields(_COMMAND.sub(written, hint))


def by_fields(text: str) -> str:
    """Replace each option of a command by the name of its field in the dialog."""

    def written(match: re.Match[str]) -> str:
        name = (match[1] or "").replace("-", "_")
        return f"`{name}`" if name in _FIELDS else match[0]

    return _OPTION.sub(written, text)


def _way_back(command: str) -> str:
    """The key for a command, if there is one, and the command."""
    command, comma, until = command.partition(",")
    if command.startswith("paimark undo "):
        return f"{key('act.undo')} takes it back{comma}{until} ({command})"
    if command.startswith("paimark redo "):
        return f"{key('act.redo')} does it again{comma}{until} ({command})"
    return command + comma + until


def _step(step: Step, directory: str) -> Line:
    target = step.target.removeprefix(directory + "/")
    details = [part for part in (step.detail, size(step.size) if step.size else "") if part]
    text = clean_text(target) + (f"  ({clean_text(', '.join(details))})" if details else "")
    return [(" " * _LABEL, ""), (f"{clean_text(step.verb)} {text}", "quiet")]


def _labelled(label: str, label_ink: str, text: str, ink: str) -> Line:
    return [(label.ljust(_LABEL), label_ink), (clean_text(text), ink)]


def _blank() -> Line:
    return [("", "")]


PLAN_KEYS: list[BindingType] = [
    Binding("escape", "close", "cancel", key_display="esc", id="dialog.close"),
    Binding("escape", "finish", "close", key_display="esc", id="dialog.finish"),
    Binding("escape", "leave", "to the background", key_display="esc", id="dialog.leave"),
    Binding("a", "apply", "apply", id="dialog.apply"),
    Binding("c", "confirm", "confirm", id="dialog.confirm"),
    Binding("i", "steps", "steps", tooltip="each step, and what it costs", id="dialog.steps"),
    Binding("v", "conflicts", "conflicts", tooltip="keys that both sides changed", id="dialog.conflicts"),
    Binding("e", "edit", "edit the arguments", id="dialog.edit"),
    Binding("r", "plan", "plan again", id="dialog.plan"),
    Binding("j,down", "scroll(1)", "scroll", key_display="j k", id="dialog.down"),
    hidden("dialog.up", "k,up", "scroll(-1)", "scroll back"),
    hidden("dialog.page_down", "pagedown", "scroll(10)", "page down"),
    hidden("dialog.page_up", "pageup", "scroll(-10)", "page up"),
]
