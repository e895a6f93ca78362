"""Shows a plan as lines for a person."""

from __future__ import annotations

from collections.abc import Callable

from paimark.core.actions.plan import Plan
from paimark.core.figures import counted, size

_MANY = 40


def say_plan(
    plan: Plan, say: Callable[[str], object], *, with_summary: bool = True, with_steps: bool = True
) -> None:
    """Say the summary, each step, what is kept and freed, warnings and refusals, one line each."""
    if with_summary:
        say(plan.summary)
    if with_steps:
        _say_steps(plan, say)
    for kept in plan.kept:
        say(f"  kept: {kept}")
    if plan.freed_files:
        say(f"  frees {counted(plan.freed_files, 'file')}, {size(plan.freed_bytes)}")
    for warning in plan.warnings:
        say(f"  warning: {warning}")
    for refusal in plan.refusals:
        say(f"  refused: {refusal.reason}")


def _say_steps(plan: Plan, say: Callable[[str], object]) -> None:
    for step in plan.steps[:_MANY]:
        parts = [
            step.verb,
            step.target,
            step.detail and f"({step.detail})",
            step.size and size(step.size),
        ]
        say("  " + " ".join(str(part) for part in parts if part))
    if len(plan.steps) > _MANY:
        say(f"  and {len(plan.steps) - _MANY:,} more steps (all of them: --dry-run --output json)")
