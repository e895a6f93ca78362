"""Open an fsspec file system from an address and Paimon's options, with time limits and without caches."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from paimark.core.errors import Unavailable, UsageError
from paimark.core.redaction import owner_of, query_secrets, without_secrets
from paimark.core.storage.files import Files
from paimark.core.storage.remote import RemoteFiles
from paimark.core.storage.remote_errors import unavailable

_S3 = frozenset({"s3", "s3a", "s3n"})
_GOOGLE = frozenset({"gs", "gcs"})
_AZURE = frozenset({"abfs", "abfss", "az"})
_BUCKETS = _S3 | _GOOGLE | {"oss"}
_PACKAGES = {
    **dict.fromkeys(_GOOGLE, "paimark[gcs]"),
    **dict.fromkeys(_AZURE, "paimark[azure]"),
    "oss": "paimark[oss]",
}
# In other addresses the part before the @ belongs to their clients.
_WITHOUT_PASSWORDS = _BUCKETS | _AZURE | {"hdfs"}
_HOSTS = frozenset({"http", "https", "webhdfs", "swebhdfs", "ftp", "sftp", "ssh", "smb"})
_WHOLE_AZURE = "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_BUCKET = re.compile(r"(?!\.)[a-zA-Z0-9._-]{1,255}|arn:[^\s/]{1,255}")
_CONTAINER = re.compile(r"(?!\.)\$?[a-zA-Z0-9._-]{1,255}")
# Labels of a name, or an IPv6 address in brackets. Name services of Hadoop may hold underscores.
_HOST = re.compile(r"(?=.{1,253}$)(?:[\w-]{1,63}\.)*[\w-]{1,63}\.?|\[[0-9a-fA-F:.]+\]")
_PORT = re.compile(r"0*([0-9]{1,5})")
_LAST_PORT = 65535
_PARENTS = ("..", ".")


def open_remote(uri: str, options: Mapping[str, str]) -> Files:
    """The files of the warehouse at `uri`. Raises `Unavailable` when the store's library is not installed."""
    written, _, location = uri.partition("://")
    scheme, location = written.lower(), location.rstrip("/")
    uri = f"{scheme}://{location}"
    shown = without_secrets(uri).rstrip("/")
    if not shown.partition("://")[2]:
        raise UsageError(f"{shown}// names no bucket or directory", _address_example(scheme))
    _require_no_passwords(uri)
    require_address(shown)
    if scheme in _S3:
        from paimark.core.storage.s3.s3_files import S3Files
        from paimark.core.storage.s3.s3_options import s3_arguments

        filesystem, root = _connect(f"s3://{location}", s3_arguments(options), "paimark[s3]", shown)
        return S3Files(filesystem, root, shown)
    if scheme == "hdfs":
        try:
            from paimark.core.storage.hdfs import open_hdfs
        except ImportError as error:
            raise _not_installed(shown, "paimark[hdfs]", error) from error
        return open_hdfs(location, shown, options)
    arguments, kind = _other(uri, scheme, options)
    # fsspec knows this scheme whether or not it has read adlfs' own list of schemes.
    address = f"abfs://{location}" if scheme in _AZURE else uri
    filesystem, root = _connect(address, arguments, _PACKAGES.get(scheme, ""), shown)
    return kind(filesystem, root, shown)


def _other(
    uri: str, scheme: str, options: Mapping[str, str]
) -> tuple[dict[str, object], Callable[[Any, str, str], Files]]:
    """The arguments of the store's client, and the class to call with it, the path and the shown address."""
    if scheme in _GOOGLE:
        from paimark.core.storage.clouds.google import GoogleFiles
        from paimark.core.storage.clouds.google_options import google_arguments
        from paimark.core.storage.clouds.server_check import require_google

        arguments = google_arguments(options)
        require_google(without_secrets(uri), arguments)
        return arguments, GoogleFiles
    if scheme in _AZURE:
        from paimark.core.storage.clouds.azure import AzureFiles
        from paimark.core.storage.clouds.azure_account import account_of, azure_arguments

        return azure_arguments(account_of(uri, options)), AzureFiles
    if scheme == "oss":
        from paimark.core.storage.clouds.alibaba import AlibabaFiles
        from paimark.core.storage.clouds.alibaba_options import alibaba_arguments
        from paimark.core.storage.clouds.server_check import require_endpoint

        arguments = alibaba_arguments(options)
        require_endpoint(without_secrets(uri), arguments)
        return arguments, AlibabaFiles
    # Files in this process's own memory have no other writers.
    is_memory = scheme == "memory"
    return {}, partial(RemoteFiles, can_create=is_memory, must_prove=not is_memory)


def _require_no_passwords(uri: str) -> None:
    """Raises `UsageError` if a client would take a password for a part of the name, or ignore it."""
    for part in uri.split("::"):
        scheme = part.partition("://")[0].lower()
        if scheme in _WITHOUT_PASSWORDS and (owner_of(part) or query_secrets(part)):
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
        raise _not_installed(shown, package, error) from error
    except ValueError as error:
        hint = "Use a path, or s3://, hdfs://, gs:// or abfs://."
        if uri.partition("://")[0] in _AZURE:
            hint = f"{_address_example('abfss')} Or set AZURE_STORAGE_ACCOUNT_NAME and _KEY."
        raise UsageError(f"{shown} can't be opened: {error}", hint) from error
    # The edge to foreign clients: each store's library has its own family of errors.
    except Exception as error:
        raise unavailable(shown, error) from error
    return filesystem, root


def _not_installed(shown: str, package: str, error: ImportError) -> Unavailable:
    return Unavailable(
        f"{shown} needs a library that is not installed",
        f"Install it: pip install '{package}'." if package else str(error),
    )


def require_address(address: str) -> None:
    """Raises `UsageError` that names the part which no client accepts. `address` holds no password."""
    scheme, _, location = address.partition("://")
    _require_printable(address)
    authority, _, path = location.partition("/")
    if scheme in _BUCKETS:
        _require_bucket(address, authority)
    elif scheme in _AZURE:
        _require_container(address, authority)
    elif scheme == "hdfs":
        _require_name_node(address, authority)
    elif scheme in _HOSTS:
        _require_host(address, authority.rpartition("@")[2])
        return
    else:
        return
    _require_straight(address, path)


def _address_example(scheme: str) -> str:
    """The hint that shows an address of the store."""
    if scheme in _AZURE:
        return f"Write it as {_WHOLE_AZURE}."
    if scheme == "hdfs":
        return "Write it as hdfs://namenode:8020/path, or hdfs://SERVICE/path for a name service."
    return f"Write it as {scheme}://{'host' if scheme in _HOSTS else 'bucket'}/path."


def _require_printable(address: str) -> None:
    # Quoted, so that the character is seen.
    if _CONTROL.search(address):
        raise UsageError(
            f"The address {address!r} holds a control character", "Was a line break copied with it?"
        )
    if _SURROGATE.search(address):
        raise UsageError(f"The address {address!r} is not UTF-8", "Write it in the terminal's encoding.")


def _require_bucket(address: str, bucket: str) -> None:
    if not bucket:
        raise UsageError(f"{address} names no bucket", _hint(address))
    if not _BUCKET.fullmatch(bucket):
        hint = f"{_hint(address)} A bucket's name has letters, digits, dots and dashes."
        raise UsageError(f"{address}: {bucket!r} is not a bucket name", hint)


def _require_container(address: str, authority: str) -> None:
    container, has_account, account = authority.partition("@")
    if not container:
        raise UsageError(f"{address} names no container", _hint(address))
    if not _CONTAINER.fullmatch(container):
        hint = f"{_hint(address)} A container's name has letters, digits and dashes."
        raise UsageError(f"{address}: {container!r} is not a container name", hint)
    if has_account:
        _require_host_name(address, account)


def _require_name_node(address: str, authority: str) -> None:
    """An empty one is the default of Hadoop's own configuration."""
    if "@" in authority:
        raise UsageError(
            f"{address} names a user: hdfs addresses take none",
            "Leave it out: HADOOP_USER_NAME names the user.",
        )
    if authority:
        _require_host(address, authority)


def _require_host(address: str, authority: str) -> None:
    """Raises `UsageError` unless it is `host` or `host:port`."""
    host, has_port, port = _split_port(authority)
    _require_host_name(address, host)
    number = _PORT.fullmatch(port)
    if has_port and not (number and 0 < int(number[1]) <= _LAST_PORT):
        raise UsageError(
            f"{address}: {port!r} is not a port",
            f"{_hint(address)} A port is a number from 1 to {_LAST_PORT}.",
        )


def _split_port(authority: str) -> tuple[str, str, str]:
    """The colons of `[::1]` precede no port."""
    if authority.endswith("]"):
        return authority, "", ""
    host, colon, port = authority.rpartition(":")
    return (host, colon, port) if colon else (authority, "", "")


def _require_host_name(address: str, host: str) -> None:
    if not host:
        raise UsageError(f"{address} names no host", _hint(address))
    if not _HOST.fullmatch(host):
        raise UsageError(f"{address}: {host!r} is not a host name", _hint(address))


def _require_straight(address: str, path: str) -> None:
    """Hadoop's clients shorten `a/../b`, and others look for `..`: they would use different directories."""
    if parent := next((part for part in path.split("/") if part in _PARENTS), ""):
        raise UsageError(f"{address} holds {parent!r} as a part of its path", "Write the path without it.")


def _hint(address: str) -> str:
    return _address_example(address.partition("://")[0])
