"""A warehouse on HDFS."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from paimark.core.errors import Unavailable, UsageError
from paimark.core.storage.files import is_taken
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
    """`location` is `host:port/path`, or `/path` for Hadoop's own default.

    Raises `Unavailable` without the library, and `UsageError`.
    """
    login = _login(options)
    configuration = options.get(CONF_DIR)
    if configuration is not None and not os.path.isdir(configuration):
        raise UsageError(
            f"{CONF_DIR}={configuration} is no directory",
            "It is the one with core-site.xml and hdfs-site.xml.",
        )
    host, slash, path = location.partition("/")
    try:
        from paimark.core.storage.hadoop.hdfs_client import HdfsClient
    except ImportError as error:
        raise Unavailable(
            f"{shown} needs a library that is not installed", "Install it: pip install 'paimark[hdfs]'."
        ) from error
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
