"""Wait for what another process or thread does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")


def eventually(look: Callable[[], Seen], seconds: float = 240) -> Seen:
    """What `look` sees as soon as that is true; the time only guards against hanging."""
    until = time.monotonic() + seconds
    while not (seen := look()):
        assert time.monotonic() < until, f"after {seconds:g} s still {seen!r}"
        time.sleep(0.02)
    return seen
