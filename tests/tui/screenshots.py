"""`python -m tests.tui.screenshots`: the pictures in screenshots/, taken from the real console.

It builds the demo warehouse, starts the console on it with a real Spark, presses keys, and writes what the
terminal shows: at 120x40 and at 80x24, the smaller ones also in light colours, in the terminal's sixteen, and
under NO_COLOR.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

# Before Textual is imported: the pictures have all colours, whatever this terminal has. Only those under
# NO_COLOR set it, each for its own console.
os.environ["TEXTUAL_COLOR_SYSTEM"] = "truecolor"
os.environ["TEXTUAL_ANIMATIONS"] = "none"
os.environ.pop("NO_COLOR", None)

from paimark.core.actions.context import open_context
from paimark.core.actions.registry import action
from paimark.core.config import Settings
from paimark.core.demo.build import build_demo
from paimark.core.table.layout import TablePath
from paimark.tui.session import Session
from paimark.tui.theme import DARK, LIGHT, SIXTEEN
from paimark.tui.work.engine_room import EngineRoom
from tests.table.branches import create_branch
from tests.tui.driving import Sitting, sitting
from tests.tui.first_screens import LARGE, PICTURES, first_screens

ORDERS = TablePath("shop", "orders")
INTERVAL = "'savepoint.create-interval' = '1 d'"
# As another engine makes it: its own expiry can destroy savepoints.
NIGHTLY = "nightly"
SMALL = (80, 24)


@dataclass(frozen=True)
class Mode:
    """How the pictures of one tour look, and what their names end with."""

    suffix: str
    size: tuple[int, int]
    theme: str = DARK
    no_color: str = ""


MODES = (
    Mode("", LARGE),
    Mode("-80x24", SMALL),
    Mode("-light", SMALL, LIGHT),
    Mode("-16-colours", SMALL, SIXTEEN),
    Mode("-no-color", SMALL, SIXTEEN, no_color="1"),
)


def take_picture(console: Sitting, name: str) -> None:
    """Write what the terminal shows now."""
    # A picture fetches nothing from anywhere: the reader's own monospace font will do.
    picture = re.sub(
        r"@font-face \{.*?\}", "", console.app.export_screenshot(title="paimark"), flags=re.DOTALL
    )
    # The terminal's own clip cuts what reaches below the last line, underscores whole.
    picture = re.sub(
        r'(clip-terminal">\s*<rect [^>]*height=")([\d.]+)', lambda m: f"{m[1]}{float(m[2]) + 4}", picture
    )
    (PICTURES / f"{name}.svg").write_text(picture)
    print(f"screenshots/{name}.svg")


async def tour(console: Sitting, warehouse: Path, mode: Mode) -> None:
    """Make a savepoint, a branch from it, and read it back: a picture at each stop."""
    is_large, savepoint, branch = mode.size == LARGE, 2, "restock"

    def take(name: str) -> None:
        take_picture(console, f"{name}{mode.suffix}")

    console.app.theme = mode.theme
    await first_screens(console, take, "month-end" if is_large else "◇")
    await console.press("escape", "g", "s")
    await console.sees("[ Apply ]")
    take("plan")
    await console.press("a")
    await console.sees("✓ done")
    take("done")
    await console.press("enter", "2")
    await console.sees(f"savepoint {savepoint}", "auto-savepoint every 1 d")
    take("savepoints")
    await console.press("g", "space", "j", "space", "x")
    await console.sees("Delete savepoints ")
    take("many")
    await console.press("escape", "escape", "J")
    await console.sees("Jobs", "create-savepoint")
    take("jobs")
    await console.press("escape", "g", "b")
    await console.sees("create-branch · shop.orders")
    await console.type(branch)
    await console.press("enter")
    await console.sees("[ Apply ]")
    take("branch-plan")
    await console.press("a")
    await console.sees("✓ done")
    await console.press("enter", "3")
    await console.sees(branch, "fix_prices", "MAIN")
    take("branches")
    await console.press("g", "j", "D")
    await console.sees("from main to fix_prices", "600 changed", "rows 1 to 500 of 600", "-> 64.50")
    take("diff")
    await console.press("escape", "p")
    await console.sees("shop.orders fix_prices at snapshot 18: the first 100 rows", "globe")
    take("peek")
    await console.press("escape", "m")
    await console.sees("branch fix_prices into main", "v conflicts")
    await console.press("v")
    await console.sees("keys decided", "-64.50")
    take("conflicts")
    await console.press("escape", "escape", "R")
    await console.sees("[ Cancel ]", "to go on", "Make branch fix_prices main")
    take("replace")
    await console.press("shift+tab")
    await console.type("fix_prices")
    await console.press("enter", "a")
    await console.sees("✓ done")
    take("replaced")
    await console.press("enter")
    await console.sees("MAIN = fix_prices")
    await console.press("u")
    await console.sees("[ Apply ]", "Take back")
    await console.press("a")
    await console.sees("✓ done")
    await console.press("enter")
    await console.sees("MAIN = main")
    await console.press("4")
    await console.sees("month-end", "[4 Tags]")
    take("tags")
    await console.press("5")
    await console.sees("order_id", "[5 Schema")
    take("schema")
    await console.press("7", "g", "j" if is_large else "G")
    await console.sees("[7 Timeline]", "◇─", "expired, kept")
    take("timeline")
    await console.press("8")
    await console.sees("[8 Space", " alone + ", " small files (under ")
    take("space")
    await console.press("C")
    await console.sees("records over time: ", "┤")
    take("chart")
    await console.press("escape")
    await console.press("2", "G")
    await console.sees("savepoint 1 ", "of snapshot 4")
    await console.press("enter")
    await console.sees("VERSION AS OF 'savepoint.1'")
    await console.press("ctrl+r")
    await console.sees("✓ first 500 rows of more", "read shop.orders at")
    await console.press("escape")
    await console.sees("Spark ready")
    take("query")
    create_branch(warehouse, ORDERS.full_name, NIGHTLY, "month-end")
    await console.press("escape", "escape", "3", "r")
    await console.sees("! exposed")
    await console.press("g", "j", "j")
    await console.sees(NIGHTLY, "stock expiry here can destroy savepoints")
    take("health")


def build(warehouse: Path) -> None:
    build_demo(warehouse, print)
    context = open_context(str(warehouse), {}, read_only=False)
    alter = action("alter-branch-schema")
    alter.apply(context, alter.plan(context, ORDERS, {"set": INTERVAL}), print)


async def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_STATE_HOME"] = place
        # Charts are drawn with dots only where they are known.
        os.environ["LC_ALL"] = "C.UTF-8"
        warehouse = Path(place) / "paimark-demo"
        build(warehouse)
        settings = Settings(str(warehouse))
        room = EngineRoom(settings)
        try:
            room.engine.wait_ready(180)
            for mode in MODES:
                # What the tour before this one made and left would be in the pictures.
                shutil.rmtree(warehouse)
                build(warehouse)
                # Textual takes it out of the environment when the console is made.
                os.environ["NO_COLOR"] = mode.no_color
                # Each begins at the first table, and not where the last one left off.
                os.environ["XDG_STATE_HOME"] = f"{place}/state{mode.suffix}"
                session = Session(settings, EngineRoom(settings, room.engine))
                async with sitting(warehouse, mode.size, session=session) as console:
                    await tour(console, warehouse, mode)
        finally:
            room.close()


if __name__ == "__main__":
    asyncio.run(main())
