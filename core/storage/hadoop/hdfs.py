"""A warehouse on HDFS."""

from __future__ import annotations

from collections.abc import Mapping

from core.errors import Unavailable, UsageError
from core.storage.paths import checked
from core.storage.remote import RemoteFiles


class HdfsFiles(RemoteFiles):
    """Files are written beside their place and then renamed to it, which the NameNode does whole."""

    def prune(self, directory: str) -> None:
        full = self._file(checked(directory))
        with self._said_plainly(directory):
            self._call("prune", full)

    def _create(self, full: str, data: bytes) -> bool:
        created: bool = self._call("put_if_absent", full, data)
        return created

    def _replace(self, full: str, data: bytes) -> None:
        self._call("replace", full, data)


def open_hdfs(location: str, shown: str, options: Mapping[str, str]) -> HdfsFiles:
    """`location` is `host:port/path`, or `/path` for Hadoop's own default.

    Raises `Unavailable` without the library, and `UsageError`.
    """
    host, slash, path = location.partition("/")
    try:
        from core.storage.hadoop.hdfs_client import HdfsClient
    except ImportError as error:
        raise Unavailable(
            f"{shown} needs a library that is not installed", "Install it: pip install 'paimark[hdfs]'."
        ) from error
    try:
        client = HdfsClient(host, options)
    except (ValueError, RuntimeError, OSError) as error:
        raise UsageError(
            f"{shown} can't be opened: {error}", "Write it as hdfs://host:port/path, or set HADOOP_CONF_DIR."
        ) from error
    return HdfsFiles(client, f"{slash}{path}", shown, can_create=True)
