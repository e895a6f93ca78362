"""Handle keys in the order they were typed: the effects of one are complete before the next is handled.

What the console needs of Textual's bindings that Textual keeps private is used here only.

Textual passes a key to the focused widget, and its effects travel as messages from widget to widget. Over a
slow line keys arrive in bursts, and a key would find a focus or a screen that the one before it is about to
change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

from textual.app import App
from textual.binding import Binding, BindingsMap
from textual.dom import DOMNode
from textual.events import Key
from textual.message_pump import MessagePump
from textual.screen import Screen

ROWS = "the rows are there"
# In seconds. A widget that has not answered by then is waiting for something: handle the next key.
_PATIENCE = 1.0


@runtime_checkable
class WaitingScreen(Protocol):
    """A screen whose keys may have to wait for rows, or for other data that a thread is reading."""

    def waits_for(self, binding: str) -> str:
        """The event a key (by its binding's id) must wait for, such as "the rows are there"; empty for none.

        Pasted text, and a key without a binding, pass an empty `binding`.
        """


@runtime_checkable
class Cancellable(Protocol):
    """A screen with something that ctrl+c can cancel."""

    def cancel(self) -> bool:
        """Cancel it; return whether there was anything to cancel."""


async def settled(node: DOMNode) -> None:
    """Wait until the messages that a key caused have gone up from `node` to its screen; a second at most."""
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


async def act(app: App[Any], event: Key) -> bool:
    """Run the binding of a key; return whether it has one. Text is left to the focused widget."""
    if await app._check_bindings(event.key, priority=True):
        return True
    focused = app.focused
    is_text = focused is not None and focused.check_consume_key(event.key, event.character)
    return not is_text and await app._check_bindings(event.key)


def bind(app: App[Any], bindings: list[Binding]) -> None:
    """Give the application more keys. `App.bind` takes no ids."""
    app._bindings.key_to_bindings.update(BindingsMap(bindings).key_to_bindings)


def keymap(app: App[Any]) -> Mapping[str, str]:
    """The keys that `App.set_keymap` was given, by the ids of their bindings."""
    return app._keymap


def keys_of_node(node: DOMNode) -> Mapping[str, list[Binding]]:
    """The bindings of one widget by their present keys."""
    bindings = node._bindings.copy()
    bindings.apply_keymap(keymap(node.app))
    return bindings.key_to_bindings


def keys_for(screen: Screen[object], action: str) -> list[str]:
    """The keys with an action on the screen, also the application's, of which a dialog hides all without
    priority."""
    chain = screen._binding_chain
    return [pressed for _, bindings in chain for pressed, binding in bindings if binding.action == action]


def binding_of(screen: Screen[object], key: str) -> str:
    """The id of a key's binding on the screen, enabled or not; empty if the key has none."""
    return next((binding.id or "" for binding in bindings_of(screen, key)), "")


def is_bound(screen: Screen[object], key: str) -> bool:
    """Whether a key has a binding on the screen, enabled or not."""
    return any(True for _ in bindings_of(screen, key))


def bindings_of(screen: Screen[object], key: str) -> Iterator[Binding]:
    """The bindings of a key on the screen, enabled or not, the most specific first."""
    for _, bindings in screen._modal_binding_chain:
        yield from bindings.key_to_bindings.get(key, ())
