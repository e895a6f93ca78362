"""Names for the editor's completion, read from the warehouse on demand."""

from __future__ import annotations

from collections.abc import Iterator

from paimark.core.errors import PaimarkError, Unavailable
from paimark.core.storage.files import Denied, Files
from paimark.core.table.catalog import databases, tables
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, branch_root
from paimark.core.table.names import parse_table_name, split_system_name
from paimark.core.table.system_tables import SYSTEM_TABLES
from paimark.tui.query.completion import Known, TableNames, tables_named
from paimark.tui.widgets.sql_editor import WORDS

# The number of newest snapshots to offer: an older one is faster to type than to find in a list.
_NEWEST = 30


def read_known(files: Files, sql: str, database: str | None) -> Known:
    """Read the names. For a thread: one listing per database, and a few reads per table of the statement."""
    named = {each.name: _names(files, each.name, database) for each in tables_named(sql)}
    every = tuple((each, table.name) for each in databases(files) for table in _tables(files, each))
    return Known(every, named, tuple(SYSTEM_TABLES), tuple(sorted(WORDS)), database)


def _tables(files: Files, database: str) -> Iterator[TablePath]:
    try:
        yield from tables(files, database)
    except Denied:
        return
    except Unavailable:
        raise
    except PaimarkError:
        # The database is gone since the listing: it must not hide the others.
        return


def _names(files: Files, name: str, database: str | None) -> TableNames:
    """The names in a table; none if there is no such table, because its name may be half typed."""
    try:
        system = split_system_name(name.rpartition(".")[2])
        database_name = name.rpartition(".")[0] or database or ""
        table = parse_table_name(f"{database_name}.{system.table}")
        root = branch_root(files, table, system.branch)
        lineage = Lineage(files, root)
        schema = lineage.latest_schema()
        columns = [field.name for field in schema.fields] if schema is not None else []
        latest = lineage.latest_id() or 0
        snapshots = [f"snapshot.{each}" for each in range(latest, max(0, latest - _NEWEST), -1)]
        versions = (*lineage.tag_names(), *snapshots)
        return TableNames(tuple(columns), versions, tuple(branch_names(files, table)))
    except Unavailable:
        raise
    except PaimarkError:
        return TableNames()
