"""The plan of `paimark demo --fresh`: which of the demo's tables go, what goes with them, and what stays."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import open_context
from paimark.core.actions.plan import Item, Plan, Refusal, Step
from paimark.core.actions.said import final
from paimark.core.demo.directory import (
    CHECKS,
    DATABASE,
    MARKER,
    SCRIPT,
    TABLES,
    alone,
    made_tables,
    table_directory,
    tables_there,
)
from paimark.core.demo.made import since
from paimark.core.errors import Refused
from paimark.core.table.layout import TablePath

_HINT = "Nothing was changed. `paimark demo DIR` builds another demo."


def plan_fresh(directory: Path) -> Plan:
    """Plan to build the demo anew, in place of the tables that it made. Only reads."""
    context, made = open_context(str(directory), {}, read_only=True), made_tables(directory)
    there, freed = tables_there(directory), 0
    steps: list[Step] = []
    lost: list[str] = []
    refusals = list(_open_elsewhere(directory))
    for name in there:
        place = table_directory(directory, name)
        changes = since(context, TablePath(DATABASE, name), made.get(name), place)
        refusals += [Refusal(reason, _HINT) for reason in changes.reasons]
        sizes = [size for _, size, _ in _files(place)]
        freed += len(sizes)
        if changes.made:
            since_then = ", ".join(changes.made)
            lost.append(f"{DATABASE}.{name}, with what was made since it was built: {since_then}")
        else:
            lost.append(f"{DATABASE}.{name}, which is as it was built")
        steps.append(Step("delete", f"{DATABASE}.{name}", size=sum(sizes)))
    steps.append(Step("create", DATABASE, f"{', '.join(TABLES)}, as a new demo has them"))
    return Plan(
        action="demo",
        headline=f"Build the demo in {directory} anew.",
        arguments={"directory": str(directory)},
        steps=tuple(steps),
        items=(
            *(Item("loses", text, "table-gone", is_grave=True) for text in lost),
            final(),
            *(Item("keeps", text) for text in _kept(directory)),
        ),
        phrase=DATABASE,
        refusals=tuple(refusals),
        freed_files=freed,
        freed_bytes=sum(step.size for step in steps),
        fingerprint=fingerprint_of([table_directory(directory, name) for name in there]),
    )


def fingerprint_of(tables: Sequence[Path]) -> str:
    """Of the names, sizes and times of all files of these tables."""
    return fingerprint(
        *(f"{table.name} {name} {size} {time}" for table in tables for name, size, time in _files(table))
    )


def _files(table: Path) -> list[tuple[str, int, int]]:
    """The relative path, size and time of each file of a table, sorted."""
    found = []
    for place, _, names in os.walk(table):
        for name in names:
            path = Path(place, name)
            status = path.lstat()
            found.append((str(path.relative_to(table)), status.st_size, status.st_mtime_ns))
    return sorted(found)


def _open_elsewhere(directory: Path) -> Iterator[Refusal]:
    try:
        with alone(directory):
            return
    except Refused as error:
        yield Refusal(error.message, error.hint)


def _kept(directory: Path) -> Iterator[str]:
    """What lies in the directory beside the demo's tables."""
    names = {entry.name for entry in os.scandir(directory) if not entry.name.startswith(MARKER)}
    names -= {SCRIPT, CHECKS}
    database = directory / f"{DATABASE}.db"
    tables = os.listdir(database) if database.is_dir() else []
    others = [f"{DATABASE}.{each}" for each in sorted(tables) if each not in TABLES]
    others += sorted(names - {database.name})
    if others:
        yield f"{', '.join(others)}: the demo did not make {'it' if len(others) == 1 else 'them'}"
