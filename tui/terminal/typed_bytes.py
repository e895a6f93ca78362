"""Bytes from the terminal that are no UTF-8: a text of another encoding that is pasted, Alt as an eighth bit.

Textual's driver ends the program at the first of them. Here each is a character that stands for it.
"""

from __future__ import annotations

from codecs import IncrementalDecoder, getincrementaldecoder
from collections.abc import Callable
from functools import partial

from textual.drivers import linux_driver


def read_any_bytes() -> None:
    """Make Textual's driver take them."""
    linux_driver.getincrementaldecoder = _lenient  # type: ignore[attr-defined, assignment]


def _lenient(encoding: str) -> Callable[[], IncrementalDecoder]:
    return partial(getincrementaldecoder(encoding), "replace")
