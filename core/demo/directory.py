"""Check and prepare the directory of a demo: it must be missing, empty, or an earlier demo."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from pathlib import Path

from paimark.core.errors import Refused, Unavailable

MARKER = ".paimark-demo"
DATABASE = "shop"


def check_directory(directory: Path) -> None:
    """Raises `Refused` for a directory with content that is not an earlier demo, `Unavailable`."""
    try:
        names = {entry.name for entry in os.scandir(directory)}
    except FileNotFoundError:
        return
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


def clear_directory(directory: Path) -> None:
    """Make the directory, mark it as a demo, and remove only the database of an earlier demo."""
    directory.mkdir(parents=True, exist_ok=True)
    marker = {"made_by": "paimark demo", "note": "paimark demo rebuilds the database shop here"}
    (directory / MARKER).write_text(json.dumps(marker) + "\n")
    database = directory / f"{DATABASE}.db"
    if database.is_symlink():
        database.unlink()
    with suppress(FileNotFoundError):
        shutil.rmtree(database)
