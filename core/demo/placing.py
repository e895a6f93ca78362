"""Put a new demo's tables in their place, and those of an earlier demo into the trash."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from paimark.core.actions.context import Context, Progress, open_context
from paimark.core.actions.plan import Item, Plan, Step
from paimark.core.actions.registry import action
from paimark.core.actions.tables.moving import what_it_has
from paimark.core.demo.directory import (
    DATABASE,
    TABLES,
    UNFINISHED,
    alone,
    marked_at,
    table_directory,
    tables_there,
)
from paimark.core.errors import Refused
from paimark.core.figures import listed
from paimark.core.table.layout import TablePath

_DROP = "drop-table"


def plan_fresh(directory: Path) -> Plan:
    """Plan to build the demo anew: the tables that have its names are dropped. Only reads."""
    context = open_context(str(directory), {}, read_only=False)
    there = [TablePath(DATABASE, name) for name in tables_there(directory)]
    parts = [action(_DROP).plan(context, table, {}) for table in there]
    others = _others(directory)
    kept = Item("keeps", f"{', '.join(others)}: the demo did not make {'it' if len(others) == 1 else 'them'}")
    items = (
        *_lost(context, there),
        *(each for part in parts for each in part.items if _is_of_others(directory, each)),
        *((kept,) if others else ()),
    )
    return Plan(
        action="demo",
        headline=f"Build the demo in {directory} anew.",
        arguments={"directory": str(directory)},
        steps=(
            *(step for part in parts for step in part.steps),
            Step("create", DATABASE, f"{', '.join(TABLES)}, as a new demo has them"),
        ),
        items=items,
        phrase=DATABASE,
        refusals=tuple(refusal for part in parts for refusal in part.refusals),
        parts=tuple(parts),
    )


def _lost(context: Context, there: Sequence[TablePath]) -> list[Item]:
    if not there:
        return []
    names = listed([table.full_name for table in there])
    has = "; ".join(f"{table.name}: {what_it_has(context.files, table)}" for table in there)
    return [
        Item("loses", f"{names}, as they are now", "table-goes", is_grave=True),
        Item("keeps", f"what they have in the trash, until somebody deletes it there: {has}"),
    ]


def _is_of_others(directory: Path, item: Item) -> bool:
    """Whether it names who notices, and not a load of the demo's own: these are older than its build."""
    return item.kind == "affects" and (item.newest is None or item.newest > marked_at(directory))


def put_in_place(directory: Path, built: Path, fresh: Plan | None, tell: Progress) -> None:
    """Drop the tables that `fresh` names, and move the built ones to their place.

    Raises `Refused` if one is not as planned any more, or is there without a plan; `OSError`.
    """
    database = directory / f"{DATABASE}.db"
    if database.is_symlink():
        raise Refused(f"{database} is a link to elsewhere", "Name another directory: `paimark demo DIR`.")
    context = open_context(str(directory), {}, read_only=False)
    for part in fresh.parts if fresh is not None else ():
        tell(action(_DROP).apply(context, part, tell).message)
    require_free(directory)
    database.mkdir(exist_ok=True)
    for name in TABLES:
        os.rename(table_directory(built, name), table_directory(directory, name))


def require_free(directory: Path) -> None:
    """Raises `Refused` if a table has one of the demo's names."""
    if taken := tables_there(directory):
        raise Refused(
            f"{DATABASE}.{taken[0]} is there already", "`paimark demo --fresh` plans to build it anew."
        )


def tidy_up(directory: Path) -> None:
    """Remove what a build that died has left, unless somebody builds there now."""
    with suppress(Refused, OSError), alone(directory):
        for place in directory.glob(f"{UNFINISHED}*"):
            shutil.rmtree(place, ignore_errors=True)


def _others(directory: Path) -> list[str]:
    """The tables of the database that have other names."""
    database = directory / f"{DATABASE}.db"
    names = os.listdir(database) if database.is_dir() else []
    return [f"{DATABASE}.{each}" for each in sorted(names) if each not in TABLES and each[0] != "."]
