"""Whether a store's server is known and can be reached.

gcsfs asks a server six times, with growing pauses; ossfs without an endpoint fails at the first request.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping
from functools import cache
from urllib.parse import urlsplit

from core.errors import Unavailable, UsageError
from core.storage.clouds.google_options import ENDPOINT

_GOOGLE = "https://storage.googleapis.com"
_EMULATOR = "STORAGE_EMULATOR_HOST"
_SECONDS = 5.0
_PORTS = {"https": 443, "http": 80}


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
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    if (reason := _reason(host, parts.port or _PORTS.get(parts.scheme, 443))) is not None:
        raise Unavailable(
            f"{shown} can't be reached: {host}: {reason}",
            f"Check the network; the option {ENDPOINT} names another server.",
        )


def _reason(host: str, port: int) -> str | None:
    try:
        _connected(host, port)
    except OSError as error:
        return error.strerror or str(error)
    return None


@cache
def _connected(host: str, port: int) -> None:
    """Connect once in a process. Raises `OSError`, also if there is no answer within a few seconds."""
    outcome: list[OSError | None] = []

    def connect() -> None:
        try:
            socket.create_connection((host, port), timeout=_SECONDS).close()
            outcome.append(None)
        except OSError as error:
            outcome.append(error)

    # In a thread, because nothing else bounds how long the search for an address takes.
    thread = threading.Thread(target=connect, name="reach", daemon=True)
    thread.start()
    thread.join(_SECONDS)
    if not outcome:
        raise TimeoutError(f"no answer within {_SECONDS:.0f} s")
    if outcome[0] is not None:
        raise outcome[0]


def _default_endpoint() -> str:
    """The server that gcsfs uses if no option names one."""
    emulator = os.environ.get(_EMULATOR, "")
    if emulator in ("", "default"):
        return _GOOGLE
    return emulator if "://" in emulator else f"http://{emulator}"
