"""Check whether pypaimon-rust is installed. Imports neither it nor pypaimon."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

PACKAGE = "pypaimon-rust"
INSTALL = "pip install 'paimark[fast]'"
# The release line that tests compare with stock Paimon.
_LINE = ("0", "4")


@cache
def why_missing() -> str:
    """The reason why it can't be used in this Python; empty if it can."""
    try:
        found = version(PACKAGE)
    except PackageNotFoundError:
        return f"it is not installed ({INSTALL})"
    if tuple(found.split(".")[:2]) != _LINE:
        return f"it is {found}, and only {'.'.join(_LINE)} is known here"
    return ""
