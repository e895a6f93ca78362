"""A warehouse as it will be, without some files and with some new ones, for plans that follow other plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from paimark.core.errors import FileMissing
from paimark.core.storage.files import DirectoryEntry, Files


class PlannedFiles:
    """Implements `Files` for reading only: a call that writes raises `AssertionError`.

    `deleted` are paths of files, and of directories with everything below; `created` maps new files to their
    bytes.
    """

    def __init__(self, inner: Files, deleted: Iterable[str], created: Mapping[str, bytes]) -> None:
        self._inner = inner
        self._deleted = frozenset(deleted)
        self._created = dict(created)

    def further(self, deleted: Iterable[str], created: Mapping[str, bytes]) -> PlannedFiles:
        """The warehouse after these further changes."""
        return PlannedFiles(self._inner, self._deleted.union(deleted), {**self._created, **created})

    @property
    def uri(self) -> str:
        return self._inner.uri

    def entries(self, directory: str) -> list[DirectoryEntry]:
        inner = self._inner.entries(directory)
        there = [each for each in inner if not self._is_deleted(_in(directory, each.name))]
        known = {each.name for each in there}
        new = (DirectoryEntry(name, False, size) for name, size in self._created_in(directory).items())
        return there + [each for each in new if each.name not in known]

    def names(self, directory: str) -> list[str]:
        there = [name for name in self._inner.names(directory) if not self._is_deleted(_in(directory, name))]
        return [*dict.fromkeys([*there, *self._created_in(directory)])]

    def etags(self, directory: str) -> dict[str, str | None]:
        there = self._inner.etags(directory)
        return {name: there.get(name) for name in self.names(directory)}

    def read(self, path: str) -> bytes:
        if path in self._created:
            return self._created[path]
        if self._is_deleted(path):
            raise FileMissing(path)
        return self._inner.read(path)

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        all_paths = list(paths)
        inner = self._inner.read_many([path for path in all_paths if not self._is_changed(path)])
        for path in all_paths:
            yield self._created.get(path) if self._is_changed(path) else next(inner)

    def exists(self, path: str) -> bool:
        return path in self._created or (not self._is_deleted(path) and self._inner.exists(path))

    def size(self, path: str) -> int | None:
        if path in self._created:
            return len(self._created[path])
        return None if self._is_deleted(path) else self._inner.size(path)

    def links(self, directories: Iterable[str]) -> list[str]:
        return [path for path in self._inner.links(directories) if not self._is_deleted(path)]

    def create(self, path: str, data: bytes) -> bool:
        raise _read_only(path)

    def replace(self, path: str, data: bytes) -> None:
        raise _read_only(path)

    def delete(self, path: str) -> None:
        raise _read_only(path)

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        raise _read_only(path)

    def prune(self, directory: str) -> None:
        raise _read_only(directory)

    def move(self, directory: str, to: str) -> None:
        raise _read_only(directory)

    def _created_in(self, directory: str) -> dict[str, int]:
        """The names and sizes of new files in a directory."""
        split = ((path.rpartition("/"), data) for path, data in self._created.items())
        return {name: len(data) for (parent, _, name), data in split if parent == directory}

    def _is_changed(self, path: str) -> bool:
        return path in self._created or self._is_deleted(path)

    def _is_deleted(self, path: str) -> bool:
        while path:
            if path in self._deleted:
                return True
            path = path.rpartition("/")[0]
        return False


def _in(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _read_only(path: str) -> AssertionError:
    return AssertionError(f"{path}: planned files are only read")
