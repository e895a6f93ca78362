"""The notice: a line in the place of the first schema, by which stock engines fail while a branch is main."""

from __future__ import annotations

import re


def notice(branch: str) -> bytes:
    """The content of the notice, and of the barrier: one line that is no JSON.

    Stock engines show only its first word in their error, so that word has the whole message.
    """
    word = re.sub(r"\W", "_", branch)
    return (
        f"MAIN_OF_THIS_TABLE_IS_NOW_ITS_BRANCH_{word}: it is read and written as $branch_{branch}. "
        "`paimark undo` makes this directory main again.\n"
    ).encode()
