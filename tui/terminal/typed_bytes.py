"""Decode bytes from the terminal that are not UTF-8: pasted text of another encoding, Alt as the eighth bit.

Textual's driver would end the program at the first such byte. Here a character replaces each of them.
"""

from __future__ import annotations

from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Callable
from functools import partial

from textual.drivers import linux_driver


def read_any_bytes() -> None:
    """Make Textual's driver accept such bytes."""
    linux_driver.getincrementaldecoder = _lenient  # type: ignore[attr-defined, assignment]


def _lenient(encoding: str) -> Callable[[], IncrementalDecoder]:
    return partial(getincrementaldecoder(encoding), "replace")
