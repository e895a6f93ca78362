"""Make Hadoop's clients of S3 anew for other keys, in all processes of a running Spark: `RenewedS3.java`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paimark.core.spark.stores.addresses import Store
from paimark.core.spark.stores.settings import S3_CLIENT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CLASS = "paimark.stores.RenewedS3"
_NUMBER = "paimark.s3.keys."


def renew_client(session: SparkSession, conf: Any, store: Store) -> None:
    """Let all scans from now on read the store with clients that have the keys of `conf`.

    `conf` is Hadoop's configuration of the session's context.
    """
    conf.set(f"fs.{store.scheme}.impl", _CLASS)
    conf.setBoolean(f"fs.{store.scheme}.impl.disable.cache", True)
    conf.setInt(f"{_NUMBER}{store.bucket}", conf.getInt(f"{_NUMBER}{store.bucket}", 0) + 1)


def is_renewable(conf: Any, store: Store) -> bool:
    """Whether Hadoop reads the store with the client whose settings are known here."""
    return conf.get(f"fs.{store.scheme}.impl") in (S3_CLIENT, _CLASS)
