"""From an address and Paimon's options to a file system of fsspec's, with time limits and without caches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.errors import Unavailable, UsageError
from core.redaction import asked_secrets, owner_of, without_secrets
from core.storage.files import Files
from core.storage.remote import RemoteFiles
from core.storage.remote_errors import unavailable

# The clients that create a file by one conditional request; whether the store keeps it is raced for.
_CONDITIONAL = frozenset({"memory", "gs", "gcs", "abfs", "abfss", "az"})
_S3 = frozenset({"s3", "s3a", "s3n"})
# The part before the @ of other addresses is for their clients.
_WITHOUT_PASSWORDS = _S3 | {"gs", "gcs", "abfs", "abfss", "az", "oss", "hdfs"}
_PACKAGES = {"gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "abfss": "adlfs", "az": "adlfs", "oss": "ossfs"}
_GOOGLE = {"gcs.project-id": "project", "gcs.access-token": "token"}
_ALIBABA = {
    "fs.oss.endpoint": "endpoint",
    "fs.oss.accessKeyId": "key",
    "fs.oss.accessKeySecret": "secret",
    "fs.oss.securityToken": "token",
}
_OPTIONS = {"gs": _GOOGLE, "gcs": _GOOGLE, "oss": _ALIBABA}
_AZURE_KEY = "fs.azure.account.key."


def open_remote(uri: str, options: Mapping[str, str]) -> Files:
    """The files of the warehouse at `uri`. Raises `Unavailable` when the store's library is not installed."""
    written, _, location = uri.partition("://")
    scheme, location = written.lower(), location.rstrip("/")
    uri = f"{scheme}://{location}"
    shown = without_secrets(uri).rstrip("/")
    if not shown.partition("://")[2]:
        raise UsageError(f"{shown}// names no bucket or directory", "Write it as s3://bucket/path.")
    _require_no_passwords(uri)
    if scheme in _S3:
        from core.storage.s3 import S3Files, s3_arguments

        filesystem, root = _connect(f"s3://{location}", s3_arguments(options), "paimark[s3]", shown)
        return S3Files(filesystem, root, shown)
    if scheme == "hdfs":
        from core.storage.hadoop.hdfs import open_hdfs

        return open_hdfs(location, shown, options)
    filesystem, root = _connect(uri, _other_arguments(scheme, options), _PACKAGES.get(scheme, ""), shown)
    # Files in this process's own memory are no store that others write to.
    must_prove = scheme != "memory"
    return RemoteFiles(filesystem, root, shown, can_create=scheme in _CONDITIONAL, must_prove=must_prove)


def _require_no_passwords(uri: str) -> None:
    """Raises `UsageError` where a client would take a password for a part of the name, or pass over it."""
    for part in uri.split("::"):
        scheme = part.partition("://")[0].lower()
        if scheme in _WITHOUT_PASSWORDS and (owner_of(part) or asked_secrets(part)):
            raise UsageError(
                f"{without_secrets(uri)} was given with a password or token: {scheme} addresses take none",
                "Leave it out: give it as an option (`--option s3.access-key=...`), or in the environment.",
            )


def _connect(uri: str, arguments: Mapping[str, object], package: str, shown: str) -> tuple[Any, str]:
    """fsspec's file system and the path in it. `shown` is what errors call it."""
    from fsspec.core import url_to_fs

    try:
        filesystem, root = url_to_fs(uri, use_listings_cache=False, skip_instance_cache=True, **arguments)
    except ImportError as error:
        raise Unavailable(
            f"{shown} needs a library that is not installed",
            f"Install it: pip install '{package}'." if package else str(error),
        ) from error
    except ValueError as error:
        raise UsageError(
            f"{shown} can't be opened: {error}", "Use a path, or s3://, hdfs://, gs:// or abfs://."
        ) from error
    # The edge to other people's clients: each store's library has a family of errors of its own.
    except Exception as error:
        raise unavailable(shown, error) from error
    return filesystem, root


def _other_arguments(scheme: str, options: Mapping[str, str]) -> dict[str, object]:
    """Paimon's options for Google, Alibaba and Azure, as gcsfs, ossfs and adlfs name them."""
    if scheme in _OPTIONS:
        return {name: options[option] for option, name in _OPTIONS[scheme].items() if option in options}
    if scheme in ("abfs", "abfss", "az"):
        for option, value in options.items():
            if option.startswith(_AZURE_KEY):
                return {
                    "account_name": option.removeprefix(_AZURE_KEY).partition(".")[0],
                    "account_key": value,
                }
    return {}
