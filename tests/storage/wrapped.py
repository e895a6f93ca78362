"""What tests put between the code and a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from paimark.core.storage.files import DirectoryEntry, Files, delete_if_own


class Wrapped:
    """A store that passes everything on to another."""

    def __init__(self, inner: Files) -> None:
        self.inner = inner

    @property
    def uri(self) -> str:
        return self.inner.uri

    def entries(self, directory: str) -> list[DirectoryEntry]:
        return self.inner.entries(directory)

    def names(self, directory: str) -> list[str]:
        return self.inner.names(directory)

    def etags(self, directory: str) -> dict[str, str | None]:
        return self.inner.etags(directory)

    def read(self, path: str) -> bytes:
        return self.inner.read(path)

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        return self.inner.read_many(paths)

    def exists(self, path: str) -> bool:
        return self.inner.exists(path)

    def size(self, path: str) -> int | None:
        return self.inner.size(path)

    def links(self, directories: Iterable[str]) -> list[str]:
        return self.inner.links(directories)

    def create(self, path: str, data: bytes) -> bool:
        return self.inner.create(path, data)

    def replace(self, path: str, data: bytes) -> None:
        self.inner.replace(path, data)

    def delete(self, path: str) -> None:
        self.inner.delete(path)

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        # By its own `delete`, so that tests meet each of them there.
        delete_if_own(self, path, is_own)

    def prune(self, directory: str) -> None:
        self.inner.prune(directory)

    def make_directory(self, directory: str) -> None:
        self.inner.make_directory(directory)

    def move(self, directory: str, to: str) -> None:
        self.inner.move(directory, to)

    def copy(self, path: str, to: str, size: int) -> None:
        self.inner.copy(path, to, size)
