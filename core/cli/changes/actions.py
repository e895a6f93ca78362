"""Every action of the registry as a command: plan and steps on stderr, the outcome on stdout."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

import click

from core.actions.context import Context, open_context
from core.actions.plan import Outcome, Plan
from core.actions.registry import ACTIONS, Action, Argument, must_be_agreed_to
from core.cli.asking import confirm, require_writable
from core.cli.changes.saved_plans import save_plan
from core.cli.options import Given, GlobalCommand, given
from core.cli.output import narrate
from core.cli.plans import say_plan
from core.cli.query.answering import open_engine
from core.cli.query.narrator import Narrator
from core.errors import Refused
from core.export.json_rows import json_text
from core.redaction import redacted
from core.spark.client.client import Engine
from core.table.catalog import find_table
from core.text import clean_text


def action_command(name: str) -> click.Command | None:
    """The command of an action; None when there is no such action."""
    action = ACTIONS.get(name)
    if action is None:
        return None

    @click.pass_context
    def run(ctx: click.Context, /, table: str, **values: object) -> None:
        run_action(action, given(ctx), table, arguments_of(action, values))

    return GlobalCommand(name, callback=run, params=params_of(action), help=action.summary, makes_plans=True)


def params_of(action: Action) -> list[click.Parameter]:
    """The table, and an option an argument."""
    return [click.Argument(["table"], metavar="TABLE"), *map(_option, action.arguments)]


def arguments_of(action: Action, values: Mapping[str, object]) -> dict[str, object]:
    """The values of `params_of`, as the action takes them."""
    return {argument.name: values[_parameter(argument)] for argument in action.arguments}


def run_action(action: Action, options: Given, table_name: str, arguments: dict[str, object]) -> None:
    """Plan an action on a table and carry it out, as the global options say."""
    settings = options.settings()
    if action.danger != "safe" and not options.dry_run and options.plan_out is None:
        require_writable(settings)
    with closing(open_engine(settings)) as engine:
        _plan_and_apply(action, options, table_name, arguments, engine)


def _plan_and_apply(
    action: Action, options: Given, table_name: str, arguments: dict[str, object], engine: Engine
) -> None:
    settings = options.settings()
    context = open_context(settings.warehouse, settings.options, settings.read_only, lambda: engine)
    narrator = Narrator()
    planning = replace(context, progress=narrator.step)
    plan = action.plan(planning, find_table(context.files, table_name), arguments)
    narrator.clear()
    if options.plan_out is not None and not plan.refusals:
        say_plan(plan, narrate)
        save_plan(options.plan_out, context.files.uri, plan)
        narrate(f"To apply it: paimark apply {shlex.quote(str(options.plan_out))}")
        return
    carry_out(action, context, plan, options)


def carry_out(action: Action, context: Context, plan: Plan, options: Given) -> None:
    """Say a plan, ask for it where that is needed, and apply it. Raises its first refusal."""
    narrator = Narrator()
    if options.dry_run:
        _print_plan(plan, options)
    elif not plan.refusals:
        say_plan(plan, narrator.say, with_steps=narrator.is_live)
    for further in plan.refusals[1:]:
        narrate(f"refused: {further.reason}")
    if plan.refusals:
        raise Refused(plan.refusals[0].reason, plan.refusals[0].hint)
    if options.dry_run:
        return
    if must_be_agreed_to(action, plan) and not options.yes:
        confirm(plan.summary)
    outcome = action.apply(context, plan, narrator.step)
    narrator.clear()
    _print_outcome(outcome, options)


def _print_plan(plan: Plan, options: Given) -> None:
    if options.as_json:
        click.echo(redacted(json_text([plan], indent=2)))
    else:
        say_plan(plan, lambda line: click.echo(clean_text(redacted(line))))


def _print_outcome(outcome: Outcome, options: Given) -> None:
    if options.as_json:
        facts = {"action": outcome.action, "table": outcome.table, **outcome.result}
        click.echo(redacted(json_text([facts])))
    else:
        click.echo(clean_text(redacted(outcome.message)))
    if outcome.undo:
        narrate(f"To take it back: {outcome.undo}")


def _option(argument: Argument) -> click.Option:
    settings: dict[str, Any] = {"help": argument.help, "required": argument.required}
    if argument.default is not None:
        settings["default"] = argument.default
    if argument.kind == "flag":
        settings["is_flag"] = True
    elif argument.kind == "int":
        settings["type"] = int
    return click.Option([f"--{argument.name.replace('_', '-')}", _parameter(argument)], **settings)


def _parameter(argument: Argument) -> str:
    # Options of the action may be called as global ones are; click must not mix up their values.
    return f"action_{argument.name.replace('-', '_')}"
