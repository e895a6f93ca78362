"""A model of a local disk, HDFS or S3: a warehouse's files in memory."""

from __future__ import annotations

import hashlib
from typing import Literal

from paimark.core.storage.files import DirectoryEntry

StoreKind = Literal["local", "hdfs", "s3"]


class MemoryStore:
    """Files by path. S3 has no real directories; the other kinds keep empty ones."""

    def __init__(self, kind: StoreKind = "local") -> None:
        self.kind: StoreKind = kind
        self.files: dict[str, bytes] = {}
        self.modified: dict[str, int] = {}
        # By directory: the names in it, each with whether it is a directory.
        self._children: dict[str, dict[str, bool]] = {"": {}}

    def put(self, path: str, data: bytes, now: int) -> None:
        if path not in self.files:
            self._enter(path, is_directory=False)
        self.files[path] = data
        self.modified[path] = now

    def drop(self, path: str) -> None:
        if path in self.files:
            del self.files[path], self.modified[path]
            directory, _, name = path.rpartition("/")
            del self._children[directory][name]
            if self.kind == "s3":
                self._leave_if_empty(directory)

    def move(self, source: str, target: str, now: int) -> None:
        """Rename as POSIX does: an existing target is overwritten."""
        data = self.files[source]
        self.drop(source)
        self.put(target, data, now)

    def entries(self, directory: str) -> list[DirectoryEntry]:
        return [self._entry(directory, *item) for item in sorted(self._children.get(directory, {}).items())]

    def names(self, directory: str) -> list[str]:
        return sorted(self._children.get(directory, {}))

    def directories(self) -> list[str]:
        """All directories except the warehouse itself."""
        return sorted(each for each in self._children if each)

    def below(self, directory: str) -> list[str]:
        """The paths of all files under a directory."""
        prefix = f"{directory}/"
        return sorted(path for path in self.files if path.startswith(prefix))

    def prune(self, directory: str) -> None:
        """Remove the directory and those below it that hold no file."""
        for name, is_directory in list(self._children.get(directory, {}).items()):
            if is_directory:
                self.prune(f"{directory}/{name}")
        if directory and not self._children.get(directory, {"": False}):
            self._leave(directory)

    def _entry(self, directory: str, name: str, is_directory: bool) -> DirectoryEntry:
        if is_directory:
            return DirectoryEntry(name, True, 0)
        path = f"{directory}/{name}" if directory else name
        data = self.files[path]
        etag = hashlib.md5(data, usedforsecurity=False).hexdigest() if self.kind == "s3" else None
        return DirectoryEntry(name, False, len(data), self.modified[path], etag=etag)

    def _enter(self, path: str, *, is_directory: bool) -> None:
        directory, _, name = path.rpartition("/")
        if directory not in self._children:
            self._children[directory] = {}
            self._enter(directory, is_directory=True)
        self._children[directory][name] = is_directory

    def _leave_if_empty(self, directory: str) -> None:
        if directory and not self._children[directory]:
            self._leave(directory)
            self._leave_if_empty(directory.rpartition("/")[0])

    def _leave(self, directory: str) -> None:
        del self._children[directory]
        above, _, name = directory.rpartition("/")
        del self._children[above][name]
