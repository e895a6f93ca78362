"""Driving the console as a person does: keys in, the text on the screen out."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual import events
from textual.keys import key_to_character
from textual.pilot import Pilot
from textual.screen import Screen

from paimark.core.config import Settings
from paimark.core.spark.client.client import Engine
from paimark.tui.console import Console
from paimark.tui.opening import Opening
from paimark.tui.panes.query import QueryPane
from paimark.tui.session import Session
from paimark.tui.work.engine_room import EngineRoom
from tests.tui.painting import text_of
from tests.tui.settling import settled

# A statement of a freshly started Spark on a busy machine takes its time.
PATIENCE = 240.0
_STEP = 0.02
# Textual gives a screen 30 seconds to handle what it was told.
Pilot._wait_for_screen.__defaults__ = (PATIENCE,)


# Text as it is, or a pattern, all of which one line has.
Shown = str | re.Pattern[str]
ScreenKind = type[Screen[Any]]


def are_in(text: str, words: Iterable[Shown]) -> bool:
    """Whether a screen with this text shows all the words."""
    lines = text.splitlines()
    return all(
        word in text if isinstance(word, str) else any(word.search(line) for line in lines) for word in words
    )


@dataclass
class Sitting:
    """A console that runs, without Spark unless asked."""

    app: Console
    pilot: Pilot[None]

    @property
    def text(self) -> str:
        """What the terminal shows, a line a row."""
        return text_of(self.app)

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self.pilot.press(key)

    async def burst(self, *keys: str) -> None:
        """Keys that are all there before the first one is looked at, as over a slow line."""
        for key in keys:
            self.app.post_message(events.Key(key, key_to_character(key)))
        await settled(self.app)

    async def type(self, text: str) -> None:
        await self.press(*text)

    async def until(self, is_so: Callable[[], bool], what: str = "") -> None:
        """Wait for something to become true, and what belongs to it; show the screen when it does not."""
        waited = 0.0
        while not is_so():
            if waited > PATIENCE:
                raise AssertionError(f"It did not happen: {what}\n{self.text}")
            await self.pilot.pause(_STEP)
            waited += _STEP
        await settled(self.app)

    def shows(self, *words: Shown) -> bool:
        """Whether all these are on the screen now."""
        return are_in(self.text, words)

    async def sees(self, *words: Shown) -> None:
        """Wait until all these are on the screen."""
        await self.until(lambda: self.shows(*words), f"see {words}")

    async def applies(self) -> None:
        """Apply the plan on the screen, and see it done."""
        await self.sees("[ Apply ]")
        await self.press("a")
        await self.sees("✓ done")

    async def loses(self, word: Shown) -> None:
        """Wait until this is on the screen no more."""
        await self.until(lambda: not self.shows(word), f"lose {word}")

    async def opens(self, kind: ScreenKind) -> None:
        """Wait until a screen of this kind is the one in front."""
        await self.until(lambda: isinstance(self.app.screen, kind), f"open {kind.__name__}")


@asynccontextmanager
async def sitting(
    warehouse: Path | str,
    size: tuple[int, int] = (80, 24),
    *,
    read_only: bool = False,
    session: Session | None = None,
    start_engine: bool = False,
) -> AsyncIterator[Sitting]:
    """The console on a warehouse, with nobody at the keys yet."""
    session = session or Session(Settings(str(warehouse), read_only=read_only))
    opening = Opening(session)
    opening.start()
    app = Console(session, opening, start_engine=start_engine)
    async with app.run_test(size=size) as pilot:
        yield Sitting(app, pilot)
    session.room.close()


@asynccontextmanager
async def at_events(*place: Any, **more: Any) -> AsyncIterator[Sitting]:
    """As `sitting`, when shop.events shows, the first table."""
    async with sitting(*place, **more) as console:
        await console.sees("● events")
        yield console


@asynccontextmanager
async def at_orders(*place: Any, **more: Any) -> AsyncIterator[Sitting]:
    """As `sitting`, with the keys in the snapshots of shop.orders."""
    async with at_events(*place, **more) as console:
        await console.press("j", "enter")
        await console.sees("● orders", "1 of 5")
        yield console


def with_engine(warehouse: Path, engine: Engine) -> Session:
    """A session whose Spark is the suite's.

    The console of an earlier test may have left a statement to it, which would refuse the first one of this.
    """
    engine.wait_ready(120)
    until = time.monotonic() + 120
    while engine.state == "running" and time.monotonic() < until:
        time.sleep(_STEP)
    settings = Settings(str(warehouse))
    return Session(settings, EngineRoom(settings, engine))


@asynccontextmanager
async def querying(*place: Any, **more: Any) -> AsyncIterator[tuple[Sitting, QueryPane]]:
    """As `sitting`, with the query pane open on the second table."""
    async with sitting(*place, **more) as console:
        # The first table there is: a shared warehouse has databases of other tests as well.
        await console.sees("● ")
        await console.press("j", "6")
        await console.sees("[6 ", "SELECT *")
        yield console, console.app.query_one(QueryPane)


async def run(console: Sitting, pane: QueryPane, sql: str) -> None:
    await pane.prepare(sql)
    await console.press("ctrl+r")


@asynccontextmanager
async def planning_merge(table: str, *place: Any, **more: Any) -> AsyncIterator[Sitting]:
    """As `sitting`, with the plan of a merge of the table's branch fix on the screen."""
    async with sitting(*place, **more) as console:
        await console.sees("▾ ")
        await console.press("colon")
        await console.type(table)
        await console.press("enter")
        await console.sees("● orders", "1 of ")
        await console.press("3")
        await console.sees("fix")
        await console.press("j", "m")
        await console.sees("branch fix into main", "[ Apply ]")
        yield console
