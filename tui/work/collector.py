"""Python collects garbage while nobody types.

By default it does so after a number of new objects, so while it handles a key: each repaint makes thousands.
A full collection takes longer than a repaint.
"""

from __future__ import annotations

import asyncio
import gc

# New objects until Python collects by itself, for keys that repeat without a pause; and how many collections
# of one generation until the next older one is collected, too.
_MOST_NEW, _MOST_COLLECTIONS = 10_000, 50
# In seconds without a key. The young generations are collected after a pause, and all of them after a rest.
_PAUSE = 0.1
_REST = 1.0


class Collector:
    """Call `begin` in the event loop's thread, and then `key_pressed` for each key, also in that thread."""

    def __init__(self) -> None:
        self._planned: list[asyncio.TimerHandle] = []

    def begin(self) -> None:
        # The objects made so far live on: they need not be scanned again and again.
        gc.freeze()
        gc.set_threshold(_MOST_NEW, _MOST_COLLECTIONS, _MOST_COLLECTIONS)
        gc.enable()

    def key_pressed(self) -> None:
        for each in self._planned:
            each.cancel()
        loop = asyncio.get_running_loop()
        self._planned = [loop.call_later(_PAUSE, gc.collect, 1), loop.call_later(_REST, gc.collect)]
