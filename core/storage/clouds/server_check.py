"""Whether a store's server is known and can be reached.

gcsfs asks a server six times, with growing pauses; ossfs without an endpoint fails at the first request.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from urllib.parse import urlsplit

from paimark.core.errors import Unavailable, UsageError
from paimark.core.listening import reason, require_listening
from paimark.core.storage.clouds.google_options import ENDPOINT

_GOOGLE = "https://storage.googleapis.com"
_EMULATOR = "STORAGE_EMULATOR_HOST"
_PORTS = {"https": 443, "http": 80}
# A process connects once.
_listening_once = cache(require_listening)


def require_google(shown: str, arguments: Mapping[str, object]) -> None:
    """Raises `Unavailable` after a few seconds. `arguments` are those of gcsfs, which knows no proxies."""
    if _is_opened_by("gs", "gcsfs"):
        require_reachable(str(arguments.get("endpoint_url") or _default_endpoint()), shown)


def require_endpoint(shown: str, arguments: Mapping[str, object]) -> None:
    """Raises `UsageError` without the endpoint that ossfs needs. `arguments` are those of ossfs."""
    is_given = "endpoint" in arguments or "OSS_ENDPOINT" in os.environ
    if not is_given and _is_opened_by("oss", "ossfs"):
        raise UsageError(
            f"{shown} needs the endpoint of its region",
            "Give it as --option fs.oss.endpoint=oss-REGION.aliyuncs.com, or as OSS_ENDPOINT.",
        )


def _is_opened_by(scheme: str, package: str) -> bool:
    """False if the package is missing: opening the store says so."""
    from fsspec import get_filesystem_class

    try:
        client = get_filesystem_class(scheme)
    except ImportError:
        return False
    module: str = client.__module__
    return module.partition(".")[0] == package


def require_reachable(endpoint: str, shown: str) -> None:
    """Raises `Unavailable` if nothing accepts a connection at the URL `endpoint`."""
    host, port = _address(endpoint)
    try:
        _listening_once(host, port)
    except OSError as error:
        raise Unavailable(
            f"{shown} can't be reached: {host}: {reason(error)}",
            f"Check the network; the option {ENDPOINT} names another server.",
        ) from error


def _address(endpoint: str) -> tuple[str, int]:
    """Raises `UsageError` for a URL with an impossible port."""
    try:
        parts = urlsplit(endpoint)
        return parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443)
    except ValueError as error:
        raise UsageError(f"{endpoint} is no address of a server", f"Check the option {ENDPOINT}.") from error


def _default_endpoint() -> str:
    """The server that gcsfs uses if no option names one."""
    emulator = os.environ.get(_EMULATOR, "")
    if emulator in ("", "default"):
        return _GOOGLE
    return emulator if "://" in emulator else f"http://{emulator}"
