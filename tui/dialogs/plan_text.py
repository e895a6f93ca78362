"""A plan as lines: what a person must read before saying yes."""

from __future__ import annotations

from core.actions.plan import Outcome, Plan, Step
from core.errors import PaimarkError
from core.figures import counted, size
from core.text import clean_text
from tui.theme import Line

_LABEL = 9


def plan_lines(plan: Plan, directory: str) -> list[Line]:
    """Refusals and warnings before the steps: they decide. Paths are shown from the table's `directory`."""
    lines: list[Line] = [[(clean_text(plan.summary), "strong")]]
    for refusal in plan.refusals:
        lines += [_blank(), _labelled("REFUSED", "alarm", refusal.reason, "bad")]
        lines += [_labelled("", "", refusal.hint, "quiet")] if refusal.hint else []
    lines += [_blank()] if plan.warnings else []
    lines += [_labelled("! note", "warn", warning, "") for warning in plan.warnings]
    if plan.empty:
        return [*lines, _blank(), [("There is nothing to do.", "quiet")]]
    lines += [_blank()] if plan.steps else []
    lines += [_step(step, directory) for step in plan.steps]
    if plan.freed_files:
        freed = f"{counted(plan.freed_files, 'file')}, {size(plan.freed_bytes)}"
        lines.append(_labelled("frees", "warn", freed, ""))
    lines += [_blank()] if plan.kept or plan.undo else []
    lines += [_labelled("kept", "good", kept, "") for kept in plan.kept]
    lines += [_labelled("undo", "quiet", plan.undo, "")] if plan.undo else []
    return lines


def outcome_lines(outcome: Outcome) -> list[Line]:
    """The message of a finished action, and the command that takes it back."""
    lines: list[Line] = [_blank(), [("✓ done   ", "good"), (clean_text(outcome.message), "strong")]]
    if outcome.undo:
        lines.append(_labelled("undo", "quiet", outcome.undo, ""))
    return lines


def error_lines(error: PaimarkError) -> list[Line]:
    lines: list[Line] = [_blank(), [("✗ failed ", "alarm"), (clean_text(error.message), "bad")]]
    if error.hint:
        lines.append(_labelled("", "", error.hint, "quiet"))
    return lines


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
