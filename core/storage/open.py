"""Open a warehouse's files from its address."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from paimark.core.errors import UsageError
from paimark.core.redaction import keep_secrets
from paimark.core.storage.files import Fenced, Files
from paimark.core.storage.local import LocalFiles
from paimark.core.storage.option_values import require_options

if TYPE_CHECKING:
    from paimark.core.storage.remote import RemoteFiles

# Where a rename fails if its target exists.
_RENAMING = ("hdfs:", "viewfs:", "file:")
_NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


def open_files(uri: str, options: Mapping[str, str] = _NO_OPTIONS) -> Files:
    """The files of the warehouse at `uri`: a local path or `file://`, else a store that fsspec knows.

    `options` are Paimon's catalog options (`s3.endpoint`, `s3.access-key`, ...). Touches neither disk nor
    network. Raises `UsageError` for an unknown option or an invalid value.
    """
    if not uri.strip():
        raise UsageError("No warehouse is named", "Give a path or an address: `paimark WAREHOUSE`.")
    keep_secrets(uri, options)
    require_options(options, uri)
    if uri.startswith("file:"):
        return LocalFiles("/" + uri.removeprefix("file:").lstrip("/"))
    if "://" not in uri:
        return LocalFiles(uri)
    # fsspec costs start-up time that a local warehouse must not pay.
    from paimark.core.storage.connect import open_remote

    return open_remote(uri, options)


def keeps_from_stock(uri: str) -> bool:
    """Whether stock writers, who look for a file and then rename theirs to it, overwrite none here.

    Paimark's own writes are conditional on every store.
    """
    return moves_directories(uri)


def moves_directories(uri: str) -> bool:
    """Whether the store renames files and directories in one step: object stores don't."""
    return "://" not in uri or uri.startswith(_RENAMING)


def require_conditions(files: Files) -> None:
    """Before large writes for a commit: raises `Refused` if no commit is safe on this store."""
    if (remote := _remote(files)) is not None:
        remote.require_conditions()


def give_up_copies(files: Files, directory: str, is_own: Callable[[str], bool]) -> int:
    """Give up copies to files below a directory that a process began and did not end; returns how many.

    S3 copies large files in parts, which no listing shows and which cost until then. `is_own` is asked for
    each path, relative to the directory.
    """
    remote = _remote(files)
    return 0 if remote is None else remote.give_up_copies(directory, is_own)


def options_for_others(files: Files, options: Mapping[str, str]) -> dict[str, str]:
    """The options, plus those that their client found in places where other clients do not look.

    May hold secrets. Sends no request to a store.
    """
    remote = _remote(files)
    return dict(options) if remote is None else remote.options_for_others(options)


def _remote(files: Files) -> RemoteFiles | None:
    if "://" not in files.uri:
        return None
    from paimark.core.storage.remote import RemoteFiles

    while isinstance(files, Fenced):
        # A change that looks at an interrupted one has a fence of its own around that one's.
        files = files.inner
    return files if isinstance(files, RemoteFiles) else None
