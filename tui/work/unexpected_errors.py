"""Turn an unexpected exception into an error with a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paimark.core.errors import PaimarkError
from paimark.core.redaction import redacted

if TYPE_CHECKING:
    from rich.traceback import Traceback


def problem_of(error: Exception) -> PaimarkError:
    """The error itself if it is one of Paimark's; else an error that reports a bug and its source line.

    For the outermost function of a thread: nothing would report an exception that leaves it.
    """
    if isinstance(error, PaimarkError):
        return error
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = f"{frame.tb_frame.f_code.co_filename}:{frame.tb_lineno}" if frame else "nowhere"
    return PaimarkError(f"{type(error).__name__}: {error}", f"This is a fault of Paimark itself, at {where}.")


def traceback_of(error: BaseException) -> Traceback:
    """The traceback for the terminal when the console fails. Locals are not shown: they hold options."""
    from rich.traceback import Traceback

    trace = Traceback.extract(type(error), error, error.__traceback__)
    for stack in trace.stacks:
        stack.exc_value = redacted(stack.exc_value)
    return Traceback(trace, width=None)
