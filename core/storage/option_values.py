"""The values that catalog options of stores take. An invalid value is refused, never guessed at."""

from __future__ import annotations

import re
from collections.abc import Mapping

from paimark.core.durations import parse_duration
from paimark.core.errors import UsageError
from paimark.core.storage.known_options import (
    LOCK_ENABLED,
    METASTORE,
    RECOVER_WAIT_OPTION,
    S3_CREDENTIALS,
    VERIFY_WAIT_OPTION,
    require_files,
    require_known,
    s3_name,
)

_YES_NO = frozenset(
    {
        *("fs.azure.always.use.https", "fs.azure.account.hns.enabled"),
        *("security.kerberos.login.use-ticket-cache", "hdfs.client.fallback-to-pyarrow"),
        *("cache-enabled", "fuse.enabled", "local-cache.enabled", "resolving-file-io.enabled"),
        LOCK_ENABLED,
    }
)
# In capital letters; the clients ignore case.
_WORDS = {
    "fs.azure.fns.account.service.type": ("BLOB", "DFS"),
    "hdfs.client.impl": ("NATIVE", "PYARROW"),
    METASTORE: ("FILESYSTEM",),
    "fs.oss.impl": ("JINDO", "LEGACY"),
    "fuse.validation-mode": ("STRICT", "WARN", "NONE"),
    "fuse.mode": ("PVFS", "RAW"),
}
_DURATIONS = frozenset({VERIFY_WAIT_OPTION, RECOVER_WAIT_OPTION})
# By the names that `s3_name` returns.
_S3_YES_NO = frozenset({"path-style-access", "connection-ssl-enabled"})
_S3_MILLISECONDS = frozenset({"connection-establish-timeout", "connection-timeout"})
_MILLISECONDS = re.compile(r"0*[1-9][0-9]{0,8}\s*(?:ms)?")
# Different S3 names for the same option.
_S3_SAME = {"endpoint-region": "region"} | {
    name: names[0] for names in S3_CREDENTIALS.values() for name in names
}


def require_options(options: Mapping[str, str], warehouse: str) -> None:
    """Raises `UsageError` naming a catalog option that no client obeys, or that can't be obeyed.

    Also for an address or option that asks for a catalog with a server.
    """
    require_files(warehouse, options)
    require_known(options, warehouse)
    require_values(options)


def require_values(options: Mapping[str, str]) -> None:
    """Raises `UsageError` naming an option with an invalid value, or one that another option contradicts."""
    of_s3: dict[str, str] = {}
    key, secret, session = (S3_CREDENTIALS[part][0] for part in ("key", "secret", "token"))
    has_keys = any(_S3_SAME.get(s3_name(option)) == key and value for option, value in options.items())
    for option, value in options.items():
        name = _S3_SAME.get(s3_name(option), s3_name(option))
        if name == session and not value and has_keys:
            # Long-lived keys have no session token, and a script may serve both kinds.
            continue
        _require_value(option, value)
        if name:
            first = of_s3.setdefault(name, option)
            if _normalized(name, options[first]) != _normalized(name, value):
                raise UsageError(f"{first} and {option} say different things", "Leave one of them out.")
    if (key in of_s3) != (secret in of_s3):
        there, other = (key, secret) if key in of_s3 else (secret, key)
        raise UsageError(
            f"{of_s3[there]} is of no use without s3.{other}",
            "Give both, or neither where the environment or a profile has them.",
        )
    if session in of_s3 and key not in of_s3:
        raise UsageError(
            f"{of_s3[session]} is of no use without s3.{key} and s3.{secret}",
            "Give all three, or none where the environment or a profile has them.",
        )


def is_yes(value: str) -> bool:
    """The value of an option that is true or false."""
    return value.strip().lower() == "true"


def _normalized(name: str, value: str) -> str:
    """A canonical form for the spellings of an S3 value."""
    text = value.strip()
    if name in _S3_YES_NO:
        return text.lower()
    if name in _S3_MILLISECONDS:
        return str(int(text.removesuffix("ms")))
    return text.rstrip("/") if name == "endpoint" else text


def _require_value(option: str, value: str) -> None:
    name, on_s3 = option.lower(), s3_name(option)
    if not value.strip():
        # The client would ignore it, and use another identity or another store.
        raise UsageError(f"{option} is empty", "Is the variable set that it comes from?")
    if (name in _YES_NO or on_s3 in _S3_YES_NO) and value.strip().lower() not in ("true", "false"):
        raise UsageError(f"{option} is true or false, not {value}")
    if on_s3 in _S3_MILLISECONDS and not _MILLISECONDS.fullmatch(value.strip()):
        raise UsageError(f"{option} is {value!r}, and not a number of milliseconds")
    if (words := _WORDS.get(name)) and value.strip().upper() not in words:
        *others, last = map(str.lower, words)
        known = f"{', '.join(others)} or {last}" if others else last
        raise UsageError(f"{option} is {known}, not {value}")
    if name in _DURATIONS:
        try:
            parse_duration(value)
        except UsageError as error:
            raise UsageError(f"{option}: {error.message}", error.hint) from error
