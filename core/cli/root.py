"""`paimark`: imports a command when it is called; a first word that is no command is a warehouse."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from typing import Any, cast

import click

from paimark.core.cli.launch import open_console
from paimark.core.cli.options import (
    GLOBAL_OPTIONS,
    GlobalCommand,
    global_options,
    require_filled,
    write_options,
)
from paimark.core.cli.places import go_to, looks_like_place

# In the order of `--help`.
LOOKING = {
    "tables": "paimark.core.cli.browse:tables",
    "snapshots": "paimark.core.cli.browse:snapshots",
    "savepoints": "paimark.core.cli.browse:savepoints",
    "branches": "paimark.core.cli.browse:branches",
    "tags": "paimark.core.cli.browse:tags",
    "schemas": "paimark.core.cli.browse:schemas",
    "operations": "paimark.core.cli.browse:operations",
    "sql": "paimark.core.cli.query.sql:sql",
    "diff": "paimark.core.cli.query.diff:diff",
    "when": "paimark.core.cli.query.questions:when",
    "history": "paimark.core.cli.query.questions:history",
    "blame": "paimark.core.cli.query.questions:blame",
    "holders": "paimark.core.cli.query.questions:holders",
    "check": "paimark.core.cli.checks.check:check",
    "space": "paimark.core.cli.checks.space:space",
}
# The actions of the registry follow, except those with more than one form.
CHANGING = {
    "auto-savepoint": "paimark.core.cli.changes.auto_savepoint:auto_savepoint",
    "try": "paimark.core.cli.changes.try_script:try_script",
    "apply": "paimark.core.cli.changes.actions:apply",
}
CHECKING = {
    "demo": "paimark.core.cli.demo:demo",
    "doctor": "paimark.core.cli.checks.doctor:doctor",
    "verify": "paimark.core.cli.checks.verify:verify",
    "jars": "paimark.core.cli.jars:jars",
    "keys": "paimark.core.cli.keys:keys",
}
COMMANDS = {**LOOKING, **CHANGING, **CHECKING}
# What these do is not known from the command alone, or they write outside of the warehouse.
_MAY_WRITE = ("sql", "demo", "jars")
# Longer than any summary: `--help` shows each in full, on as many lines as it needs.
_LONGEST_SUMMARY = 200


def only_reads(words: Sequence[str]) -> bool:
    """Whether the command of these words changes nothing."""
    name = _command_of(words)
    return name == "" or (name in {**LOOKING, **CHECKING} and name not in _MAY_WRITE)


def only_changes(words: Sequence[str]) -> bool:
    """Whether the command of these words is an action on a table."""
    name = _command_of(words)
    return name != "" and name not in {**LOOKING, **CHECKING}


def _command_of(words: Sequence[str]) -> str:
    from paimark.core.actions.declared.declarations import DECLARED

    return next((word for word in words if word in COMMANDS or word in DECLARED), "")


def open_warehouse(place: str | None = None) -> int:
    options = global_options(click.get_current_context())
    if place is not None:
        go_to(place, options)
    return open_console(options.settings())


CONSOLE = GlobalCommand(
    "open",
    callback=open_warehouse,
    params=[click.Argument(["place"], metavar="WAREHOUSE")],
    add_help_option=False,
)


class RootGroup(click.Group):
    """The group of commands. Importing it imports no command."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.params.extend(GLOBAL_OPTIONS)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            values, _, params = self.make_parser(ctx).parse_args(list(args))
            require_filled(params, values)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        from paimark.core.actions.declared.declarations import DECLARED

        return list(dict.fromkeys([*LOOKING, *DECLARED, *CHANGING, *CHECKING]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if target := COMMANDS.get(cmd_name):
            module, _, name = target.partition(":")
            return cast(click.Command, getattr(importlib.import_module(module), name))
        from paimark.core.cli.changes.actions import action_command

        return action_command(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if command := self.get_command(ctx, word):
            return word, command, args[1:]
        if not _is_a_place(word) and (near := _near(word, self.list_commands(ctx))):
            ctx.fail(f"There is no command {word!r}: did you mean {near!r}?")
        return CONSOLE.name, CONSOLE, args

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        others = (*LOOKING, *CHECKING)
        changing = [name for name in self.list_commands(ctx) if name not in others]
        for title, names in (
            ("Look", LOOKING),
            ("Change (--dry-run shows the plan alone)", changing),
            ("Try and check", CHECKING),
        ):
            commands = ((name, self.get_command(ctx, name)) for name in names)
            with formatter.section(title):
                formatter.write_dl(
                    [(name, each.get_short_help_str(_LONGEST_SUMMARY)) for name, each in commands if each]
                )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        write_options(self, ctx, formatter)


def _is_a_place(word: str) -> bool:
    return "/" in word or os.path.exists(word) or looks_like_place(word)


def _near(word: str, commands: list[str]) -> str | None:
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, commands, n=1, cutoff=0.7)), None)


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"paimark {version('paimark')}")
        ctx.exit()


root = RootGroup(
    "paimark",
    callback=lambda: open_warehouse() if click.get_current_context().invoked_subcommand is None else None,
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            expose_value=False,
            is_eager=True,
            callback=_print_version,
            help="Print the version.",
        )
    ],
    invoke_without_command=True,
    subcommand_metavar="[WAREHOUSE | PLACE | COMMAND ...]",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A console for Apache Paimon tables: savepoints, branches and time travel.\n\n"
    "With a WAREHOUSE (a path or a URI), or none where one is configured, the console opens.\n\n"
    "It opens on a PLACE, a table with or without a branch and a version: shop.orders:fix@savepoint.1. "
    "Before it may stand a context or a directory and a slash (prod/shop.orders@12), or a URI and two "
    "(s3://lake/warehouse//shop.orders).",
)


def invoke(words: Sequence[str]) -> int:
    """Run one command; return its exit code. Raises the command's errors, and click's usage exceptions."""
    try:
        with root.make_context("paimark", list(words)) as ctx:
            result = root.invoke(ctx)
    except click.exceptions.Exit as done:
        return done.exit_code
    return result if isinstance(result, int) else 0
