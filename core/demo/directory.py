"""The directory of a demo: missing, empty or a demo already, which a marker tells."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paimark.core.errors import Refused, Unavailable

MARKER = ".paimark-demo"
DATABASE = "shop"
TABLES = ("customers", "events", "orders")
# What the tour writes beside the database, for `try`.
SCRIPT, CHECKS = "tour-repair.sql", "tour-checks.sql"
# What is built lies in a directory of such a name until it is finished.
UNFINISHED = ".paimark-demo-new-"
_NOTE = f"Made by `paimark demo`, which builds customers, events and orders of the database {DATABASE}.\n"


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


def write_marker(directory: Path) -> None:
    (directory / MARKER).write_text(_NOTE)


def marked_at(directory: Path) -> int:
    """When the demo there was built last, epoch ms."""
    return (directory / MARKER).stat().st_mtime_ns // 1_000_000


def table_directory(directory: Path, name: str) -> Path:
    return directory / f"{DATABASE}.db" / name


def tables_there(directory: Path) -> list[str]:
    """Which of the demo's names are taken, by the demo's tables or by others."""
    return [name for name in TABLES if os.path.lexists(table_directory(directory, name))]


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Keep others from building a demo there. Raises `Refused` while somebody does."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Refused(
                f"The demo in {directory} is being built by somebody else",
                "Wait for that, or name another directory: `paimark demo DIR`.",
            ) from error
        except OSError:
            # Some network file systems have no locks.
            pass
        yield
    finally:
        os.close(descriptor)
