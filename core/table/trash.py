"""Dropped tables: `shop.db/.paimark-trash/orders.20261128T223100123Z-a1b2c3`, each whole as it was.

No engine takes the directory for a table: it has no schema, and its name begins with a dot. A dropped table
has its branches, tags, savepoints and log, and comes back with them. On an object store, where it is copied
there and deleted file by file, it is whole while it has a schema: that comes last, and goes first.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import NamedTuple

from paimark.core.errors import NotFound, UsageError
from paimark.core.figures import minute
from paimark.core.storage.files import Files
from paimark.core.storage.open import moves_directories
from paimark.core.storage.parallel import each_of
from paimark.core.table.layout import DATABASE_SUFFIX, TablePath
from paimark.core.table.names import near_names

_TRASH = ".paimark-trash"
# A table that is being deleted for good: nobody takes it out again.
_GOING = ".going"
_NAME = re.compile(r"(?P<table>.+)\.(?P<time>\d{8}T\d{9}Z)-(?P<mark>[0-9a-f]{6})", re.DOTALL)
# With microseconds. In a name, milliseconds tell two drops apart that follow each other at once.
_TIME = "%Y%m%dT%H%M%S%f"


class DroppedTable(NamedTuple):
    """A dropped table. `table` is what it was; `id` tells it from others of that name."""

    table: TablePath
    id: str

    @property
    def place(self) -> TablePath:
        """Where it lies. Only its paths are of use: no name leads there."""
        return TablePath(self.table.database, f"{_TRASH}/{self.table.name}.{self.id}")

    @property
    def going(self) -> str:
        """The directory while it is deleted."""
        return self.place.directory + _GOING

    @property
    def dropped_at(self) -> int:
        """Epoch ms."""
        time = self.id.partition("Z-")[0]
        moment = datetime.strptime(f"{time}000", _TIME).replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000)


def new_drop(table: TablePath, now_ms: int) -> DroppedTable:
    """The place of a table that is dropped now."""
    time = datetime.fromtimestamp(now_ms / 1000, UTC).strftime(_TIME)[:-3]
    return DroppedTable(table, f"{time}Z-{os.urandom(3).hex()}")


def dropped_tables(files: Files, database: str) -> list[DroppedTable]:
    """The dropped tables of a database, the newest first."""
    return _of_copies(files, _sorted(files, database, ""), are_whole=True)


def half_deleted(files: Files, database: str) -> list[DroppedTable]:
    """Those of which somebody began to delete the files; on an object store also of a copy there."""
    if moves_directories(files.uri):
        return _sorted(files, database, _GOING)
    return _of_copies(files, _sorted(files, database, ""), are_whole=False)


def find_dropped(files: Files, table: TablePath, wanted: str | None) -> DroppedTable:
    """The dropped table of that name; the newest, or that with the id. Raises `NotFound`, `UsageError`."""
    known = dropped_tables(files, table.database)
    named = [each for each in known if each.table == table]
    if not named:
        hint = near_names(table.name, [each.table.name for each in known])
        raise NotFound(
            f"No table {table.full_name} is in the trash",
            hint or "`paimark tables --dropped` lists what is there.",
        )
    if wanted is None:
        return named[0]
    matching = [each for each in named if each.id.startswith(wanted)]
    if len(matching) == 1 and wanted:
        return matching[0]
    ids = ", ".join(each.id for each in named)
    raise UsageError(f"{wanted!r} names no one dropped {table.full_name}", f"There are {ids}.")


def table_missing(files: Files, table: TablePath) -> NotFound:
    """The error for a table that existed before."""
    hint = undrop_hint(files, table) or "It may have been dropped: refresh."
    return NotFound(f"Table {table.full_name} does not exist", hint)


def undrop_hint(files: Files, table: TablePath) -> str:
    """How to get a table back that is in the trash; empty if it is not there."""
    for each in dropped_tables(files, table.database):
        if each.table == table:
            when = minute(each.dropped_at)
            return f"It was dropped {when}: `paimark undrop {table.word}` takes it out of the trash."
    return ""


def _of_copies(files: Files, found: list[DroppedTable], *, are_whole: bool) -> list[DroppedTable]:
    if moves_directories(files.uri):
        return found
    schemas = each_of(lambda each: files.names(each.place.root().schemas), found)
    return [each for each, names in zip(found, schemas, strict=True) if bool(names) is are_whole]


def _sorted(files: Files, database: str, suffix: str) -> list[DroppedTable]:
    names = files.names(f"{database}{DATABASE_SUFFIX}/{_TRASH}")
    matches = [_NAME.fullmatch(name.removesuffix(suffix)) for name in names if name.endswith(suffix)]
    found = [
        DroppedTable(TablePath(database, each["table"]), f"{each['time']}-{each['mark']}")
        for each in matches
        if each is not None
    ]
    return sorted(found, key=lambda each: (each.id, each.table.name), reverse=True)
