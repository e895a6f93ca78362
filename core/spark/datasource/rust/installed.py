"""Whether pypaimon-rust is installed here. Imports neither it nor pypaimon."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

PACKAGE = "pypaimon-rust"
INSTALL = "pip install 'paimark[fast]'"
# The line that tests hold up to stock Paimon.
_LINE = ("0", "4")


@cache
def why_missing() -> str:
    """Why it reads nothing in this Python; empty where it does."""
    try:
        found = version(PACKAGE)
    except PackageNotFoundError:
        return f"it is not installed ({INSTALL})"
    if tuple(found.split(".")[:2]) != _LINE:
        return f"it is {found}, and only {'.'.join(_LINE)} is known here"
    return ""
