"""Parameters of commands whose values a shell completes: tables, and what a kind of argument names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click
from click.shell_completion import CompletionItem

from paimark.core.actions.declared.kinds import Argument, Branch, Choice, FileName
from paimark.core.cli.options import global_options
from paimark.core.errors import PaimarkError
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath

# Names that a shell takes as they are. A warehouse may be hostile: `$(rm x)` is never offered.
_PLAIN = re.compile(r"[\w.@%+=/][\w.@%+=/-]*")
# A list longer than that helps nobody.
_MOST = 200


class ArgumentType(click.ParamType[Any]):
    """Reads what was written for an argument, and completes it, in a command whose `table` comes first."""

    name = "text"

    def __init__(self, argument: Argument) -> None:
        self._argument = argument
        self.name = "integer" if argument.takes is int else "text"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return f"[{'|'.join(self._argument.among)}]" if isinstance(self._argument, Choice) else None

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self._argument.read(value)
        except ValueError as error:
            self.fail(f"it {error}", param, ctx)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        if isinstance(self._argument, FileName):
            return [CompletionItem(incomplete, type="file")]
        return _offered(self._names(ctx), incomplete)

    def _names(self, ctx: click.Context) -> Iterator[str]:
        if isinstance(self._argument, Choice):
            yield from self._argument.among
            return
        from paimark.core.actions.names import known_names
        from paimark.core.table.names import parse_table_name

        # Click has given up at the option whose value is asked for: then what came before it is left over.
        table = parse_table_name(str(ctx.params.get("table") or next(iter(ctx.args), "")))
        branch = ctx.params.get("action_branch")
        yield from known_names(self._argument, _files(ctx), table, branch) or ()


class TableType(click.ParamType[Any]):
    """A table of the warehouse."""

    name = "text"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return _offered(self._names(ctx), incomplete)

    def _names(self, ctx: click.Context) -> Iterator[str]:
        from paimark.core.table.catalog import databases, tables

        files = _files(ctx)
        found: Iterator[TablePath] = (each for name in databases(files) for each in tables(files, name))
        yield from (each.full_name for each in found)


TABLE = TableType()
BRANCH = ArgumentType(Branch("branch"))


def _files(ctx: click.Context) -> Files:
    from paimark.core.storage.open import open_files

    settings = global_options(ctx).settings()
    return open_files(settings.warehouse, settings.options)


def _offered(names: Iterator[str], incomplete: str) -> list[CompletionItem]:
    """Nothing at all if they can't be read: a shell has no place for an error."""
    found: list[CompletionItem] = []
    try:
        for each in names:
            name, _, more = each.partition(" ")
            if name.startswith(incomplete) and _PLAIN.fullmatch(name):
                found.append(CompletionItem(name, help=more or None))
            if len(found) == _MOST:
                break
    except PaimarkError:
        return []
    return found
