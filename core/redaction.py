"""Keep the secrets of addresses and options out of every error, record, log and screen.

`without_secrets` removes the secrets of an address when it is parsed. `keep_secrets` remembers given secrets,
because other people's libraries repeat them. `redacted` removes both kinds from a text, and a `PaimarkError`
from its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

HIDDEN = "***"
# The fields of records that may hold secrets: catalog options, Spark settings, and addresses as entered.
_FIELDS = frozenset({"options", "spark_conf", "conf", "warehouse", "master", "spark_master"})
# `re` compiles these patterns on their first use: few texts need them, and no first frame.
_SECRET_NAME = (
    r"[\w.-]{0,60}(?:secret|passw|passphrase|token|signature|credential|private[._-]?key|access[._-]?key"
    r"|account[._-]key|api[._-]?key|\bsig\b|\bsas\b|\bpwd\b|\bauth\b)[\w.-]{0,60}"
)
# `://user:password@`, also with a slash in the password, but not the port of `://host:9000/a@b`. Lengths are
# bounded so that a hostile text costs no more than its length.
_OWNER = r":/{1,3}[^\s/@:'\"]{0,300}:(?!\d{1,5}/)[^\s'\"]{0,300}@"
_WEB_OWNER = r"(?i)(?<=http)(s?)://[^\s/@'\"]{1,300}@"
_QUERY = rf"(?i)([?&]{_SECRET_NAME}=)[^\s&'\"]+"
# A parameter of a Spark Connect address: sc://host:15002/;token=...
_PARAMETER = rf"(?i)(;{_SECRET_NAME}=)[^\s;'\"]+"
# Stores without queries in their addresses: a question mark is a letter of a name.
_WITHOUT_QUERIES = frozenset(
    {"s3", "s3a", "s3n", "gs", "gcs", "abfs", "abfss", "az", "oss", "hdfs", "memory", "file"}
)
# A shorter secret may be part of any word.
_SHORTEST = 4
_kept: set[str] = set()


def redacted(text: str) -> str:
    """The text with `***` for passwords of addresses, secrets in queries, and all remembered secrets."""
    for secret in sorted(_kept, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    if "@" in text:
        text = re.sub(_OWNER, f"://{HIDDEN}@", re.sub(_WEB_OWNER, rf"\1://{HIDDEN}@", text))
    if "=" in text:
        text = re.sub(_PARAMETER, rf"\1{HIDDEN}", re.sub(_QUERY, rf"\1{HIDDEN}", text))
    return text


def keep_secrets(address: str, *settings: Mapping[str, str]) -> None:
    """Remember the secrets in an address and in settings until this process ends."""
    for each in settings:
        for name, value in each.items():
            if _is_secret(name):
                _keep(value)
            else:
                # An endpoint or a proxy is an address as well.
                _keep_of_address(value)
    _keep_of_address(address)


def shown_value(name: str, value: str) -> str:
    """The value of an option as it may be shown."""
    return HIDDEN if _is_secret(name) else value


def without_secrets(address: str) -> str:
    """The address without `user:password@` (for http also `user@`), and without any query it can have."""
    return "::".join(_bare(part) for part in address.split("::"))


def owner_of(address: str) -> str:
    """The part before the host, `key:secret`; empty if it has no password, unless it is of a web address."""
    scheme, _, rest = address.partition("://")
    authority = rest.partition("/")[0]
    owner = authority.rpartition("@")[0]
    if not owner and ":" in authority and not authority.rpartition(":")[2].isdigit():
        # A password may hold a slash.
        owner = rest.rpartition("@")[0]
    is_web = scheme.lower() in ("http", "https")
    return owner if ":" in owner or is_web else ""


class HidesSecrets(msgspec.Struct, frozen=True):
    """A struct whose `repr`, also in a traceback that shows locals, holds no options and no address."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({shown})"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in _FIELDS]


def _bare(address: str) -> str:
    scheme, separator, rest = address.partition("://")
    if owner := owner_of(address):
        rest = rest.removeprefix(f"{owner}@")
    if separator and scheme.lower() not in _WITHOUT_QUERIES:
        rest = rest.partition("?")[0]
    return f"{scheme}{separator}{rest}"


def query_secrets(address: str) -> list[str]:
    """The values of the secrets in the query or the parameters of an address: tokens, signatures."""
    _, *parameters = re.split("[?&;]", address)
    pairs = (each.partition("=") for each in parameters)
    return [value for name, _, value in pairs if value and _is_secret(name)]


def _is_secret(name: str) -> bool:
    return re.search(_SECRET_NAME, name, re.IGNORECASE) is not None


def _keep_of_address(address: str) -> None:
    for part in address.split("::"):
        if owner := owner_of(part):
            _keep(owner.partition(":")[2] or owner)
        for secret in query_secrets(part):
            _keep(secret)


def _keep(secret: str) -> None:
    if len(secret) < _SHORTEST:
        return
    _kept.add(secret)
    if "%" in secret:
        from urllib.parse import unquote

        _kept.add(unquote(secret))
