"""`paimark tables`, `snapshots`, `savepoints`, `branches`, `tags`, `schemas`: list what a warehouse holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import click
import msgspec

from paimark.core.cli.completing import BRANCH, DATABASE, TABLE
from paimark.core.cli.options import AtLeast, GlobalCommand, GlobalOptions, global_options
from paimark.core.cli.output import Count, local_time, narrate, print_rows
from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.storage.files import Denied, Files
from paimark.core.storage.open import open_files
from paimark.core.table.catalog import address_hint, database_directory, databases, find_table
from paimark.core.table.catalog import tables as tables_of
from paimark.core.table.definition.column_types import type_text
from paimark.core.table.layout import MAIN, Root, TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root, main_root
from paimark.core.table.names import SAFE_NAMES, unsafe_said
from paimark.core.table.system_tables import newest_snapshots, savepoint_rows, snapshot_row, system_table
from paimark.core.table.trash import dropped_tables

TABLE_COLUMNS = (
    "database_name",
    "table_name",
    "main_branch",
    "latest_snapshot_id",
    "commit_time",
    "record_count",
)
DROPPED_COLUMNS = ("database_name", "table_name", "dropped_id", "drop_time")
# The columns of a list of snapshots for people; JSON has every column.
SNAPSHOT_COLUMNS = (
    *("snapshot_id", "commit_time", "commit_kind", "total_record_count", "delta_record_count"),
    *("schema_id", "commit_user", "message"),
)
# The columns of each list where a terminal is too narrow for all: what a person on call asks for comes first.
_NARROW: Mapping[str, Mapping[str, int]] = {
    "tables": {"table_name": 12, "database_name": 13, "record_count": 12, "commit_time": 16}
    | {"main_branch": 11, "latest_snapshot_id": 18},
    "snapshots": {"snapshot_id": 11, "commit_time": 16, "commit_kind": 11, "delta_record_count": 12}
    | {"message": 12, "total_record_count": 12, "commit_user": 10, "schema_id": 9},
    "savepoints": {"savepoint_id": 12, "saved_snapshot_id": 12, "health": 6, "save_time": 16}
    | {"comment": 12, "record_count": 12, "protected": 9, "branch": 10},
    "branches": {"branch_name": 20, "is_main": 7, "ahead": 5, "behind": 6, "health": 6, "created_from": 12}
    | {"latest_snapshot_id": 12, "protected": 9, "create_time": 16},
    "tags": {"tag_name": 24, "snapshot_id": 11, "commit_time": 16, "record_count": 12, "time_retained": 13}
    | {"protected": 9},
    "operations": {"operation_id": 12, "time": 16, "summary": 28, "message": 10, "author": 8},
    "schemas": {"schema_id": 9, "fields": 30, "primary_keys": 12, "partition_keys": 12, "options": 12}
    | {"update_time": 16},
}
# Epoch milliseconds, though their type does not say so.
TIMES = frozenset({"save_time", "snapshot_time", "commit_time"})
JSON_TEXTS = frozenset({"fields", "partition_keys", "primary_keys", "options"})

# More than any list that people read, so that its columns stay in line.
_MEASURED = 50_000

Row = Sequence[Any]

branch_option = click.option("--branch", metavar="NAME", type=BRANCH, help="A branch; main when not given.")
table_argument = click.argument("table", metavar="TABLE", type=TABLE)


@click.command(cls=GlobalCommand)
@click.argument("database", metavar="[DATABASE]", required=False, type=DATABASE)
@click.option("--dropped", is_flag=True, help="Those in the trash, the newest first, with their ids.")
@click.pass_context
def tables(ctx: click.Context, database: str | None, dropped: bool) -> None:
    """The tables of the warehouse, each with its newest commit."""
    files = _files(global_options(ctx))
    names = databases(files) if database is None else [database]
    if not names:
        narrate(f"There are no databases in {files.uri}. {address_hint(files.uri)}".rstrip())
    if dropped:
        in_trash = (each for name in names for each in dropped_tables(files, name))
        rows = ((each.table.database, each.table.name, each.id, each.dropped_at) for each in in_trash)
        _print_rows(global_options(ctx), DROPPED_COLUMNS, frozenset({"drop_time"}), rows)
        return
    paths = (table for name in names for table in tables_of(files, name))
    times = frozenset({"commit_time"})
    found = (_table_row(files, table) for table in paths)
    _print_rows(global_options(ctx), TABLE_COLUMNS, times, found, "tables")
    for directory in [*([""] if database is None else []), *map(database_directory, names)]:
        if said := unsafe_said(files.names(directory)):
            narrate(f"{said}. {SAFE_NAMES}.")


@click.command(cls=GlobalCommand)
@table_argument
@branch_option
@click.option("--limit", type=AtLeast(min=1), metavar="N", help="The N newest; all when not given.")
@click.pass_context
def snapshots(ctx: click.Context, table: str, branch: str | None, limit: int | None) -> None:
    """The snapshots of TABLE, newest first."""
    root, files = _root(global_options(ctx), table, branch)
    unreadable: dict[str, str] = {}
    newest = newest_snapshots(files, root, limit, unreadable)
    shown: Sequence[str] | None = None
    if not global_options(ctx).as_json:
        shown = SNAPSHOT_COLUMNS
    _print_system_table(global_options(ctx), "snapshots", map(snapshot_row, newest), shown)
    _say_left_out(unreadable)


def _listing(name: str, summary: str, *, has_branches: bool = True) -> click.Command:
    """The command that prints a whole system table, which `has_branches` or is the same on each."""

    @click.command(name, cls=GlobalCommand, help=summary)
    @table_argument
    @click.pass_context
    def command(ctx: click.Context, table: str, branch: str | None = None) -> None:
        root, files = _root(global_options(ctx), table, branch)
        unreadable: dict[str, str] = {}
        rows: Iterable[Row]
        if name == "savepoints":
            rows = savepoint_rows(files, root.table, branch, unreadable)
        else:
            rows = system_table(name).read(files, root, unreadable)
        _print_system_table(global_options(ctx), name, rows)
        _say_left_out(unreadable)

    return branch_option(command) if has_branches else command


savepoints = _listing("savepoints", "The savepoints of TABLE by id, those of its branches among them.")
branches = _listing("branches", "The branches of TABLE, main first.", has_branches=False)
tags = _listing("tags", "The tags of TABLE by name.")
operations = _listing(
    "operations", "What was done to TABLE, oldest first: undo and redo walk along it.", has_branches=False
)
schemas = _listing("schemas", "The schemas of TABLE by id.")


def _say_left_out(unreadable: Mapping[str, str]) -> None:
    for sentence in unreadable.values():
        narrate(f"left out: {sentence}")


def _files(options: GlobalOptions) -> Files:
    settings = options.settings()
    return open_files(settings.warehouse, settings.options)


def _root(options: GlobalOptions, table_name: str, branch: str | None) -> tuple[Root, Files]:
    files = _files(options)
    return branch_root(files, find_table(files, table_name), branch), files


def _table_row(files: Files, table: TablePath) -> Row:
    # One table that is broken or closed to this user must not hide the others; a lost store stops the list.
    try:
        root = main_root(files, table)
        newest = next(iter(Lineage(files, root).newest(1)), None)
    except PaimarkError as error:
        if isinstance(error, Unavailable) and not isinstance(error, Denied):
            raise
        narrate(f"{table.full_name}: {error.message}")
        return (table.database, table.name, None, None, None, None)
    facts = (newest.snapshot_id, newest.commit_time, newest.total_record_count) if newest else (None,) * 3
    return (table.database, table.name, root.branch or MAIN, *facts)


def _print_system_table(
    options: GlobalOptions, name: str, rows: Iterable[Row], shown: Sequence[str] | None = None
) -> None:
    columns = system_table(name).columns
    names = [column.name for column in columns]
    times = {column.name for column in columns if column.type.startswith("TIMESTAMP")}
    if shown:
        indexes = [names.index(each) for each in shown]
        rows = ([row[index] for index in indexes] for row in rows)
    _print_rows(options, shown or names, times | TIMES, rows, name)


def _print_rows(
    options: GlobalOptions, names: Sequence[str], times: Iterable[str], rows: Iterable[Row], listing: str = ""
) -> None:
    converters = _converters(names, frozenset(times), options.as_json)
    cells = _converted(rows, converters)
    print_rows(options, names, cells, measured=_MEASURED, narrow=_NARROW.get(listing))


def _converters(
    names: Sequence[str], times: frozenset[str], as_json: bool
) -> dict[int, Callable[[Any], object]]:
    result: dict[int, Callable[[Any], object]] = {}
    for index, name in enumerate(names):
        if name in JSON_TEXTS:
            result[index] = msgspec.json.decode if as_json else _one_line
        elif name in times and not as_json:
            result[index] = local_time
        elif name.endswith("record_count") and not as_json:
            result[index] = Count
    return result


def _converted(rows: Iterable[Row], converters: dict[int, Callable[[Any], object]]) -> Iterator[Row]:
    for row in rows:
        cells = list(row)
        for index, convert in converters.items():
            if cells[index] is not None:
                cells[index] = convert(cells[index])
        yield cells


def _one_line(text: str) -> str:
    """Fields as `name TYPE, ...`; keys and options as SQL spells them."""
    value = msgspec.json.decode(text)
    if isinstance(value, dict):
        return ", ".join(f"{key}={each}" for key, each in value.items())
    return ", ".join(
        f"{each['name']} {type_text(each['type'])}" if isinstance(each, dict) else each for each in value
    )
