"""Stop an engine's processes for a moment: what a person waits for gets the CPU.

Spark's start and warm-up keep every core busy for seconds. A lower priority is no help where the kernel
shares the CPU by sessions, because the engine has a session of its own.
"""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

# In a session of its own, so that what ends the engine or its parent does not end this.
_GUARD = 'sleep "$1"; kill -s CONT -- "-$2"'


class Pause:
    """Of a process group. The caller makes sure that the group's number is not that of another group."""

    def __init__(self, group: int) -> None:
        self._group = group
        self._guard: subprocess.Popen[bytes] | None = None

    def begin(self, seconds: float) -> None:
        """Stop the group until `end`, for at most so many seconds, also if this process dies meanwhile."""
        self.end()
        command = ["/bin/sh", "-c", _GUARD, "sh", f"{seconds:g}", str(self._group)]
        quiet = subprocess.DEVNULL
        with suppress(OSError):
            # First the one that lets it go on: nothing stays stopped for ever.
            self._guard = subprocess.Popen(
                command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
            )
            os.killpg(self._group, signal.SIGSTOP)

    def end(self) -> None:
        """Let the group go on, if it was stopped."""
        guard, self._guard = self._guard, None
        if guard is not None:
            with suppress(OSError):
                os.killpg(self._group, signal.SIGCONT)
            with suppress(OSError):
                os.killpg(guard.pid, signal.SIGKILL)
            guard.wait()
