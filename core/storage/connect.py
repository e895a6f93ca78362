"""Open an fsspec file system from an address and Paimon's options, with time limits and without caches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from core.errors import Unavailable, UsageError
from core.redaction import asked_secrets, owner_of, without_secrets
from core.storage.files import Files
from core.storage.remote import RemoteFiles
from core.storage.remote_errors import unavailable

_S3 = frozenset({"s3", "s3a", "s3n"})
_GOOGLE = frozenset({"gs", "gcs"})
_AZURE = frozenset({"abfs", "abfss", "az"})
_WITH_BUCKETS = _S3 | _GOOGLE | _AZURE | {"oss"}
_WHOLE_AZURE = "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"
_PACKAGES = {
    **dict.fromkeys(_GOOGLE, "paimark[gcs]"),
    **dict.fromkeys(_AZURE, "paimark[azure]"),
    "oss": "paimark[oss]",
}
# In other addresses the part before the @ belongs to their clients.
_WITHOUT_PASSWORDS = _WITH_BUCKETS | {"hdfs"}


def open_remote(uri: str, options: Mapping[str, str]) -> Files:
    """The files of the warehouse at `uri`. Raises `Unavailable` when the store's library is not installed."""
    written, _, location = uri.partition("://")
    scheme, location = written.lower(), location.rstrip("/")
    uri = f"{scheme}://{location}"
    shown = without_secrets(uri).rstrip("/")
    if not shown.partition("://")[2]:
        raise UsageError(f"{shown}// names no bucket or directory", _written(scheme))
    if location.startswith("/") and scheme in _WITH_BUCKETS:
        raise UsageError(f"{shown} names no bucket", _written(scheme))
    _require_no_passwords(uri)
    if scheme in _S3:
        from core.storage.s3.s3_files import S3Files
        from core.storage.s3.s3_options import s3_arguments

        filesystem, root = _connect(f"s3://{location}", s3_arguments(options), "paimark[s3]", shown)
        return S3Files(filesystem, root, shown)
    if scheme == "hdfs":
        from core.storage.hadoop.hdfs import open_hdfs

        return open_hdfs(location, shown, options)
    arguments, kind = _other(uri, scheme, options)
    # fsspec knows this scheme whether or not it has read adlfs' own list of schemes.
    address = f"abfs://{location}" if scheme in _AZURE else uri
    filesystem, root = _connect(address, arguments, _PACKAGES.get(scheme, ""), shown)
    return kind(filesystem, root, shown)


def _written(scheme: str) -> str:
    """The hint that shows how to write an address."""
    if scheme in _AZURE:
        return f"Write it as {_WHOLE_AZURE}."
    where = "namenode:8020" if scheme == "hdfs" else "bucket"
    return f"Write it as {scheme}://{where}/path."


def _other(
    uri: str, scheme: str, options: Mapping[str, str]
) -> tuple[dict[str, object], Callable[[Any, str, str], Files]]:
    """The arguments of the store's client, and the class to call with it, the path and the shown address."""
    if scheme in _GOOGLE:
        from core.storage.clouds.google import GoogleFiles
        from core.storage.clouds.google_options import google_arguments

        return google_arguments(options), GoogleFiles
    if scheme in _AZURE:
        from core.storage.clouds.azure import AzureFiles
        from core.storage.clouds.azure_account import account_of, azure_arguments

        return azure_arguments(account_of(uri, options)), AzureFiles
    if scheme == "oss":
        from core.storage.clouds.alibaba import AlibabaFiles
        from core.storage.clouds.alibaba_options import alibaba_arguments

        return alibaba_arguments(options), AlibabaFiles
    # Files in this process's own memory have no other writers.
    is_memory = scheme == "memory"
    return {}, partial(RemoteFiles, can_create=is_memory, must_prove=not is_memory)


def _require_no_passwords(uri: str) -> None:
    """Raises `UsageError` if a client would take a password for a part of the name, or ignore it."""
    for part in uri.split("::"):
        scheme = part.partition("://")[0].lower()
        if scheme in _WITHOUT_PASSWORDS and (owner_of(part) or asked_secrets(part)):
            raise UsageError(
                f"{without_secrets(uri)} was given with a password or token: {scheme} addresses take none",
                "Leave it out: give it as an option (`--option s3.access-key=...`), or in the environment.",
            )


def _connect(uri: str, arguments: Mapping[str, object], package: str, shown: str) -> tuple[Any, str]:
    """fsspec's file system and the path in it. `shown` is its name in errors."""
    from fsspec.core import url_to_fs

    try:
        filesystem, root = url_to_fs(uri, use_listings_cache=False, skip_instance_cache=True, **arguments)
    except ImportError as error:
        raise Unavailable(
            f"{shown} needs a library that is not installed",
            f"Install it: pip install '{package}'." if package else str(error),
        ) from error
    except ValueError as error:
        hint = "Use a path, or s3://, hdfs://, gs:// or abfs://."
        if uri.partition("://")[0] in _AZURE:
            hint = f"Name the account: {_WHOLE_AZURE}, or AZURE_STORAGE_ACCOUNT_NAME and _KEY."
        raise UsageError(f"{shown} can't be opened: {error}", hint) from error
    # The edge to foreign clients: each store's library has its own family of errors.
    except Exception as error:
        raise unavailable(shown, error) from error
    return filesystem, root
