"""A plan as lines, for a person to read before agreeing."""

from __future__ import annotations

import re

from paimark.core.actions.plan import Outcome, Plan, Step
from paimark.core.actions.registry import ACTIONS
from paimark.core.errors import Cancelled, PaimarkError
from paimark.core.figures import counted, size
from paimark.core.text import clean_text
from paimark.tui.named_keys import key, palette_key
from paimark.tui.theme import Line

_LABEL = 9
# A command with no argument but the table, as in hints.
_COMMAND = re.compile(r"`paimark ([a-z-]+)(?: (?!--)[^` ]+)?`")

# Text in backquotes, which is a command, or an option outside of it.
_OPTION = re.compile(r"`[^`]*`|--([a-z][a-z-]*)")
_FIELDS = {argument.name for action in ACTIONS.values() for argument in action.arguments}


def plan_lines(plan: Plan, directory: str) -> list[Line]:
    """Warnings come before the steps, as they matter more; a refused plan shows only its reasons.

    Paths are relative to `directory`.
    """
    lines: list[Line] = [[(clean_text(plan.summary), "strong")]]
    for refusal in plan.refusals:
        lines += [_blank(), _labelled("REFUSED", "alarm", refusal.reason, "bad")]
        lines += [_labelled("", "", by_keys(refusal.hint), "quiet")] if refusal.hint else []
    if plan.refusals:
        return lines
    lines += [_blank()] if plan.warnings else []
    lines += [_labelled("! note", "warn", by_fields(warning), "") for warning in plan.warnings]
    if plan.empty:
        return [*lines, _blank(), [("There is nothing to do.", "quiet")]]
    lines += [_blank()] if plan.steps else []
    lines += [_step(step, directory) for step in plan.steps]
    if plan.freed_files:
        freed = f"{counted(plan.freed_files, 'file')}, {size(plan.freed_bytes)}"
        lines.append(_labelled("frees", "warn", freed, ""))
    lines += [_blank()] if plan.kept or plan.undo else []
    lines += [_labelled("kept", "good", by_fields(kept), "") for kept in plan.kept]
    lines += [_labelled("undo", "quiet", _way_back(plan.undo), "")] if plan.undo else []
    return lines


def outcome_lines(outcome: Outcome) -> list[Line]:
    """The message of a finished action, and how to undo it."""
    lines: list[Line] = [_blank(), [("✓ done   ", "good"), (clean_text(outcome.message), "strong")]]
    if outcome.undo:
        lines.append(_labelled("undo", "quiet", _way_back(outcome.undo), ""))
    return lines


def error_lines(error: PaimarkError) -> list[Line]:
    message = clean_text(error.message)
    lines: list[Line] = [_blank()]
    if _is_of_a_cancel(error):
        # A cancellation is not a failure.
        lines.append([("! stopped ", "warn"), (message, "")])
    else:
        lines.append([("✗ failed ", "alarm"), (message, "bad")])
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
        return f"`{palette_key()}` {name}" if name in ACTIONS else match[0]

    return by_fields(_COMMAND.sub(written, hint))


def by_fields(text: str) -> str:
    """Replace each option of a command by the name of its field in the dialog."""

    def written(match: re.Match[str]) -> str:
        name = (match[1] or "").replace("-", "_")
        return f"`{name}`" if name in _FIELDS else match[0]

    return _OPTION.sub(written, text)


def _way_back(command: str) -> str:
    """The key for a command, if there is one, and the command."""
    if command.startswith("paimark undo "):
        return f"{key('act.undo', 'u')} takes it back ({command})"
    if command.startswith("paimark redo "):
        return f"{key('act.redo', 'U')} does it again ({command})"
    return command


def _step(step: Step, directory: str) -> Line:
    target = step.target.removeprefix(directory + "/")
    details = [part for part in (step.detail, size(step.size) if step.size else "") if part]
    ink = {"delete": "warn", "replace": "warn"}.get(step.verb, "accent")
    text = clean_text(target) + (f"  ({clean_text(', '.join(details))})" if details else "")
    return [(clean_text(step.verb).ljust(_LABEL), ink), (text, "")]


def _labelled(label: str, label_ink: str, text: str, ink: str) -> Line:
    return [(label.ljust(_LABEL), label_ink), (clean_text(text), ink)]


def _blank() -> Line:
    return [("", "")]
