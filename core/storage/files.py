"""The interface of a store. Two classes implement it: `local.LocalFiles` and `remote.RemoteFiles`.

Every path is POSIX, relative to the warehouse (`shop.db/orders/snapshot/snapshot-7`), never absolute
and never with `..`. Only `core.storage` touches a file system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from core.errors import FileMissing, Unavailable


class Denied(Unavailable):
    """The store is there, and does not let this user: what lies beside may be open to them."""


class Unanswered(Unavailable):
    """No answer came to a write: it may be done now, later, or never."""


class DirectoryEntry(NamedTuple):
    """One directory entry. `size` is in bytes, 0 for a directory.

    `modified` is when the file was written (epoch ms), 0 for a directory and where the store does not tell.
    Of a symbolic link all but `is_link` tells of what it leads to.
    `etag` is the store's own mark of what the file holds, None where a listing does not tell it.
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
        """Where the warehouse is, as pypaimon and Spark take it; never with credentials."""

    def entries(self, directory: str) -> list[DirectoryEntry]:
        """The entries of a directory in no particular order; none when it does not exist.

        The empty path is the warehouse; when that does not exist itself, `NotFound` is raised.
        """

    def names(self, directory: str) -> list[str]:
        """The names in a directory in no particular order, as cheaply as the store can."""

    def etags(self, directory: str) -> dict[str, str | None]:
        """As `names`, each with the etag of the file where the same listing tells it."""

    def read(self, path: str) -> bytes:
        """The whole file. Raises `FileMissing`, and `Corrupt` for a file that can't be metadata:

        a device or pipe in a file's place, or more than `limits.MOST_BYTES` bytes.
        """

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        """The files in the order asked, many in flight; None for one that does not exist.

        A file for which `read` raises `Corrupt` comes empty: one such file must not hide all others, and no
        reader takes it for metadata.
        """

    def exists(self, path: str) -> bool:
        """Whether a file (not a directory) is there."""

    def size(self, path: str) -> int | None:
        """Bytes of a file; None when it does not exist."""

    def links(self, directories: Iterable[str]) -> list[str]:
        """The paths of symbolic links to directories that lie in these; none where a store has no links."""

    def create(self, path: str, data: bytes) -> bool:
        """Write a new file, whole or not at all, making its directories.

        False, and nothing written, when the path already exists: of many concurrent creators one wins.
        """

    def replace(self, path: str, data: bytes) -> None:
        """Write or overwrite a file; a reader sees the old or the new bytes, never a part."""

    def delete(self, path: str) -> None:
        """Remove a file, or a link itself; nothing happens when it does not exist."""

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        """Remove a file whose bytes are one's own; nothing happens when it does not exist, or has others.

        Where the store keeps such a condition, the request removes nothing else either that came into its
        place, however late it is carried out.
        """

    def prune(self, directory: str) -> None:
        """Remove the directory, and those below it, as far as they hold no file.

        A branch whose files were deleted must not stay behind as empty directories: stock orphan cleaning
        then fails for the whole table. Nothing to do where a store has no directories.
        """


def delete_if_own(files: Files, path: str, is_own: Callable[[bytes], bool]) -> None:
    """`Files.delete_own` of a store that has no conditions for it."""
    data = read_if_there(files, path)
    if data is not None and is_own(data):
        files.delete(path)


def read_if_there(files: Files, path: str) -> bytes | None:
    """The whole file, None when it does not exist. Raises `Corrupt` as `Files.read`."""
    try:
        return files.read(path)
    except FileMissing:
        return None
