"""Put a new demo's tables in their place by renames, and the earlier ones aside until that is done."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from paimark.core.actions.plan import Plan
from paimark.core.demo.directory import DATABASE, TABLES, UNFINISHED, alone, table_directory, tables_there
from paimark.core.demo.fresh import fingerprint_of
from paimark.core.errors import Refused

_EARLIER = f"{UNFINISHED}earlier-"


@contextmanager
def unfinished(directory: Path) -> Iterator[Path]:
    """A new directory to build in, on the same file system; removed at the end."""
    place = directory / f"{UNFINISHED}{uuid.uuid4().hex}"
    place.mkdir()
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def put_in_place(directory: Path, built: Path, fresh: Plan | None) -> None:
    """Move the built tables to their place, and remove those that a plan of `--fresh` names.

    Raises `Refused` if these are not as planned any more: then they stay. `OSError`.
    """
    database = directory / f"{DATABASE}.db"
    if database.is_symlink():
        raise Refused(f"{database} is a link to elsewhere", "Name another directory: `paimark demo DIR`.")
    database.mkdir(exist_ok=True)
    earlier = directory / f"{_EARLIER}{uuid.uuid4().hex}"
    earlier.mkdir()
    placed = []
    try:
        there = tables_there(directory)
        for name in there:
            os.rename(table_directory(directory, name), earlier / name)
        if there and (
            fresh is None or fingerprint_of([earlier / name for name in there]) != fresh.fingerprint
        ):
            raise Refused("The demo's tables were changed since the plan was made", "Nothing was changed.")
        for name in TABLES:
            os.rename(table_directory(built, name), table_directory(directory, name))
            placed.append(name)
    except BaseException:
        for name in placed:
            os.rename(table_directory(directory, name), table_directory(built, name))
        _put_back(directory, earlier)
        earlier.rmdir()
        raise
    shutil.rmtree(earlier, ignore_errors=True)


def tidy_up(directory: Path) -> None:
    """`finish_interrupted`, unless somebody has the demo open."""
    if any(directory.glob(f"{UNFINISHED}*")):
        with suppress(Refused, OSError), alone(directory):
            finish_interrupted(directory)


def finish_interrupted(directory: Path) -> None:
    """Tidy up after a build that died. A table that it moved aside returns if its place is free."""
    for place in directory.glob(f"{UNFINISHED}*"):
        if place.name.startswith(_EARLIER):
            _put_back(directory, place)
        shutil.rmtree(place, ignore_errors=True)


def _put_back(directory: Path, earlier: Path) -> None:
    for name in set(TABLES) & set(os.listdir(earlier)):
        if not os.path.lexists(table_directory(directory, name)):
            os.rename(earlier / name, table_directory(directory, name))
