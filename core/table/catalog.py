"""A filesystem catalog: databases are `<name>.db` directories, tables the directories in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from paimark.core.errors import NotFound, UsageError
from paimark.core.storage.files import Denied, Files, read_if_there
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import DATABASE_SUFFIX, TablePath
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.table.names import alone, is_safe_name, near_names, parse_table_name, system_hint
from paimark.core.table.trash import undrop_hint

__all__ = [
    "database_directory",
    "databases",
    "find_table",
    "is_made",
    "parse_table_name",
    "table_exists",
    "tables",
]

_LISTED = "`paimark tables` lists those there are."
# The numbers of databases that a hint searches, and of tables that it names.
_DATABASES = 50
_FEW = 3


def databases(files: Files) -> list[str]:
    """The names of the databases, sorted. Raises `NotFound` if there is no warehouse."""
    directories = (entry.name for entry in files.entries("") if entry.is_directory)
    names = (name.removesuffix(DATABASE_SUFFIX) for name in directories if name.endswith(DATABASE_SUFFIX))
    return sorted(name for name in names if is_safe_name(name))


def address_hint(uri: str) -> str:
    """A hint about an address that is no warehouse, but lies in one: a database, a table, a file of a table.

    Empty if no part of it is named like a database.
    """
    parts = uri.rstrip("/").split("/")
    place = next((place for place, part in enumerate(parts) if _is_database(part)), None)
    if place is None:
        return ""
    warehouse, database, last = "/".join(parts[:place]) or "/", parts[place], parts[-1]
    if len(parts) == place + 1:
        return f"{last} is a database: its warehouse is {warehouse}."
    if len(parts) == place + 2:
        return f"{last} is in the database {database}: its warehouse is {warehouse}."
    table = f"{database.removesuffix(DATABASE_SUFFIX)}.{parts[place + 1]}"
    return f"{last} is part of table {table}: its warehouse is {warehouse}."


def _is_database(name: str) -> bool:
    return name.endswith(DATABASE_SUFFIX) and name != DATABASE_SUFFIX


def database_directory(database: str) -> str:
    """The directory of a database's tables, relative to the warehouse."""
    return f"{database}{DATABASE_SUFFIX}"


def require_database(files: Files, name: str) -> None:
    """Raises `NotFound`; the hint is the names with a similar spelling."""
    if name not in (known := databases(files)):
        hint = near_names(name, known) or ("" if known else address_hint(files.uri)) or _LISTED
        raise NotFound(f"There is no database {name}", hint)


def tables(files: Files, database: str) -> list[TablePath]:
    """The tables of a database, sorted, including those that this user may not read.

    Raises `NotFound` if the database does not exist, and `Denied` if this user may not list it.
    """
    directory = database_directory(database)
    candidates = [
        TablePath(database, entry.name)
        for entry in files.entries(directory)
        if entry.is_directory and is_safe_name(entry.name) and not entry.name.startswith(".")
    ]
    if not candidates:
        require_database(files, database)
    candidates.sort(key=lambda table: table.name)
    # Paimon numbers schemas from 0 and keeps them all, so one read is enough for nearly every table.
    first_schemas = _first_schemas(files, candidates)
    return [
        table
        for table, schema in zip(candidates, first_schemas, strict=True)
        if schema is not None or _has_roots(files, table) or files.exists(table.journal)
    ]


def _first_schemas(files: Files, candidates: Sequence[TablePath]) -> Sequence[bytes | None]:
    """The files' bytes, in order; empty bytes for a file that may not be read, so that it hides no others."""
    paths = [table.root().schema(0) for table in candidates]
    try:
        return list(files.read_many(paths))
    except Denied:
        return list(each_of(lambda path: _unless_denied(files, path), paths))


def _unless_denied(files: Files, path: str) -> bytes | None:
    try:
        return read_if_there(files, path)
    except Denied:
        return b""


def table_exists(files: Files, table: TablePath) -> bool:
    """Whether the directory holds a table, or what an interrupted move left: a recovery has to find that."""
    return is_made(files, table) or files.exists(table.journal)


def is_made(files: Files, table: TablePath) -> bool:
    """Whether the directory holds a table: its own schemas, or a branch."""
    return files.exists(table.root().schema(0)) or _has_roots(files, table)


def find_table(files: Files, name: str) -> TablePath:
    """The table that `db.t` names. Raises `NotFound`; the hint is the names with a similar spelling."""
    try:
        table = parse_table_name(name)
    except UsageError as error:
        if is_safe_name(plain := name.strip().strip("`")) and (others := _elsewhere(files, plain)):
            raise UsageError(error.message, f"Did you mean {others}?") from error
        raise
    if not table_exists(files, table):
        # What nobody sees prevents a table of that name.
        left = ""
        with suppress(Denied):
            left = first_file(files, table.directory)
        said = f", but {left}, of a job or of a request that the store carried out late" if left else ""
        raise NotFound(f"There is no table {table.full_name}{said}", _hint(files, table))
    return table


def first_file(files: Files, directory: str) -> str:
    """The path of a file below, or of a link; empty if there are only directories."""
    for each in files.entries(directory):
        path = f"{directory}/{each.name}"
        if found := first_file(files, path) if each.is_directory and not each.is_link else path:
            return found
    return ""


def _hint(files: Files, table: TablePath) -> str:
    known = [each.name for each in tables(files, table.database)]
    before = re.split("[:@]", table.name)[0]
    if before in known:
        return alone(TablePath(table.database, before).full_name)
    if dropped := undrop_hint(files, table):
        return dropped
    if others := _elsewhere(files, table.name):
        return f"Did you mean {others}?"
    return near_names(table.name, known, f"{table.database}.") or system_hint(table.name) or _LISTED


def _elsewhere(files: Files, name: str) -> str:
    """The tables with that name in any database, as `a.t or b.t`; empty if there is none."""
    there = each_of(partial(_named, files, name), databases(files)[:_DATABASES])
    return " or ".join([each for each in there if each][:_FEW])


def _named(files: Files, name: str, database: str) -> str:
    table = TablePath(database, name)
    try:
        return table.full_name if table_exists(files, table) else ""
    except Denied:
        return ""


def _has_roots(files: Files, table: TablePath) -> bool:
    return bool(files.names(table.root().schemas) or branch_names(files, table))
