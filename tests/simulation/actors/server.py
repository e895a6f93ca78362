"""A real store beside the model: each operation is done on both, and both must agree.

The actors see the model's answers; if the server's answer differs, the run fails. The product's own clients
access the server. It has no turns: it sees a whole operation of an actor, or nothing of it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

from paimark.core.storage.files import DirectoryEntry, Files, read_if_there
from paimark.core.storage.open import open_files, require_conditions
from tests.simulation.memory import MemoryStore

_AT_ONCE = 8


class Differing(BaseException):
    """A real store differed from its model. A `BaseException`, so that code under test can't catch it."""


class Server:
    """The warehouse of one run, in its own directory."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def __deepcopy__(self, _: object) -> NoReturn:
        raise TypeError("a table on a server can't be copied as it is")

    def fill(self, store: MemoryStore) -> None:
        """Copy the files of a model to the server."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(lambda item: self._files.replace(*item), store.files.items()))

    def entries(self, directory: str, expected: list[DirectoryEntry]) -> None:
        found = sorted(map(_comparable, self._files.entries(directory)))
        wanted = sorted(map(_comparable, expected))
        _require(found == wanted, f"{directory} has {found}, and is to have {wanted}")

    def names(self, directory: str, expected: list[str]) -> None:
        found = sorted(self._files.names(directory))
        _require(found == sorted(expected), f"{directory} has {found}, and is to have {expected}")

    def read(self, path: str, expected: bytes | None) -> None:
        found = read_if_there(self._files, path)
        _require(found == expected, f"{path} holds {found!r}, and is to hold {expected!r}")

    def size(self, path: str, expected: int | None) -> None:
        found = self._files.size(path)
        _require(found == expected, f"{path} has {found} bytes, and is to have {expected}")

    def create(self, path: str, data: bytes, expected: bool) -> None:
        created = self._files.create(path, data)
        _require(created is expected, f"{path} was {'' if created else 'not '}created")

    def replace(self, path: str, data: bytes) -> None:
        self._files.replace(path, data)

    def delete(self, path: str) -> None:
        self._files.delete(path)

    def prune(self, directory: str) -> None:
        self._files.prune(directory)

    def move(self, directory: str, to: str) -> None:
        self._files.move(directory, to)

    def copy(self, path: str, to: str, size: int) -> None:
        self._files.copy(path, to, size)

    def compare(self, store: MemoryStore) -> None:
        """Compare all directories with the model. For use at rest."""
        for directory in store.directories():
            self.entries(directory, store.entries(directory))


def opener(uri: str, options: dict[str, str]) -> Callable[[], Server]:
    """A function that opens a new warehouse below a URI at each call."""
    require_conditions(open_files(uri, options))
    return lambda: Server(open_files(f"{uri}/{uuid.uuid4().hex[:8]}", options))


def _comparable(entry: DirectoryEntry) -> tuple[str, bool, int, str]:
    return entry.name, entry.is_directory, entry.size, (entry.etag or "").strip('"')


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise Differing(f"the server differs from the model: {sentence:.500}")
