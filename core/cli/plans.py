"""Shows a plan as lines for a person: what is lost first, the steps only on request."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TextIO

import click

from paimark.core.actions.plan import Item, Outcome, Plan, Step, raise_first
from paimark.core.cli.options import GlobalOptions
from paimark.core.cli.output import show
from paimark.core.config import Settings
from paimark.core.errors import READ_ONLY, Refused
from paimark.core.export.json_rows import json_text
from paimark.core.figures import size
from paimark.core.redaction import redacted
from paimark.core.text import clean_text

_MANY = 40
_LABEL = 9
_WIDEST = 100
# The colour of an item by its kind; of what is lost, whatever its kind, red.
_INKS = {"unknown": "yellow", "affects": "yellow", "keeps": "green"}


class Say(Protocol):
    """Writes a line to a person, in a colour of click if the stream is a terminal."""

    def __call__(self, line: str, ink: str = "") -> object: ...


def say_plan(
    plan: Plan, say: Say, width: int | None, *, verbose: bool = False, headline: bool = True
) -> None:
    """Say the headline and each item; with `verbose` also each step. `width` is that of `terminal_width`."""
    if headline:
        say(plan.headline)
    _say_items(plan.lines, say, width, hint="" if verbose else "--verbose")
    if verbose:
        for line in _steps(plan):
            say(line)


def show_dry_run(plan: Plan, options: GlobalOptions) -> None:
    """Write a plan to stdout, and no more. Raises its first refusal; JSON has all of them."""
    if options.as_json or not plan.refusals:
        show_plans([plan], options)
    raise_first(plan.refusals)


def show_plans(plans: Sequence[Plan], options: GlobalOptions) -> None:
    """Write plans to stdout."""
    if options.as_json:
        click.echo(redacted(json_text([each.facts() for each in plans], indent=2)))
        return
    for plan in plans:
        say_plan(plan, show, terminal_width(sys.stdout), verbose=options.verbose)


def say_outcome(outcome: Outcome, say: Say, width: int | None) -> None:
    """Say what is needed after a change: where things are now, and how it is taken back."""
    _say_items(outcome.lines, say, width)


def terminal_width(stream: TextIO) -> int | None:
    """The width of lines; None for a pipe, where each item is one line."""
    return min(shutil.get_terminal_size().columns, _WIDEST) if stream.isatty() else None


def _say_items(items: Iterable[Item], say: Say, width: int | None, hint: str = "") -> None:
    """Say each item with its label, wrapped below its text. `hint` says how the steps are shown."""
    for item in items:
        label = ("! " if item.is_grave else "") + item.kind
        text = f"{item.text} ({hint})" if hint and item.kind == "how" else item.text
        ink = "red" if item.is_grave else _INKS.get(item.kind, "")
        for line in _wrapped(label, text, width):
            say(line, ink)


def _wrapped(label: str, text: str, width: int | None) -> Sequence[str]:
    if width is None:
        return (f"{label:<{_LABEL}}{text}",)
    return textwrap.wrap(
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


def require_writable(settings: Settings) -> None:
    """Raises `Refused` in read-only mode."""
    if settings.read_only:
        raise Refused(*READ_ONLY)


def require_terminal(unchanged: str = "Nothing was changed.") -> None:
    """Raises `Refused` if nobody can be asked; `unchanged` is its hint."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Refused("This needs --yes, because there is no terminal", unchanged)


def confirm(plan: Plan) -> None:
    """Return when a person has typed the phrase of the plan, if it has one. Raises `Refused` otherwise."""
    if not (phrase := plan.ask.phrase):
        return
    require_terminal(plan.unchanged)
    print(clean_text(f"Type {phrase} to go on (in scripts: --yes): "), end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() != phrase:
        raise Refused(f"That was not {phrase}", plan.unchanged)
