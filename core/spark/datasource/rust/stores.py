"""Where pypaimon-rust may read: the local disk, and stores by options that it was tried with."""

from __future__ import annotations

from collections.abc import Mapping

from core.storage.known_options import s3_name

_S3 = ("s3", "s3a")
_KEYS = ("s3.access-key", "s3.secret-key")
_PATH_STYLE = "s3.path.style.access"
_S3_TRIED = (*_KEYS, "s3.endpoint", "s3.region", _PATH_STYLE)


def why_not_store(warehouse: str, options: Mapping[str, str]) -> str:
    """Why Python reads; empty where pypaimon-rust may. `options` are the catalog's.

    Who reads has to be told by options: where it looks for itself it may find somebody else.
    """
    scheme, is_address, _ = warehouse.partition("://")
    if not is_address:
        return ""
    if scheme not in _S3:
        return f"it is not tried on {scheme}"
    if missing := next((key for key in _KEYS if not options.get(key)), ""):
        return f"it needs {missing} as an option"
    for option in options:
        if s3_name(option) and option not in _S3_TRIED:
            return f"it is not tried with {option}"
    if options.get(_PATH_STYLE, "").lower() != "true":
        return f"it is not tried on S3 without {_PATH_STYLE} = true"
    return ""
