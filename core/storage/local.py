"""A warehouse on a local or mounted file system."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

from paimark.core.errors import FileMissing, Refused, Unavailable
from paimark.core.storage.files import (
    Denied,
    DirectoryEntry,
    NotMetadata,
    NotWritten,
    delete_if_own,
    is_taken,
    left_behind,
    require_small,
)
from paimark.core.storage.no_follow import parent_directory
from paimark.core.storage.paths import checked, checked_directory, is_plain, no_warehouse
from paimark.core.working_directory import absolute

_READ_BYTES = 1 << 16
# Opening must not block on a named pipe in a file's place, nor acquire a terminal.
_READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG})
_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
# After any other error a network file system may have made the link all the same.
_NOT_LINKED = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES})


class LocalFiles:
    """Implements `Files` with directory-relative opens for bulk reads, and link or rename for writes."""

    def __init__(self, root: str) -> None:
        self._root = absolute(os.path.expanduser(root))

    @property
    def uri(self) -> str:
        return self._root

    def entries(self, directory: str) -> list[DirectoryEntry]:
        path = self._directory(directory)
        try:
            with _translate_errors(directory), os.scandir(path) as items:
                return [_entry(item) for item in items]
        except FileMissing:
            if directory:
                return []
            raise no_warehouse(self._root) from None

    def names(self, directory: str) -> list[str]:
        path = self._directory(directory)
        try:
            with _translate_errors(directory):
                return os.listdir(path)
        except FileMissing:
            return []

    def etags(self, directory: str) -> dict[str, str | None]:
        return dict.fromkeys(self.names(directory))

    def read(self, path: str) -> bytes:
        try:
            with _translate_errors(path):
                return _read_whole(self._file(path), None)
        except NotMetadata as error:
            raise error.corrupt(path) from None

    def read_many(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        directory: str | None = None
        descriptor: int | None = None
        try:
            for path in paths:
                parent, _, name = path.rpartition("/")
                if parent != directory or not is_plain(name):
                    checked(path)
                if parent != directory:
                    if descriptor is not None:
                        os.close(descriptor)
                    directory, descriptor = parent, None
                    descriptor = self._open_directory(parent)
                if descriptor is None:
                    yield None
                    continue
                try:
                    data = _read_whole(name, descriptor)
                except OSError as error:
                    if error.errno not in _ABSENT:
                        raise _unavailable(path, error) from error
                    yield None
                except NotMetadata:
                    yield b""
                else:
                    yield data
        finally:
            if descriptor is not None:
                os.close(descriptor)

    def exists(self, path: str) -> bool:
        return self.size(path) is not None

    def size(self, path: str) -> int | None:
        try:
            with _translate_errors(path):
                status = os.stat(self._file(path))
        except FileMissing:
            return None
        return status.st_size if stat.S_ISREG(status.st_mode) else None

    def links(self, directories: Iterable[str]) -> list[str]:
        return [
            f"{directory}/{entry.name}"
            for directory in directories
            for entry in self.entries(directory)
            if entry.is_link and entry.is_directory
        ]

    def create(self, path: str, data: bytes) -> bool:
        name, may_be_there = _name(checked(path)), False
        try:
            with (
                _translate_errors(path),
                parent_directory(self._root, path, making=True) as directory,
                _temporary(directory, path, data) as written,
            ):
                may_be_there = True
                try:
                    os.link(written, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
                except FileExistsError:
                    return False
                except OSError as error:
                    may_be_there = error.errno not in _NOT_LINKED
                    if error.errno in _NO_LINKS:
                        raise self._no_hard_links(path) from error
                    raise
                _sync_directory(directory)
        except Unavailable as error:
            if may_be_there:
                raise
            raise NotWritten(error.message, error.hint) from error
        return True

    def _no_hard_links(self, path: str) -> Refused:
        return Refused(
            f"{path} can't be created safely: the file system of {self._root} has no hard links",
            "Use a file system with hard links, or an object store.",
        )

    def replace(self, path: str, data: bytes) -> None:
        name = _name(checked(path))
        with (
            _translate_errors(path),
            parent_directory(self._root, path, making=True) as directory,
            _temporary(directory, path, data) as written,
        ):
            os.replace(written, name, src_dir_fd=directory, dst_dir_fd=directory)
            _sync_directory(directory)

    def delete(self, path: str) -> None:
        name = _name(checked(path))
        with (
            suppress(FileMissing),
            _translate_errors(path),
            parent_directory(self._root, path) as directory,
        ):
            os.unlink(name, dir_fd=directory)

    def delete_own(self, path: str, is_own: Callable[[bytes], bool]) -> None:
        delete_if_own(self, path, is_own)

    def prune(self, directory: str) -> None:
        name = _name(checked(directory))
        with (
            suppress(FileMissing),
            _translate_errors(directory),
            parent_directory(self._root, directory) as parent,
        ):
            for _, below, _, descriptor in os.fwalk(name, topdown=False, dir_fd=parent):
                for each in below:
                    _remove_if_empty(each, descriptor)
            _remove_if_empty(name, parent)

    def make_directory(self, directory: str) -> None:
        with (
            _translate_errors(directory),
            parent_directory(self._root, f"{checked(directory)}/x", making=True),
        ):
            return

    def move(self, directory: str, to: str) -> None:
        name, moved = _name(checked(directory)), _name(checked(to))
        with (
            _translate_errors(directory),
            parent_directory(self._root, directory) as parent,
            parent_directory(self._root, to, making=True) as target,
        ):
            if _is_there(moved, target):
                raise is_taken(to)
            try:
                os.rename(name, moved, src_dir_fd=parent, dst_dir_fd=target)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                raise Refused(
                    f"{to.rpartition('/')[0]} is on another disk than {directory}, which stays where it is",
                    "A table is moved in one step: let both be on one disk.",
                ) from error
            _sync_directory(target)
            _sync_directory(parent)

    def copy(self, path: str, to: str, size: int) -> None:
        raise Refused(f"{path} is moved here, not copied", "Nothing was changed.")

    def _file(self, path: str) -> str:
        return f"{self._root}/{checked(path)}"

    def _directory(self, path: str) -> str:
        return f"{self._root}/{checked_directory(path)}"

    def _open_directory(self, directory: str) -> int | None:
        try:
            with _translate_errors(directory):
                return os.open(self._directory(directory), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileMissing:
            return None


def _is_there(name: str, directory: int) -> bool:
    try:
        os.lstat(name, dir_fd=directory)
    except FileNotFoundError:
        return False
    return True


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _entry(item: os.DirEntry[str]) -> DirectoryEntry:
    is_link = item.is_symlink()
    if item.is_dir():
        return DirectoryEntry(item.name, True, 0, is_link=is_link)
    try:
        status = item.stat()
        return DirectoryEntry(item.name, False, status.st_size, status.st_mtime_ns // 1_000_000, is_link)
    except FileNotFoundError:
        # Deleted after the listing, or a dangling link.
        return DirectoryEntry(item.name, False, 0, is_link=is_link)


def _read_whole(path: str, directory: int | None) -> bytes:
    """Raises `OSError` and `NotMetadata`."""
    try:
        descriptor = os.open(path, _READ_FLAGS, dir_fd=directory)
    except OSError as error:
        # A socket, or a device that does not exist.
        raise NotMetadata("is no regular file") if error.errno == errno.ENXIO else error from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(errno.EISDIR, "is a directory")
            raise NotMetadata("is no regular file")
        require_small(status.st_size)
        # One byte more, so that one call also sees the end of the file.
        data = os.read(descriptor, status.st_size + 1)
        if len(data) == status.st_size:
            return data
        parts = [data]
        while more := os.read(descriptor, _READ_BYTES):
            parts.append(more)
            require_small(sum(map(len, parts)))
        return b"".join(parts)
    finally:
        os.close(descriptor)


@contextmanager
def _temporary(directory: int, path: str, data: bytes) -> Iterator[str]:
    """A flushed file beside `path`, named as Paimon names its own temporary files.

    If it can't be removed in the end, the write is done all the same.
    """
    parent, _, name = path.rpartition("/")
    written = f".{name}.{uuid.uuid4()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(written, flags, 0o666, dir_fd=directory)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield written
    finally:
        try:
            os.unlink(written, dir_fd=directory)
        except FileNotFoundError:
            pass
        except OSError as error:
            left_behind(f"{parent}/{written}", error)


def _sync_directory(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems keep directories in order by themselves and refuse the call.
        if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
            raise


def _remove_if_empty(name: str, parent: int) -> None:
    """Remove an empty directory. A link to a directory is not one, and stays."""
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR):
            raise


@contextmanager
def _translate_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _ABSENT:
            raise FileMissing(path) from error
        raise _unavailable(path, error) from error


def _unavailable(path: str, error: OSError) -> Unavailable:
    reason = (error.strerror or type(error).__name__).lower()
    hint = {
        errno.EACCES: "Check who owns it, or run as a user who may.",
        errno.EPERM: "Check who owns it, or run as a user who may.",
        errno.ENOSPC: "Free some space on the disk and try again.",
        errno.EROFS: "It is mounted read-only.",
        errno.EMFILE: "Raise the limit of open files (`ulimit -n`).",
    }.get(error.errno or 0, "Check the disk or mount, and try again.")
    kind = Denied if error.errno in (errno.EACCES, errno.EPERM) else Unavailable
    return kind(f"{path or 'The warehouse'} can't be used: {reason}", hint)
