"""HDFS by its own protocol: no Java, and the two renames by which files are created and replaced.

The NameNode carries out each rename atomically: one fails if the name is taken, the other replaces it.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property
from io import RawIOBase
from typing import Any

# The library's other client, the asynchronous one, can hang for ever when it is collected.
from hdfs_native import Client, FileStatus, WriteOptions

from paimark.core.errors import Unavailable, UsageError
from paimark.core.figures import size
from paimark.core.listening import require_listening
from paimark.core.storage.files import is_taken, require_small
from paimark.core.storage.known_options import CONF_DIR, KEYTAB, PRINCIPAL
from paimark.core.storage.paths import checked
from paimark.core.storage.remote import RemoteFiles
from paimark.core.storage.remote_errors import unavailable


class HdfsFiles(RemoteFiles):
    """Files are written beside their place and then renamed to it; the NameNode renames atomically."""

    def __init__(self, filesystem: Any, root: str, uri: str, login: tuple[str, str] | None) -> None:
        """`login` is a principal and its keytab; None if a ticket of `kinit` provides the identity."""
        super().__init__(filesystem, root, uri, can_create=True)
        self._login = login

    def prune(self, directory: str) -> None:
        full = self._file(checked(directory))
        with self._translate_errors(directory):
            self._call("prune", full)

    def make_directory(self, directory: str) -> None:
        with self._translate_errors(directory, writes=True):
            self._call("make_directory", self._file(checked(directory)))

    def move(self, directory: str, to: str) -> None:
        source, target = self._file(checked(directory)), self._file(checked(to))
        with self._translate_errors(directory, writes=True):
            if not self._call("move", source, target):
                raise is_taken(to)

    @contextmanager
    def _translate_errors(self, path: str, *, writes: bool = False) -> Iterator[None]:
        try:
            with super()._translate_errors(path, writes=writes):
                yield
        except Unavailable as error:
            if self._login is None or "Kerberos: " not in error.message or "KDC" in error.message:
                raise
            principal, keytab = self._login
            if not os.access(keytab, os.R_OK):
                raise _unreadable(keytab) from error
            raise Unavailable(
                error.message, f"Is {PRINCIPAL}={principal} in that keytab? `klist -k {keytab}` lists it."
            ) from error

    def _create(self, full: str, data: bytes) -> bool:
        created: bool = self._call("put_if_absent", full, data)
        return created

    def _replace(self, full: str, data: bytes) -> None:
        self._call("replace", full, data)


def open_hdfs(location: str, shown: str, options: Mapping[str, str]) -> HdfsFiles:
    """`location` is `host:port/path`, or `/path` for Hadoop's own default. Raises `UsageError`."""
    login = _login(options)
    configuration = options.get(CONF_DIR)
    if configuration is not None and not os.path.isdir(configuration):
        raise UsageError(
            f"{CONF_DIR}={configuration} is no directory",
            "It is the one with core-site.xml and hdfs-site.xml.",
        )
    host, slash, path = location.partition("/")
    try:
        client = HdfsClient(host, options)
    except (ValueError, RuntimeError, OSError) as error:
        raise UsageError(
            unavailable(shown, error).message, "Write it as hdfs://host:port/path, or set HADOOP_CONF_DIR."
        ) from error
    return HdfsFiles(client, f"{slash}{path}", shown, login)


def _login(options: Mapping[str, str]) -> tuple[str, str] | None:
    """The principal and keytab, if given. Raises `UsageError` for one without the other."""
    principal, keytab = options.get(PRINCIPAL), options.get(KEYTAB)
    if bool(principal) != bool(keytab):
        there, other = (PRINCIPAL, KEYTAB) if principal else (KEYTAB, PRINCIPAL)
        raise UsageError(
            f"{there} is of no use without {other}", "Give both, or neither and a ticket of kinit."
        )
    return (principal, keytab) if principal and keytab else None


def _unreadable(keytab: str) -> Unavailable:
    return Unavailable(f"{KEYTAB}={keytab} can't be read", "Is it there, and readable by this user?")


# Unreachable NameNodes of a name service are given up in about ten seconds.
_PATIENCE = {"dfs.client.failover.max.attempts": "4", "dfs.client.failover.sleep.base.millis": "300"}
_DEFAULT_PORT = 8020
_PREFIX = "hdfs.config."
_HADOOPS_OWN = ("dfs.", "fs.", "hadoop.", "ipc.", "io.")
# Waits for a block that was just written to be reported: 3 seconds.
_WAITS = (0.1, 0.2, 0.4, 0.8, 1.5)
# Waits before a request with a lost answer is sent again, over a new connection.
_LOST = (0.1, 0.4)


class HdfsClient:
    """The file system that `RemoteFiles` uses. Every path is absolute; errors are Python's own."""

    async_impl = False

    def __init__(self, host: str, options: Mapping[str, str]) -> None:
        """`host` may have a port, or be a name service; empty means the default of Hadoop's own files.

        Raises `RuntimeError` and `ValueError` for an invalid host.
        """
        self._host = host
        try:
            self._unused = _connected(host, options)
        except (RuntimeError, ValueError):
            if not host or ":" in host:
                raise
            # Neither a name service nor a host with a port: add Hadoop's default port.
            self._host = f"{host}:{_DEFAULT_PORT}"
            self._unused = _connected(self._host, options)

    @cached_property
    def _client(self) -> Client:
        # The library would try for minutes if no server answers.
        host, _, port = self._host.rpartition(":")
        if port.isdigit():
            require_listening(host, int(port))
        return self._unused

    def ls(self, path: str, *, detail: bool) -> list[dict[str, Any]]:
        return [_info(status) for status in self._client.list_status(path)]

    def info(self, path: str) -> dict[str, Any]:
        return _info(self._client.get_file_info(path))

    def cat_file(self, path: str) -> bytes:
        for seconds in (*_WAITS, None):
            reader = self._client.read(path)
            require_small(len(reader))
            data = reader.read()
            # For a block that no DataNode has, or has reported yet, the client silently reads nothing; for a
            # file that was just closed it may not even count the block.
            whole = len(reader) or self._client.get_file_info(path).length
            if len(data) == whole:
                return data
            if seconds is not None:
                time.sleep(seconds)
        raise OSError(f"{size(whole - len(data))} of {path} are on no DataNode")

    def rm_file(self, path: str) -> None:
        _retry_lost_answers(lambda: self._client.delete(path))

    def put_if_absent(self, path: str, data: bytes) -> bool:
        try:
            self._put(path, data, overwrite=False)
        except FileExistsError:
            return False
        return True

    def replace(self, path: str, data: bytes) -> None:
        self._put(path, data, overwrite=True)

    def prune(self, directory: str) -> None:
        """Remove empty directories, the deepest first; a directory that gets a file meanwhile stays."""
        with suppress(FileNotFoundError):
            directories = [each.path for each in self._client.list_status(directory, True) if each.isdir]
            for path in sorted([*directories, directory], key=len, reverse=True):
                try:
                    self._client.delete(path)
                except RuntimeError as error:
                    if "PathIsNotEmptyDirectoryException" not in str(error):
                        raise

    def make_directory(self, directory: str) -> None:
        self._client.mkdirs(directory, 0o755, True)

    def move(self, source: str, target: str) -> bool:
        """Rename a directory; False if the target exists. The NameNode renames atomically."""
        self._client.mkdirs(target.rpartition("/")[0], 0o755, True)
        try:
            _retry_lost_answers(lambda: self._renamed(source, target))
        except FileExistsError:
            return False
        return True

    def _renamed(self, source: str, target: str) -> None:
        try:
            self._client.rename(source, target, False)
        except FileNotFoundError:
            # A request with a lost answer renamed it.
            self._client.get_file_info(target)

    def _put(self, path: str, data: bytes, *, overwrite: bool) -> None:
        """Write beside the path, under a name like Paimon's temporary files, and rename."""
        directory, _, name = path.rpartition("/")
        written = f"{directory}/.{name}.{uuid.uuid4()}"
        try:
            _retry_lost_answers(lambda: self._write(written, data))
            _retry_lost_answers(lambda: self._rename(written, path, data, overwrite=overwrite))
        except BaseException:
            with suppress(FileNotFoundError):
                _retry_lost_answers(lambda: self._client.delete(written))
            raise

    def _write(self, path: str, data: bytes) -> None:
        # No other process has this name: an existing file was made by a request with a lost answer.
        options = WriteOptions(create_parent=True, overwrite=True)
        writer = self._client.create(path, options)
        try:
            with writer:
                writer.write(data)
        finally:
            # The library leaves it open to Python, which would close it again when it is collected, and which
            # prints the error of that from 3.13 on.
            RawIOBase.close(writer)

    def _rename(self, written: str, path: str, data: bytes, *, overwrite: bool) -> None:
        try:
            self._client.rename(written, path, overwrite)
        except FileNotFoundError:
            # A request with a lost answer renamed it.
            if self.cat_file(path) != data:
                raise


def _retry_lost_answers(call: Callable[[], object]) -> None:
    """Repeat a call with a lost answer, which the client does not do by itself. `call` must be idempotent."""
    for seconds in _LOST:
        try:
            call()
            return
        except OSError as error:
            # Errors from the NameNode have a type of their own.
            if type(error) is not OSError:
                raise
        time.sleep(seconds)
    call()


def _connected(host: str, options: Mapping[str, str]) -> Client:
    return Client(
        f"hdfs://{host}" if host else None,
        {**_PATIENCE, **_settings(options)},
        options.get(CONF_DIR),
        kerberos_principal=options.get(PRINCIPAL),
        kerberos_keytab=options.get(KEYTAB),
    )


def _info(status: FileStatus) -> dict[str, Any]:
    return {
        "name": status.path,
        "size": status.length,
        "type": "directory" if status.isdir else "file",
        "mtime": datetime.fromtimestamp(status.modification_time / 1000, UTC),
    }


def _settings(options: Mapping[str, str]) -> dict[str, str]:
    """Hadoop's settings among Paimon's catalog options, selected as by pypaimon."""
    own = {name: value for name, value in options.items() if name.startswith(_HADOOPS_OWN)}
    prefixed = {
        name.removeprefix(_PREFIX): value for name, value in options.items() if name.startswith(_PREFIX)
    }
    return {**own, **prefixed}
