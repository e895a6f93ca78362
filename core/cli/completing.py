"""Parameters of commands whose values a shell completes: tables, and what a kind of argument names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import click
from click.shell_completion import CompletionItem

from paimark.core.actions.declared.kinds import Argument, Branch, Choice, FileName, Version
from paimark.core.cli.options import global_options
from paimark.core.errors import PaimarkError
from paimark.core.storage.files import Files
from paimark.core.table.layout import MAIN, TablePath

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
        return _offered(lambda: self._names(ctx), incomplete)

    def _names(self, ctx: click.Context) -> Iterator[str]:
        if isinstance(self._argument, Choice):
            yield from self._argument.among
            return
        from paimark.core.actions.names import known_names

        branch = ctx.params.get("action_branch")
        yield from known_names(self._argument, _files(ctx), _table(ctx), branch) or ()


class NamesType(click.ParamType[Any]):
    """A text, for which a shell offers what there is."""

    name = "text"

    def __init__(self, names: Callable[[click.Context], Iterable[str]]) -> None:
        self._names = names

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return _offered(lambda: self._names(ctx), incomplete)


def _databases(ctx: click.Context) -> Iterable[str]:
    from paimark.core.table.catalog import databases

    return databases(_files(ctx))


def _tables(ctx: click.Context) -> Iterator[str]:
    from paimark.core.table.catalog import tables

    files = _files(ctx)
    return (each.full_name for name in _databases(ctx) for each in tables(files, name))


def _dropped(ctx: click.Context) -> Iterable[str]:
    from paimark.core.table.trash import dropped_tables

    files = _files(ctx)
    found = (each.table.full_name for name in _databases(ctx) for each in dropped_tables(files, name))
    return dict.fromkeys(found)


def _versions(ctx: click.Context) -> Iterable[str]:
    """The branches, and the tags of main: what has a name of the versions of `paimark diff`."""
    from paimark.core.actions.names import known_names

    files, table = _files(ctx), _table(ctx)
    found = (known_names(each, files, table) or () for each in (Branch("branch"), Version("version")))
    return chain([MAIN], *found)


TABLE, DROPPED, DATABASE = NamesType(_tables), NamesType(_dropped), NamesType(_databases)
BRANCH, VERSION = ArgumentType(Branch("branch")), NamesType(_versions)
VERSION_OF_MAIN = ArgumentType(Version("version"))


def _table(ctx: click.Context) -> TablePath:
    from paimark.core.table.names import parse_table_name

    # Click has given up at the option whose value is asked for: then what came before it is left over.
    return parse_table_name(str(ctx.params.get("table") or next(iter(ctx.args), "")))


def _files(ctx: click.Context) -> Files:
    from paimark.core.storage.open import open_files

    settings = global_options(ctx).settings()
    return open_files(settings.warehouse, settings.options)


def _offered(names: Callable[[], Iterable[str]], incomplete: str) -> list[CompletionItem]:
    """Nothing at all if they can't be read: a shell has no place for an error."""
    found: list[CompletionItem] = []
    try:
        for each in names():
            name, _, more = each.partition(" ")
            if name.startswith(incomplete) and _PLAIN.fullmatch(name):
                found.append(CompletionItem(name, help=more or None))
            if len(found) == _MOST:
                break
    except PaimarkError:
        return []
    return found
