"""`python -m tests.tui.screenshots`: the pictures in screenshots/, taken from the real console.

It builds the demo warehouse, starts the console on it with a real Spark, presses keys, and writes what the
terminal shows. Two sizes: 120x40 and 80x24; a few of the smaller ones also in sixteen colours and under
NO_COLOR.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from pathlib import Path

# Before Textual is imported: the pictures have all colours, whatever this terminal has. Only those under
# NO_COLOR set it, each for its own console.
os.environ["TEXTUAL_COLOR_SYSTEM"] = "truecolor"
os.environ["TEXTUAL_ANIMATIONS"] = "none"
os.environ.pop("NO_COLOR", None)

from core.actions.context import open_context
from core.actions.registry import action
from core.config import Settings
from core.demo.build import build_demo
from core.table.layout import TablePath
from core.table.lineage.main_branch import branch_names
from tests.table.branches import create_branch
from tests.tui.driving import Sitting, sitting
from tui.session import Session
from tui.theme import DARK, SIXTEEN
from tui.work.engine_room import EngineRoom

PICTURES = Path(__file__).parent.parent.parent / "screenshots"
ORDERS = TablePath("shop", "orders")
INTERVAL = "'savepoint.create-interval' = '1 d'"
# As another engine makes it: its own expiry can destroy savepoints.
NIGHTLY = "nightly"
SMALL = (80, 24)
SIZES = {"": (120, 40), "-80x24": SMALL}


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


async def glance(console: Sitting, suffix: str) -> None:
    """A few screens in which colours say much: rows, a refused plan, a destructive one, the palette."""
    await console.sees("● customers")
    await console.press("G")
    await console.sees("● orders", "snapshot 18", "◆")
    await console.press("enter", "j")
    await console.sees("snapshot 17")
    take_picture(console, f"snapshots{suffix}")
    await console.press("t")
    await console.type("savepoint.9")
    await console.press("enter")
    await console.sees("REFUSED")
    take_picture(console, f"refused{suffix}")
    await console.press("escape", "3", "g", "j", "R")
    await console.sees("[ Cancel ]", "to confirm")
    take_picture(console, f"replace{suffix}")
    await console.press("escape", "colon")
    await console.type("cre")
    await console.sees("create-savepoint")
    take_picture(console, f"palette{suffix}")
    await console.press("escape", "7", "G")
    await console.sees("[7 Timeline]", "◇─", "expired, kept")
    take_picture(console, f"timeline{suffix}")
    await console.press("8")
    await console.sees("[8 Space", " alone + ")
    take_picture(console, f"space{suffix}")
    await console.press("C")
    await console.sees("rows over time: ", "┤")
    take_picture(console, f"chart{suffix}")
    await console.press("escape")
    await console.press("2", "G", "enter")
    await console.sees("VERSION AS OF 'savepoint.1'")
    take_picture(console, f"query{suffix}")


async def tour(console: Sitting, warehouse: Path, suffix: str, savepoint: int, branch: str) -> None:
    """Make a savepoint, a branch from it, and read it back: a picture at each stop."""

    def take(name: str) -> None:
        take_picture(console, f"{name}{suffix}")

    console.app.theme = DARK
    await console.sees("● customers")
    await console.press("G")
    await console.sees("● orders", "snapshot 18")
    await console.press("enter", "j")
    await console.sees("snapshot 17", "month-end" if not suffix else "◇")
    take("snapshots")
    await console.press("g", "s")
    await console.sees("[ Apply ]")
    take("plan")
    await console.press("a")
    await console.sees("✓ done")
    take("done")
    await console.press("enter", "2")
    await console.sees(f"savepoint {savepoint}", "auto-savepoint every 1 d")
    take("savepoints")
    await console.press("b")
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
    await console.sees("from main to fix_prices", "✓ first 500 rows of more", "600 changed", "Spark ready")
    take("diff")
    await console.press("3", "g", "j", "p")
    await console.sees("shop.orders fix_prices at snapshot 18: 100 rows", "globe")
    take("peek")
    await console.press("escape", "m")
    await console.sees("Merge what branch fix_prices", "v conflicts")
    await console.press("v")
    await console.sees("keys decided", "-64.50")
    take("conflicts")
    await console.press("escape", "escape", "R")
    await console.sees("[ Cancel ]", "to confirm", "Make branch fix_prices main")
    take("replace")
    await console.press("shift+tab")
    await console.type("fix_prices")
    await console.press("enter", "a")
    await console.sees("✓ done")
    take("replaced")
    await console.press("enter")
    await console.sees("MAIN = fix_prices")
    await console.press("u")
    await console.sees("[ Cancel ]", "Take back")
    await console.press("shift+tab")
    await console.type("shop.orders")
    await console.press("enter", "a")
    await console.sees("✓ done")
    await console.press("enter")
    await console.sees("MAIN = main")
    await console.press("4")
    await console.sees("month-end", "[4 Tags")
    take("tags")
    await console.press("5")
    await console.sees("order_id", "[5 Schema")
    take("schema")
    await console.press("7", "g", "j" if not suffix else "G")
    await console.sees("[7 Timeline]", "◇─", "expired, kept")
    take("timeline")
    await console.press("8")
    await console.sees("[8 Space", " alone + ", " small files (under ")
    take("space")
    await console.press("C")
    await console.sees("rows over time: ", "┤")
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
    await console.press("question_mark")
    await console.sees("Everywhere")
    take("keys")
    await console.press("escape", "colon")
    await console.type("cre")
    await console.sees("create-savepoint")
    take("palette")
    await console.press("escape")
    if NIGHTLY not in branch_names(console.app.session.files, ORDERS):
        create_branch(warehouse, ORDERS.full_name, NIGHTLY, "month-end")
    await console.press("escape", "escape", "3", "r")
    await console.sees("! exposed")
    await console.press("g", "j", "j")
    await console.sees(NIGHTLY, "stock expiry here can destroy savepoints")
    take("health")


async def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_STATE_HOME"] = place
        # Charts are drawn with dots only where they are known.
        os.environ["LC_ALL"] = "C.UTF-8"
        warehouse = Path(place) / "paimark-demo"
        build_demo(warehouse, print)
        settings = Settings(str(warehouse))
        context = open_context(str(warehouse), {}, read_only=False)
        alter = action("alter-branch-schema")
        alter.apply(context, alter.plan(context, ORDERS, {"set": INTERVAL}), print)
        room = EngineRoom(settings)
        try:
            room.engine.wait_ready(180)
            for number, (suffix, size) in enumerate(SIZES.items()):
                session = Session(settings, EngineRoom(settings, room.engine))
                async with sitting(warehouse, size, session=session) as console:
                    await tour(
                        console, warehouse, suffix, savepoint=number + 2, branch=f"restock{suffix[1:3]}"
                    )
            for suffix, no_color in (("-16-colours", ""), ("-no-color", "1")):
                # Textual takes it out of the environment when the console is made.
                os.environ["NO_COLOR"] = no_color
                session = Session(settings, EngineRoom(settings, room.engine))
                async with sitting(warehouse, SMALL, session=session) as console:
                    console.app.theme = SIXTEEN
                    await glance(console, suffix)
        finally:
            room.close()


if __name__ == "__main__":
    asyncio.run(main())
