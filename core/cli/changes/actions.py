"""Every action of the registry as a command: plan and steps on stderr, the outcome on stdout.

One person can save a plan in a file, and another apply it later.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import click
import msgspec

from paimark.core.actions.bulk.applying import PartlyDone
from paimark.core.actions.context import Context, context_of
from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.declared.kinds import Argument, DroppedId
from paimark.core.actions.plan import Outcome, Plan, raise_first
from paimark.core.actions.recover_first import plan_to_apply
from paimark.core.actions.registry import ACTIONS, Action, action
from paimark.core.actions.savepoints.create_savepoint import require_not_applied
from paimark.core.cli.changes.conflicts import CONFLICT_OPTIONS, only_looks
from paimark.core.cli.completing import DROPPED, TABLE, ArgumentType
from paimark.core.cli.options import GlobalCommand, GlobalOptions, global_options, takes_note
from paimark.core.cli.output import narrate, show
from paimark.core.cli.plans import (
    confirm,
    require_writable,
    say_outcome,
    say_plan,
    show_dry_run,
    terminal_width,
)
from paimark.core.cli.query.answering import Narrator, ended_by_signals, open_engine
from paimark.core.errors import Corrupt, NotFound, Refused, UsageError
from paimark.core.export.json_rows import json_text
from paimark.core.redaction import redacted
from paimark.core.spark.client.client import Engine
from paimark.core.table.lineage.notes import checked

# The parameter for values after the table.
_FOLLOWING = "following"
VERSION = 1
# A plan of a million steps is far smaller.
_LARGEST = 1 << 28


def action_command(name: str) -> click.Command | None:
    """The command of an action; None when there is no such action."""
    action = ACTIONS.get(name)
    if action is None:
        return None

    has_conflicts = any(each.name == "resolve" for each in action.arguments)

    @click.pass_context
    def run(ctx: click.Context, /, table: str, **values: object) -> None:
        options, arguments = global_options(ctx), arguments_of(action, values)
        if not has_conflicts or not only_looks(action, options, table, arguments, values):
            run_action(action, options, table, arguments)

    params = [*params_of(action), *(CONFLICT_OPTIONS if has_conflicts else ())]
    return GlobalCommand(name, callback=run, params=params, help=help_of(name), makes_plans=True)


def help_of(name: str) -> str:
    """The summary of an action, and all else that is to be said."""
    declared = DECLARED[name]
    return f"{declared.summary}\n\n{declared.more}".strip()


def params_of(action: Action) -> list[click.Parameter]:
    """The table, and one option per argument. Values of a required repeatable one may follow the table."""
    is_dropped = any(isinstance(each, DroppedId) for each in action.arguments)
    params: list[click.Parameter] = [
        click.Argument(["table"], metavar="TABLE", type=DROPPED if is_dropped else TABLE)
    ]
    for each in action.arguments:
        if each.many and each.required:
            metavar = f"[{each.name.upper()}]..."
            params.append(click.Argument([_FOLLOWING], metavar=metavar, nargs=-1, type=ArgumentType(each)))
    return [*params, *map(_option, action.arguments)]


def arguments_of(action: Action, values: Mapping[str, object]) -> dict[str, object]:
    """The values of `params_of`, as the action takes them. Raises `UsageError` if one is missing."""
    return {each.name: _argument_value(action, each, values) for each in action.arguments}


def _argument_value(action: Action, argument: Argument, values: Mapping[str, object]) -> object:
    """The value of one argument; a list if there are several."""
    value = values[_parameter(argument)]
    if not argument.many:
        return value
    following = values.get(_FOLLOWING) if argument.required else None
    several = [*cast(Iterable[object], following or ()), *cast(Iterable[object], value)]
    if not several and argument.required:
        hint = f"Give it after the table, or as --{argument.name}; several are one change."
        raise UsageError(f"{action.name} needs {argument.name}", hint)
    return several if len(several) > 1 else next(iter(several), None)


def run_action(action: Action, options: GlobalOptions, table_name: str, arguments: dict[str, object]) -> None:
    """Plan an action on a table and carry it out, as the global options demand."""
    settings = options.settings()
    if not options.dry_run and options.plan_out is None:
        require_writable(settings)
    with ended_by_signals(), closing(open_engine(settings)) as engine:
        _plan_and_apply(action, options, table_name, arguments, engine)


def _plan_and_apply(
    action: Action, options: GlobalOptions, table_name: str, arguments: dict[str, object], engine: Engine
) -> None:
    settings = options.settings()
    context = context_of(settings, lambda: engine)
    narrator = Narrator()
    planning = replace(context, progress=narrator.step)
    table = action.table(context.files, table_name)
    if options.dry_run or options.plan_out is not None:
        plan = action.plan(planning, table, arguments)
    else:
        plan = plan_to_apply(action, planning, table, arguments)
    narrator.clear()
    if options.plan_out is not None and not plan.refusals:
        say_plan(plan, narrate, terminal_width(sys.stderr), verbose=options.verbose)
        save_plan(options.plan_out, context.files.uri, plan)
        if options.as_json:
            facts = {"action": plan.action, "table": plan.table, "file": str(options.plan_out)}
            click.echo(redacted(json_text([facts])))
        narrate(f"To apply it: paimark apply {shlex.quote(str(options.plan_out))}")
        return
    carry_out(action, context, plan, options)


def carry_out(action: Action, context: Context, plan: Plan, options: GlobalOptions) -> None:
    """Show a plan, ask for consent if something is lost, and apply it. Raises its first refusal."""
    if options.dry_run:
        show_dry_run(plan, options)
        return
    raise_first(plan.refusals)
    narrator = Narrator()
    # The outcome of an empty plan is its headline, which should not appear twice.
    follows = plan.empty and not options.as_json
    say_plan(plan, narrator.say, terminal_width(sys.stderr), verbose=options.verbose, headline=not follows)
    if not options.yes:
        confirm(plan)
    try:
        outcome = action.apply(context, plan, narrator.step)
    except PartlyDone as error:
        narrator.clear()
        if error.outcome.parts:
            _print_outcome(error.outcome, options)
        raise
    narrator.clear()
    _print_outcome(outcome, options)
    if outcome.falls_short:
        raise click.exceptions.Exit(1)


def _print_outcome(outcome: Outcome, options: GlobalOptions) -> None:
    each_done = outcome.parts or (outcome,)
    if options.as_json:
        facts = [{"action": each.action, "table": each.table, **each.result} for each in each_done]
        click.echo(redacted(json_text(facts)))
    else:
        for each in each_done:
            show(each.message)
    say_outcome(outcome, narrate, terminal_width(sys.stderr))


def _option(argument: Argument) -> click.Option:
    settings: dict[str, Any] = {"help": argument.help, "required": argument.required}
    if argument.many:
        settings |= {
            "help": f"{argument.help} May be repeated: one change.",
            "required": False,
            "multiple": True,
        }
    if argument.takes is bool:
        settings["is_flag"] = True
    else:
        settings["type"] = ArgumentType(argument)
        if argument.default is not None:
            settings["default"] = argument.default
    return click.Option([argument.option, _parameter(argument)], **settings)


def _parameter(argument: Argument) -> str:
    # An option of an action may have the name of a global one; click must not mix up their values.
    return f"action_{argument.name.replace('-', '_')}"


class SavedPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A plan with the warehouse that it was made on. It holds no credentials."""

    version: int = VERSION
    warehouse: str
    plan: Plan


def save_plan(path: Path, warehouse: str, plan: Plan) -> None:
    """Write the plan to a new file. Raises `Refused` if the file exists, or can't be written."""
    data = msgspec.json.format(msgspec.json.encode(SavedPlan(warehouse=warehouse, plan=plan)))
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise Refused(f"{path} exists already", "Choose another file for the plan.") from error
    except OSError as error:
        raise _not_written(path, error) from error
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(data + b"\n")
    except OSError as error:
        # Half a plan is useless, and would block the next attempt.
        path.unlink(missing_ok=True)
        raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> Refused:
    return Refused(
        f"The plan can't be written to {path}: {error.strerror or error}", "Choose another file for the plan."
    )


def load_plan(path: Path) -> SavedPlan:
    """Raises `NotFound`, and `Corrupt` for a file that is no plan of this version."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            raise NotFound(f"{path} is no saved plan", "`--plan-out FILE` writes one.")
        saved = msgspec.json.decode(path.read_bytes(), type=SavedPlan)
    except OSError as error:
        raise NotFound(f"{path} can't be read: {error.strerror or error}", "") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Corrupt(f"{path} is no saved plan ({error})", "Make a new one with --plan-out.") from error
    if saved.version != VERSION:
        raise Corrupt(f"{path} has format {saved.version}, and this version knows {VERSION}", "Plan again.")
    return saved


@click.command(cls=GlobalCommand)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@takes_note
@click.pass_context
def apply(ctx: click.Context, file: Path, message: str | None, author: str | None) -> None:
    """Apply a plan that --plan-out saved. It is refused when anything that it stands on moved since."""
    options, saved = global_options(ctx), load_plan(file)
    settings = options.settings()
    if not options.dry_run:
        require_writable(settings)
    with ended_by_signals(), closing(open_engine(settings)) as engine:
        context = context_of(settings, lambda: engine)
        if context.files.uri != saved.warehouse:
            raise Refused(
                f"{file} was planned on {saved.warehouse}, and this is {context.files.uri}",
                "Name that warehouse with --warehouse.",
            )
        require_not_applied(context, saved.plan)
        note = checked(message or saved.plan.note.message, author or saved.plan.note.author)
        carry_out(action(saved.plan.action), context, saved.plan.noted(note), options)
