"""A warehouse as it will be, without some files and with some new ones, for plans that follow other plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from core.errors import FileMissing
from core.storage.files import DirectoryEntry, Files


class Foreseen:
    """Implements `Files` for reading only: a call that writes raises `AssertionError`.

    `gone` are paths of files, and of directories with everything below; `made` maps new files to their bytes.
    """

    def __init__(self, inner: Files, gone: Iterable[str], made: Mapping[str, bytes]) -> None:
        self._inner = inner
        self._gone = frozenset(gone)
        self._made = dict(made)

    def further(self, gone: Iterable[str], made: Mapping[str, bytes]) -> Foreseen:
        """The warehouse after these further changes."""
        return Foreseen(self._inner, self._gone.union(gone), {**self._made, **made})

    @property
    def uri(self) -> str:
        return self._inner.uri

    def entries(self, directory: str) -> list[DirectoryEntry]:
        inner = self._inner.entries(directory)
        there = [each for each in inner if not self._is_gone(_in(directory, each.name))]
        known = {each.name for each in there}
        new = (DirectoryEntry(name, False, size) for name, size in self._made_in(directory).items())
        return there + [each for each in new if each.name not in known]

    def names(self, directory: str) -> list[str]:
        there = [name for name in self._inner.names(directory) if not self._is_gone(_in(directory, name))]
        return [*dict.fromkeys([*there, *self._made_in(directory)])]

    def etags(self, directory: str) -> dict[str, str | None]:
        there = self._inner.etags(directory)
        return {name: there.get(name) for name in self.names(directory)}

    def read(self, path: str) -> bytes:
        if path in self._made:
            return self._made[path]
        if self._is_gone(path):
            raise FileMissing(path)
        return self._inner.read(path)

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        asked = list(paths)
        inner = self._inner.read_many([path for path in asked if not self._is_foreseen(path)])
        for path in asked:
            yield self._made.get(path) if self._is_foreseen(path) else next(inner)

    def exists(self, path: str) -> bool:
        return path in self._made or (not self._is_gone(path) and self._inner.exists(path))

    def size(self, path: str) -> int | None:
        if path in self._made:
            return len(self._made[path])
        return None if self._is_gone(path) else self._inner.size(path)

    def links(self, directories: Iterable[str]) -> list[str]:
        return [path for path in self._inner.links(directories) if not self._is_gone(path)]

    def create(self, path: str, data: bytes) -> bool:
        raise _only_read(path)

    def replace(self, path: str, data: bytes) -> None:
        raise _only_read(path)

    def delete(self, path: str) -> None:
        raise _only_read(path)

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        raise _only_read(path)

    def prune(self, directory: str) -> None:
        raise _only_read(directory)

    def _made_in(self, directory: str) -> dict[str, int]:
        """The names and sizes of new files in a directory."""
        split = ((path.rpartition("/"), data) for path, data in self._made.items())
        return {name: len(data) for (parent, _, name), data in split if parent == directory}

    def _is_foreseen(self, path: str) -> bool:
        return path in self._made or self._is_gone(path)

    def _is_gone(self, path: str) -> bool:
        while path:
            if path in self._gone:
                return True
            path = path.rpartition("/")[0]
        return False


def _in(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _only_read(path: str) -> AssertionError:
    return AssertionError(f"{path}: a warehouse that is only foreseen is not written")
