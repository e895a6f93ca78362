"""The line that stands where stock engines look while a branch is main, so that they fail with it."""

from __future__ import annotations

import re


def notice(branch: str) -> bytes:
    """What stands in place of the first schema, and of a snapshot: one line, and no JSON.

    Its first word is all that the error of a stock engine shows, so that it says all.
    """
    word = re.sub(r"\W", "_", branch)
    return (
        f"MAIN_OF_THIS_TABLE_IS_NOW_ITS_BRANCH_{word}: it is read and written as $branch_{branch}. "
        "`paimark undo` makes this directory main again.\n"
    ).encode()
