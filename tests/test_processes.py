"""How a process ended, in words."""

from __future__ import annotations

import pytest

from paimark.core.processes import ending
from tests.wording import about


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-9, ("SIGKILL", "signal 9", "memory")),
        (137, ("SIGKILL", "signal 9", "memory")),
        (-15, ("SIGTERM",)),
        (143, ("exit code 143",)),
        (3, ("exit code 3",)),
    ],
)
def test_a_kill_is_told_as_a_lack_of_memory(code: int, words: tuple[str, ...]) -> None:
    told = ending(code)
    assert about(*words).search(told)
    assert ("memory" in told) is (code in (-9, 137))
