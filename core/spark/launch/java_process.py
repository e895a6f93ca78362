"""The end of Spark's Java process, and the words for it."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from core.errors import PaimarkError, Unavailable
from core.spark.launch.java import Java

# Connections break, and Spark stops, shortly before the process has ended.
_DEATH_SECONDS = 3.0


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether Java has ended, or ends in a moment."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(_DEATH_SECONDS)
    return process.poll() is not None


def ending(code: int) -> str:
    """The end of a process with that exit code, as the rest of a sentence."""
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended (exit code {code})"


@contextmanager
def starting(process: subprocess.Popen[bytes], java: Java) -> Iterator[None]:
    """Within the context, the end of Java raises `Unavailable`, whatever call finds Java gone."""
    try:
        yield
    except PaimarkError:
        raise
    except Exception as error:
        if not has_ended(process):
            raise
        raise start_failed(process, java) from error


def start_failed(process: subprocess.Popen[bytes], java: Java) -> Unavailable:
    """The error for a Java process that ended before Spark was ready."""
    end = ending(process.returncode)
    return Unavailable(f"Java {java.version} ({java.executable}) {end} while Spark was starting")
