"""The line that stands where stock engines look while a branch is main, so that they fail with it."""

from __future__ import annotations


def notice(branch: str) -> bytes:
    """What stands in place of the first schema, and of a snapshot: one line, and no JSON."""
    return (
        f"Branch {branch} is main of this table: it is read and written as $branch_{branch}. "
        "`paimark undo` makes this directory main again.\n"
    ).encode()
