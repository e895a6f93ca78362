"""Catalogs with a server, which Paimark does not know yet.

Their addresses and options are refused by name. Nobody gets another catalog than the one that was asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from paimark.core.errors import UsageError
from paimark.core.storage.known_options import LOCK_ENABLED, METASTORE

_AS_FILES = "Name the warehouse's directory, which opens as files"
# What is different then from what the catalog shows.
_MEANS = {
    "Hive": "a table with a location elsewhere is missing there, and a dropped external one is listed.",
    "JDBC": "no lock is taken then, and a JDBC catalog can't read the branches of a table.",
    "REST": "the server sees no change that is made there.",
}
_SCHEMES = {"thrift": "Hive", "jdbc": "JDBC", "http": "REST", "https": "REST"}
_METASTORES = {kind.lower(): kind for kind in _MEANS}
_SCHEME = re.compile(r"(thrift|jdbc|https?):", re.IGNORECASE)
# Options that only such a catalog has: their names, or how they begin.
_OPTIONS = {
    "Hive": ("hive-conf-dir", "hadoop-conf-dir", "location-in-properties", "client-pool-cache."),
    "JDBC": ("catalog-key", "sync-all-properties", "jdbc."),
    "REST": ("token", "token.", "token-refresh-", "dlf.", "header."),
}
_OF_SEVERAL = ("uri", "client-pool-size")
_LOCK_OPTIONS = ("lock.type", "lock-check-max-sleep", "lock-acquire-timeout")


def require_files(warehouse: str, options: Mapping[str, str]) -> None:
    """Raises `UsageError` if the address or an option asks for a catalog that is not one of files."""
    if scheme := _SCHEME.match(warehouse):
        word = scheme[1].lower()
        hint = _hint(_SCHEMES[word])
        if _SCHEMES[word] == "REST":
            hint += " The endpoint of an S3 store is an option: s3.endpoint."
        raise UsageError(f"{_SCHEMES[word]} catalogs are not supported yet, so {word}: can't be opened", hint)
    for option, value in options.items():
        _require_option(option.lower(), value.strip().lower())


def _require_option(name: str, value: str) -> None:
    if name == METASTORE and (kind := _METASTORES.get(value)):
        raise UsageError(
            f"{kind} catalogs are not supported yet: {METASTORE} can only be filesystem", _hint(kind)
        )
    for kind, names in _OPTIONS.items():
        if _is_one_of(name, names):
            raise UsageError(
                f"{name} is an option of {kind} catalogs, which are not supported yet", _hint(kind)
            )
    if name in _OF_SEVERAL:
        raise UsageError(
            f"{name} is an option of Hive, JDBC and REST catalogs, which are not supported yet",
            f"{_AS_FILES}.",
        )
    if name in _LOCK_OPTIONS or (name == LOCK_ENABLED and value == "true"):
        raise UsageError(
            f"Paimark takes no lock of a catalog, so {name} would protect nothing",
            "Leave it out. On an object store, make changes while no other engine writes to the table.",
        )


def _is_one_of(name: str, names: Iterable[str]) -> bool:
    return any(name.startswith(each) if each.endswith((".", "-")) else name == each for each in names)


def _hint(kind: str) -> str:
    return f"{_AS_FILES}: {_MEANS[kind]}"
