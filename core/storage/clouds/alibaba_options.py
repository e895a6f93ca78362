"""Catalog options of Alibaba's OSS, as ossfs names them."""

from __future__ import annotations

from collections.abc import Mapping

OPTIONS = {
    "fs.oss.endpoint": "endpoint",
    "fs.oss.accessKeyId": "key",
    "fs.oss.accessKeySecret": "secret",
    "fs.oss.securityToken": "token",
}


def alibaba_arguments(options: Mapping[str, str]) -> dict[str, object]:
    """The arguments for ossfs. Option names are accepted in any case."""
    known = {option.lower(): argument for option, argument in OPTIONS.items()}
    return {known[name.lower()]: value for name, value in options.items() if name.lower() in known}
