"""The interface of a store. Two classes implement it: `local.LocalFiles` and `remote.RemoteFiles`.

Every path is POSIX, relative to the warehouse (`shop.db/orders/snapshot/snapshot-7`), never absolute
and never with `..`. Only `paimark.core.storage` touches a file system.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from paimark.core.errors import Corrupt, FileMissing, Refused, Unavailable

_listeners: list[Callable[[str], None]] = []


class Denied(Unavailable):
    """The store answers, but denies this user access; neighbouring paths may be open to the user."""


class Unanswered(Unavailable):
    """A write got no answer: it may be done already, be done later, or never."""


class NotWritten(Unavailable):
    """A file was certainly not created, as on a full disk. Only a local store knows."""


class DirectoryEntry(NamedTuple):
    """One directory entry. `size` is in bytes, 0 for a directory.

    `modified` is when the file was written (epoch ms), 0 for a directory or if the store does not provide it.
    For a symbolic link, everything but `is_link` describes its target. `etag` is the store's mark of the
    file's content, None if a listing does not provide it.
    """

    name: str
    is_directory: bool
    size: int
    modified: int = 0
    is_link: bool = False
    etag: str | None = None


class Files(Protocol):
    """A warehouse's files. Any call may raise `Unavailable` when the store does not answer.

    Reads follow links. Calls that change files follow none inside a table, and raise `Refused`.
    """

    @property
    def uri(self) -> str:
        """The warehouse's address as pypaimon and Spark take it; never with credentials."""

    def entries(self, directory: str) -> list[DirectoryEntry]:
        """The entries of a directory in no particular order; none when it does not exist.

        The empty path is the warehouse; when that does not exist itself, `NotFound` is raised.
        """

    def names(self, directory: str) -> list[str]:
        """The names in a directory in no particular order, as cheaply as the store can."""

    def etags(self, directory: str) -> dict[str, str | None]:
        """As `names`, each with the file's etag if the same listing provides it."""

    def read(self, path: str) -> bytes:
        """The whole file. Raises `FileMissing`, and `Corrupt` for a file that can't be metadata:

        a device or pipe in a file's place, or more than `MOST_BYTES` bytes.
        """

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        """The files in the given order, read in parallel; None for one that does not exist.

        A file for which `read` raises `Corrupt` comes as empty bytes: one such file must not hide all others,
        and no reader accepts empty bytes as metadata.
        """

    def exists(self, path: str) -> bool:
        """Whether a file (not a directory) exists."""

    def size(self, path: str) -> int | None:
        """Bytes of a file; None when it does not exist."""

    def links(self, directories: Iterable[str]) -> list[str]:
        """The paths of symbolic links to directories within these; empty if the store has no links."""

    def create(self, path: str, data: bytes) -> bool:
        """Write a new file, completely or not at all, and create its directories.

        Returns False, and writes nothing, if the path exists: of several concurrent creators one succeeds.
        """

    def replace(self, path: str, data: bytes) -> None:
        """Write or overwrite a file; a reader sees the old or the new bytes, never a part."""

    def delete(self, path: str) -> None:
        """Remove a file, or a link itself. Idempotent."""

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        """Remove a file if its bytes are one's own; does nothing if it does not exist or has other bytes.

        If the store supports such a condition, the request never removes a later file at the path either,
        however late the store carries it out.
        """

    def prune(self, directory: str) -> None:
        """Remove the directory, and those below it, as far as they contain no files.

        A branch whose files were deleted must not remain as empty directories: stock orphan cleaning would
        fail for the whole table. Where a store has no directories, the directory's own marker goes, if any.
        """

    def make_directory(self, directory: str) -> None:
        """Make an empty directory, as other engines find it: on an object store a marker. Idempotent."""

    def move(self, directory: str, to: str) -> None:
        """Move a directory with everything below it, in one step, to a path that does not exist.

        Raises `FileMissing`; and `Refused` if the path exists, or the store can't move a directory at once.
        """

    def copy(self, path: str, to: str, size: int) -> None:
        """Copy a file of `size` bytes inside an object store: its bytes do not come here.

        Overwrites. Raises `FileMissing`; and `Refused` on a store that moves directories.
        """


def delete_if_own(files: Files, path: str, is_own: Callable[[bytes], bool]) -> None:
    """`Files.delete_own` for a store without conditional deletion."""
    data = read_if_there(files, path)
    if data is not None and is_own(data):
        files.delete(path)


def read_if_there(files: Files, path: str) -> bytes | None:
    """The whole file; None if it does not exist. Raises `Corrupt` as `Files.read`."""
    try:
        return files.read(path)
    except FileMissing:
        return None


def is_taken(directory: str) -> Refused:
    """The refusal of a move to a path that exists."""
    return Refused(f"{directory} is in the way: nothing was moved", "Look at what lies there.")


def written_at(files: Files, paths: Collection[str]) -> dict[str, int]:
    """When each existing path was written (epoch ms), by the store's clock; 0 if the store does not say."""
    return {
        path: entry.modified
        for directory in {path.rpartition("/")[0] for path in paths}
        for entry in files.entries(directory)
        if (path := f"{directory}/{entry.name}") in paths
    }


@contextmanager
def told_of_leftovers(tell: Callable[[str], None]) -> Iterator[None]:
    """Hear, from any thread, of each temporary file that stays, in one sentence."""
    _listeners.append(tell)
    try:
        yield
    finally:
        _listeners.remove(tell)


def left_behind(path: str, error: OSError) -> None:
    """Tell of a temporary file that can't be removed: the write is done all the same."""
    reason = (error.strerror or type(error).__name__).lower()
    for tell in tuple(_listeners):
        tell(
            f"the temporary file {path} can't be removed ({reason}): it does no harm, and `paimark recover` "
            "removes it once it is a day old"
        )


# The largest metadata files are manifests, of some megabytes.
MOST_BYTES = 256 << 20
# For a data file, unpacked: a block, or the rows examined together. Writers make pieces of some megabytes.
AT_ONCE_BYTES = 64 << 20


class TooLarge(Exception):
    """A file that would need more memory than allowed: the rest of it is unknown."""


class NotMetadata(Exception):
    """A file-system object that is no metadata file, and was not read. The message says what it is."""

    def corrupt(self, path: str) -> Corrupt:
        return Corrupt(f"{path} {self}", "Remove it, or restore the file from a backup.")


def require_small(size: int) -> None:
    """Raises `NotMetadata` for a file of this size in bytes."""
    if size > MOST_BYTES:
        raise NotMetadata(f"has {size} bytes: no metadata is as large")


class Wrapped:
    """Implements `Files`: passes everything on to another. What it is derived for differs in few calls."""

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
        self.inner.delete_own(path, is_own)

    def prune(self, directory: str) -> None:
        self.inner.prune(directory)

    def make_directory(self, directory: str) -> None:
        self.inner.make_directory(directory)

    def move(self, directory: str, to: str) -> None:
        self.inner.move(directory, to)

    def copy(self, path: str, to: str, size: int) -> None:
        self.inner.copy(path, to, size)


class Fenced(Wrapped):
    """`require` is called before each write, and raises if there must be none any more.

    A move of a directory is not asked about: whoever makes one looks before and after it.
    """

    def __init__(self, inner: Files, require: Callable[[], None]) -> None:
        super().__init__(inner)
        self._require = require

    def create(self, path: str, data: bytes) -> bool:
        self._require()
        return super().create(path, data)

    def replace(self, path: str, data: bytes) -> None:
        self._require()
        super().replace(path, data)

    def delete(self, path: str) -> None:
        self._require()
        super().delete(path)

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        self._require()
        super().delete_own(path, is_own)

    def prune(self, directory: str) -> None:
        self._require()
        super().prune(directory)

    def make_directory(self, directory: str) -> None:
        self._require()
        super().make_directory(directory)

    def copy(self, path: str, to: str, size: int) -> None:
        self._require()
        super().copy(path, to, size)
