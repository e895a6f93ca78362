"""How a process ended, in words; and a process that lets others run first."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.processes import ending

_SHARES = Path("/proc/self/autogroup")
_GIVES_WAY = """
import os
from core.processes import give_way
give_way(7)
print(os.nice(0))
with open("/proc/self/autogroup") as shares:
    print(shares.read().split()[-1])
"""


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


@pytest.mark.skipif(not _SHARES.exists(), reason="this system has no shares of sessions (autogroup)")
def test_a_process_with_a_session_of_its_own_gives_way() -> None:
    """Niceness alone has no effect outside a session."""
    ran = subprocess.run(
        [sys.executable, "-c", _GIVES_WAY], capture_output=True, text=True, check=True, start_new_session=True
    )
    assert [int(each) - os.nice(0) for each in ran.stdout.split()] == [7, 7]
