"""Addresses of files and stores in Hadoop's form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from paimark.core.storage.clouds.azure_account import account_of

# Alternative schemes, each with the one that Hadoop's client accepts.
_SAME = {"gcs": "gs", "az": "abfs"}
# By scheme, the kind of store, which names its jars and settings.
_KINDS = {
    **{"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gcs", "gcs": "gcs", "oss": "oss"},
    **{"abfs": "abfs", "abfss": "abfs", "az": "abfs", "hdfs": "hdfs", "viewfs": "hdfs", "file": "file"},
}


class Store(NamedTuple):
    """One bucket, container, name service or the local disk. `bucket` may be empty."""

    scheme: str
    bucket: str

    @property
    def kind(self) -> str:
        """`s3`, `gcs`, `oss`, `abfs`, `hdfs`, `file`; any other scheme unchanged."""
        return _KINDS.get(self.scheme, self.scheme)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}"


def store_of(address: str) -> Store:
    """The store of a file or of a warehouse."""
    scheme, separator, rest = address.partition("://")
    if not separator or address.startswith("file:"):
        return Store("file", "")
    return Store(scheme.lower(), rest.partition("/")[0])


def hadoop_address(address: str, options: Mapping[str, str]) -> str:
    """The address for Hadoop, which always needs a scheme, and for Azure the account in the host."""
    if address.startswith("/"):
        # Without a scheme Hadoop would use its default file system.
        return f"file:{address}"
    store = store_of(address)
    if store.kind == "file":
        return address
    path = address.partition("://")[2].removeprefix(store.bucket)
    bucket = _with_account(store.bucket, options) if store.kind == "abfs" else store.bucket
    return f"{_SAME.get(store.scheme, store.scheme)}://{bucket}{path}"


def _with_account(container: str, options: Mapping[str, str]) -> str:
    account = account_of(f"abfs://{container}", options)
    return f"{container.partition('@')[0]}@{account.name}.{account.host}" if account.name else container
