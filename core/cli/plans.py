"""Shows a plan as lines for a person: what is lost first, the steps only on request."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

from paimark.core.actions.plan import Item, Outcome, Plan, Step
from paimark.core.figures import size

_MANY = 40
_LABEL = 9
_WIDEST = 100
Say = Callable[[str], object]


def say_plan(
    plan: Plan, say: Say, width: int | None, *, verbose: bool = False, headline: bool = True
) -> None:
    """Say the headline and each item; with `verbose` also each step. `width` is that of `terminal_width`."""
    if headline:
        say(plan.headline)
    for line in item_lines(plan.lines, width, hint="" if verbose else "--verbose"):
        say(line)
    if verbose:
        for line in _steps(plan):
            say(line)


def say_outcome(outcome: Outcome, say: Say, width: int | None) -> None:
    """Say what is needed after a change: where things are now, and how it is taken back."""
    for line in item_lines(outcome.lines, width):
        say(line)


def terminal_width(stream: TextIO) -> int | None:
    """The width of lines; None for a pipe, where each item is one line."""
    return min(shutil.get_terminal_size().columns, _WIDEST) if stream.isatty() else None


def item_lines(items: Iterable[Item], width: int | None, hint: str = "") -> Iterator[str]:
    """Each item with its label, wrapped below its text. `hint` says how the steps are shown."""
    for item in items:
        label = ("! " if item.is_grave else "") + item.kind
        text = f"{item.text} ({hint})" if hint and item.kind == "how" else item.text
        if width is None:
            yield f"{label:<{_LABEL}}{text}"
            continue
        yield from textwrap.wrap(
            text,
            width,
            initial_indent=f"{label:<{_LABEL}}",
            subsequent_indent=" " * _LABEL,
            break_long_words=False,
            break_on_hyphens=False,
        )


def _steps(plan: Plan) -> Iterator[str]:
    for step in plan.steps[:_MANY]:
        yield " " * _LABEL + step_text(step)
    if len(plan.steps) > _MANY:
        left = len(plan.steps) - _MANY
        yield " " * _LABEL + f"and {left:,} more steps (all of them: --dry-run --output json)"


def step_text(step: Step) -> str:
    """`copy warehouse/t/tag/tag-a (of snapshot 3) 812 B`."""
    parts = [step.verb, step.target, step.detail and f"({step.detail})", step.size and size(step.size)]
    return " ".join(str(part) for part in parts if part)
