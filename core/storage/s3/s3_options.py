"""Catalog options of S3 in the forms of its clients.

Paimon has few options; each client spells them differently, and some ignore unknown ones.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from paimark.core.storage.known_options import S3_CREDENTIALS, s3_name
from paimark.core.storage.option_values import is_yes
from paimark.core.storage.remote import IN_FLIGHT

# A dead endpoint is tried twice, so it has answered, or been given up, in about ten seconds.
_CONNECT_SECONDS = 3.0
_READ_SECONDS = 5.0
ATTEMPTS = 2
# pypaimon's spellings.
_ENDPOINT, _REGION, _PATH_STYLE = "s3.endpoint", "s3.region", "s3.path.style.access"
# Amazon's own programs read this variable; botocore reads only another one.
_REGION_VARIABLE = "AWS_REGION"
_KEYS = {"key": "s3.access-key", "secret": "s3.secret-key", "token": "s3.session-token"}
# `options_for_pypaimon` passes these on under other names.
_RENAMED = frozenset(
    {
        *(name for names in S3_CREDENTIALS.values() for name in names),
        *("endpoint", "region", "endpoint-region", "path-style-access", "connection-ssl-enabled"),
    }
)


class ClientSettings(NamedTuple):
    """The settings that the client uses: `endpoint` is empty for Amazon, `region` if none is set."""

    endpoint: str
    region: str
    is_anonymous: bool


def s3_arguments(options: Mapping[str, str]) -> dict[str, object]:
    """The arguments for s3fs from Paimon's catalog options. `option_values` has checked the values."""
    settings = _by_s3_name(options)
    config: dict[str, object] = {
        "connect_timeout": _seconds(settings, "connection-establish-timeout", _CONNECT_SECONDS),
        "read_timeout": _seconds(settings, "connection-timeout", _READ_SECONDS),
        "retries": {"mode": "standard", "total_max_attempts": ATTEMPTS},
        "max_pool_connections": IN_FLIGHT,
    }
    arguments: dict[str, object] = {**_keys(settings)}
    if "endpoint" in settings:
        arguments["endpoint_url"] = _endpoint(settings)
    if (path_style := settings.get("path-style-access")) is not None:
        config["s3"] = {"addressing_style": "path" if is_yes(path_style) else "virtual"}
    region = _region(settings) or os.environ.get(_REGION_VARIABLE, "")
    client = {"region_name": region} if region else {}
    return {**arguments, "config_kwargs": config, "client_kwargs": client}


def has_keys(options: Mapping[str, str]) -> bool:
    """Whether the options contain an access key."""
    return "key" in _keys(_by_s3_name(options))


def options_for_pypaimon(
    options: Mapping[str, str], client: ClientSettings, own_keys: Mapping[str, str]
) -> dict[str, str]:
    """The options under the names that pypaimon's clients know, completed with `client`'s settings.

    `own_keys` are `key`, `secret` and `token`, empty if those clients find them by themselves. May hold
    secrets.
    """
    settings = _by_s3_name(options)
    endpoint = _endpoint(settings) if "endpoint" in settings else client.endpoint
    # As in the client of the metadata: a custom store seldom answers at bucket.host.
    by_path = settings.get("path-style-access") or ("true" if endpoint else "")
    renamed = {
        _ENDPOINT: endpoint,
        _REGION: _region(settings) or client.region,
        _PATH_STYLE: by_path.strip().lower(),
    }
    renamed |= {_KEYS[part]: value for part, value in (_keys(settings) or own_keys).items()}
    others = {option: value for option, value in options.items() if s3_name(option) not in _RENAMED}
    return others | {name: value for name, value in renamed.items() if value}


def _by_s3_name(options: Mapping[str, str]) -> dict[str, str]:
    """The values by the names that `s3_name` returns."""
    return {name: value for option, value in options.items() if (name := s3_name(option))}


def _keys(settings: Mapping[str, str]) -> dict[str, str]:
    return {
        part: settings[name] for part, names in S3_CREDENTIALS.items() for name in names if settings.get(name)
    }


def _endpoint(settings: Mapping[str, str]) -> str:
    """The endpoint with its scheme."""
    endpoint = settings["endpoint"]
    is_secure = is_yes(settings.get("connection-ssl-enabled", "true"))
    return endpoint if "://" in endpoint else f"http{'s' * is_secure}://{endpoint}"


def _region(settings: Mapping[str, str]) -> str:
    return settings.get("region") or settings.get("endpoint-region") or ""


def time_limits(options: Mapping[str, str]) -> dict[str, float]:
    """The time limits that are given, in seconds: `connect` and `read`."""
    settings = _by_s3_name(options)
    names = {"connect": "connection-establish-timeout", "read": "connection-timeout"}
    return {part: _seconds(settings, name, 0.0) for part, name in names.items() if name in settings}


def _seconds(settings: Mapping[str, str], name: str, default: float) -> float:
    text = settings.get(name)
    return default if text is None else int(text.strip().removesuffix("ms")) / 1000
