"""The first stops of the tour of which `make screenshots` takes pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.tui.driving import Sitting

PICTURES = Path(__file__).parent.parent.parent / "screenshots"
LARGE = (120, 40)


async def first_screens(console: Sitting, take: Callable[[str], None], sign: str) -> None:
    """What needs no Spark and changes nothing. `sign` is what the tagged snapshot has."""
    await console.sees("● customers")
    await console.press("G")
    await console.sees("● orders", "snapshot 18")
    await console.press("enter", "j")
    await console.sees("snapshot 17", sign, " branches, ")
    take("snapshots")
    await console.press("question_mark")
    await console.sees("Everywhere")
    take("keys")
    await console.press("escape", "colon")
    await console.type("cre")
    await console.sees("create-savepoint")
    take("palette")
    await console.press("escape", "t")
    await console.type("savepoint.9")
    await console.press("enter")
    await console.sees("Refused:")
    take("refused")
