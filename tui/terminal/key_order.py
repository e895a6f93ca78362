"""Keys in the order they were typed: what one of them set off is done before the next is looked at.

Textual hands a key to the widget that has the focus, and what it sets off travels as messages from widget
to widget. On a slow line keys come in bursts, and the next one would find a focus or a screen that the one
before it is about to change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Protocol, runtime_checkable

from textual.binding import Binding
from textual.dom import DOMNode
from textual.message_pump import MessagePump
from textual.screen import Screen

ROWS = "the rows are there"
# A widget that does not answer by then waits for something: keys go on without it.
_PATIENCE = 1.0


@runtime_checkable
class WaitingScreen(Protocol):
    """A screen with keys that are for rows, or for something else that a thread still reads."""

    def waits_for(self, binding: str) -> str:
        """Until what a key (by its binding's id) must wait, such as "the rows are there"; empty: it need not.

        A text that is pasted, and a key without a binding, have an empty one.
        """


@runtime_checkable
class Cancellable(Protocol):
    """A screen that shows something which ctrl+c cancels."""

    def cancel(self) -> bool:
        """Cancel it; whether there was anything to cancel."""


async def settled(node: DOMNode) -> None:
    """Return when the messages that a key set off have gone up from `node` to its screen."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            for each in node.ancestors_with_self:
                await _drained(each)
                if isinstance(each, Screen):
                    return


async def _drained(pump: MessagePump) -> None:
    while True:
        reached = asyncio.Event()
        if not pump.call_later(reached.set):
            return
        await reached.wait()
        if not pump.message_queue_size:
            return


def binding_of(screen: Screen[object], key: str) -> str:
    """The id of the binding that a key has there, possible now or not; empty for a key that has none."""
    return next((binding.id or "" for binding in bindings_of(screen, key)), "")


def is_bound(screen: Screen[object], key: str) -> bool:
    """Whether a key has a binding there, possible now or not."""
    return any(True for _ in bindings_of(screen, key))


def bindings_of(screen: Screen[object], key: str) -> Iterator[Binding]:
    """The bindings that a key has there, possible now or not, the most particular first."""
    for _, bindings in screen._modal_binding_chain:
        yield from bindings.key_to_bindings.get(key, ())
