"""HDFS by its own protocol: no Java, and the two renames that files are created and replaced with.

The NameNode carries out each rename whole: one refuses a name that is taken, the other takes it over.
"""

from __future__ import annotations

import socket
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from io import RawIOBase
from typing import Any

# The library's other client, the asynchronous one, can stop for ever when it is collected.
from hdfs_native import Client, FileStatus, WriteOptions

from core.figures import size
from core.storage.known_options import CONF_DIR, KEYTAB, PRINCIPAL
from core.storage.limits import require_small

_CONNECT_SECONDS = 5.0
# The NameNodes of a name service that are not there are given up in about ten seconds.
_PATIENCE = {"dfs.client.failover.max.attempts": "4", "dfs.client.failover.sleep.base.millis": "300"}
_DEFAULT_PORT = 8020
_PREFIX = "hdfs.config."
_HADOOPS_OWN = ("dfs.", "fs.", "hadoop.", "ipc.", "io.")
# Until a block that was just written is reported: 3 seconds.
_WAITS = (0.1, 0.2, 0.4, 0.8, 1.5)
# Before a request whose answer was lost is sent again, which takes a new connection.
_LOST = (0.1, 0.4)


class HdfsClient:
    """The file system that `RemoteFiles` uses. Every path is absolute; errors are Python's own."""

    async_impl = False

    def __init__(self, host: str, options: Mapping[str, str]) -> None:
        """`host` may have a port, or be a name service; empty is the default of Hadoop's own files.

        Raises `RuntimeError` and `ValueError` for what can't be one.
        """
        self._host = host
        try:
            self._unused = _connected(host, options)
        except (RuntimeError, ValueError):
            if not host or ":" in host:
                raise
            # Neither a name service nor a port: Hadoop's own default.
            self._host = f"{host}:{_DEFAULT_PORT}"
            self._unused = _connected(self._host, options)

    @cached_property
    def _client(self) -> Client:
        # The library would try for minutes where nobody answers.
        host, _, port = self._host.rpartition(":")
        if port.isdigit():
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()
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
            # Of a block that no DataNode has, or has reported yet, the client reads nothing and says nothing;
            # of a file that was just closed it may not even count it.
            whole = len(reader) or self._client.get_file_info(path).length
            if len(data) == whole:
                return data
            if seconds is not None:
                time.sleep(seconds)
        raise OSError(f"{size(whole - len(data))} of {path} are on no DataNode")

    def rm_file(self, path: str) -> None:
        _until_answered(lambda: self._client.delete(path))

    def put_if_absent(self, path: str, data: bytes) -> bool:
        try:
            self._put(path, data, overwrite=False)
        except FileExistsError:
            return False
        return True

    def replace(self, path: str, data: bytes) -> None:
        self._put(path, data, overwrite=True)

    def prune(self, directory: str) -> None:
        """Remove directories that hold nothing, the deepest first: one that gets a file meanwhile stays."""
        with suppress(FileNotFoundError):
            directories = [each.path for each in self._client.list_status(directory, True) if each.isdir]
            for path in sorted([*directories, directory], key=len, reverse=True):
                try:
                    self._client.delete(path)
                except RuntimeError as error:
                    if "PathIsNotEmptyDirectoryException" not in str(error):
                        raise

    def _put(self, path: str, data: bytes, *, overwrite: bool) -> None:
        """Write beside the path, under a name as Paimon gives its temporary files, and rename."""
        directory, _, name = path.rpartition("/")
        written = f"{directory}/.{name}.{uuid.uuid4()}"
        try:
            _until_answered(lambda: self._write(written, data))
            _until_answered(lambda: self._rename(written, path, data, overwrite=overwrite))
        except BaseException:
            with suppress(FileNotFoundError):
                _until_answered(lambda: self._client.delete(written))
            raise

    def _write(self, path: str, data: bytes) -> None:
        # Nobody else has this name: what is there was made by a request whose answer was lost.
        options = WriteOptions(create_parent=True, overwrite=True)
        writer = self._client.create(path, options)
        try:
            with writer:
                writer.write(data)
        finally:
            # The library leaves it open to Python, which would end it again when it lets go of it, and from
            # 3.13 on prints what that fails with.
            RawIOBase.close(writer)

    def _rename(self, written: str, path: str, data: bytes, *, overwrite: bool) -> None:
        try:
            self._client.rename(written, path, overwrite)
        except FileNotFoundError:
            # It was renamed by a request whose answer was lost.
            if self.cat_file(path) != data:
                raise


def _until_answered(call: Callable[[], object]) -> None:
    """Ask again where the answer was lost: the client does not by itself. `call` must be idempotent."""
    for seconds in _LOST:
        try:
            call()
            return
        except OSError as error:
            # What the NameNode says has a type of its own.
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
    """Hadoop's settings among Paimon's catalog options, as pypaimon takes them."""
    own = {name: value for name, value in options.items() if name.startswith(_HADOOPS_OWN)}
    prefixed = {
        name.removeprefix(_PREFIX): value for name, value in options.items() if name.startswith(_PREFIX)
    }
    return {**own, **prefixed}
