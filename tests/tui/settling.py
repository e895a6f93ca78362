"""Waiting until a console has handled and painted all it was told."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from textual.app import App
from textual.message_pump import MessagePump

# A handler that awaits another one goes on at the event loop's next turn.
_QUIET_TURNS = 8
# Seconds. A handler may wait for a person, and something may move all the time.
_LONGEST = 0.5


async def settled(app: App[Any]) -> None:
    """Until nothing waits to be handled or painted, half a second at most."""
    until = time.monotonic() + _LONGEST
    quiet, pumps = 0, list[MessagePump]()
    while quiet < _QUIET_TURNS and time.monotonic() < until:
        await asyncio.sleep(0)
        # To walk the screen is dear. What comes to it while all is quiet is found by the last look.
        if quiet in (0, _QUIET_TURNS - 1):
            pumps = _pumps(app)
        quiet = 0 if _has_work(app, pumps) else quiet + 1


def _pumps(app: App[Any]) -> list[MessagePump]:
    """All that gets messages."""
    return [app, *app.screen.walk_children(with_self=True)] if app.screen_stack else [app]


def _has_work(app: App[Any], pumps: list[MessagePump]) -> bool:
    """Whether a message, a callback or a part of the screen is waiting. A screen that waits is painted."""
    if not app.screen_stack:
        return False
    screen = app.screen
    if app._resize_timer is not None or any(
        pump.message_queue_size or pump._next_callbacks for pump in pumps
    ):
        return True
    if screen._layout_required or screen._repaint_required or screen._dirty_widgets:
        # As the screen's own timer would, some milliseconds later.
        screen._on_timer_update()
        return True
    return bool(screen._callbacks)
