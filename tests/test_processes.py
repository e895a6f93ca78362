"""How a process ended, in words."""

from __future__ import annotations

import pytest

from paimark.core.processes import ending


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-9, "was killed by SIGKILL (signal 9), most likely because the system ran out of memory"),
        (137, "was killed by SIGKILL (signal 9), most likely because the system ran out of memory"),
        (-15, "was ended by SIGTERM"),
        (143, "ended (exit code 143)"),
        (3, "ended (exit code 3)"),
    ],
)
def test_a_kill_is_told_as_a_lack_of_memory(code: int, words: str) -> None:
    assert ending(code) == words
