"""The directory of a demo: missing, empty or a demo already. Its marker tells what the demo made."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from paimark.core.errors import Refused, Unavailable

MARKER = ".paimark-demo"
DATABASE = "shop"
TABLES = ("customers", "events", "orders")
# What the tour writes beside the database, for `try`.
SCRIPT, CHECKS = "tour-repair.sql", "tour-checks.sql"
# What is built, or moved aside, lies in a directory of such a name until it is finished.
UNFINISHED = ".paimark-demo-"


class MadeTable(msgspec.Struct, frozen=True):
    """What the demo made of one table. `commits` are the names of its commits' delta manifest lists."""

    commits: tuple[str, ...]
    branches: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    savepoints: tuple[int, ...] = ()


class Marker(msgspec.Struct, frozen=True):
    made_by: str = "paimark demo"
    note: str = "paimark demo --fresh replaces these tables of the database shop, and no others"
    tables: dict[str, MadeTable] = {}


def is_demo(directory: Path) -> bool:
    """Whether the directory is a demo; False if it is missing or empty.

    Raises `Refused` for a directory with other content, `Unavailable`.
    """
    try:
        names = {entry.name for entry in os.scandir(directory)}
    except FileNotFoundError:
        return False
    except NotADirectoryError as error:
        raise Refused(
            f"{directory} is a file or lies below one", "Name a directory that does not exist yet."
        ) from error
    except OSError as error:
        raise Unavailable(f"{directory} can't be read: {error.strerror}") from error
    if names and MARKER not in names:
        raise Refused(
            f"{directory} is not empty and is not an earlier demo",
            "Name another directory: `paimark demo DIR`.",
        )
    return bool(names)


def made_tables(directory: Path) -> dict[str, MadeTable]:
    """What the demo made, by table; empty if the marker does not tell."""
    try:
        return msgspec.json.decode((directory / MARKER).read_bytes(), type=Marker).tables
    except (OSError, msgspec.DecodeError):
        return {}


def write_marker(directory: Path, tables: dict[str, MadeTable]) -> None:
    beside = directory / f"{MARKER}.{os.getpid()}"
    beside.write_bytes(msgspec.json.encode(Marker(tables=tables)) + b"\n")
    beside.replace(directory / MARKER)


def table_directory(directory: Path, name: str) -> Path:
    return directory / f"{DATABASE}.db" / name


def tables_there(directory: Path) -> list[str]:
    """Which of the demo's names are taken, by the demo's tables or by others."""
    return [name for name in TABLES if os.path.lexists(table_directory(directory, name))]


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Keep other demos and consoles out. Raises `Refused` while one is there."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _lock(descriptor, fcntl.LOCK_EX, directory)
        yield
    finally:
        os.close(descriptor)


def open_in(directory: str) -> None:
    """Note, until this process ends, that it has the demo open: then `--fresh` elsewhere is refused."""
    with suppress(OSError, Refused):
        _lock(os.open(directory, os.O_RDONLY | os.O_CLOEXEC), fcntl.LOCK_SH, directory)


def _lock(descriptor: int, kind: int, directory: Path | str) -> None:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Refused(
            f"The demo in {directory} is open elsewhere: in a console, or it is being built",
            "Leave that first, or name another directory: `paimark demo DIR`.",
        ) from error
    except OSError:
        # Some network file systems have no locks.
        return
