"""What the first frame costs in imports, looked at from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_HEAVY = {"pyarrow", "pandas", "polars", "numpy", "pypaimon", "pyspark", "fsspec", "sqlglot", "fastavro"}
_LATER = {
    "textual.widgets._text_area",
    "textual.widgets._data_table",
    "textual.widgets._markdown",
    "textual.command",
    "textual.widgets._select",
}

_SCRIPT = """
import json, sys
from core.config import Settings
from tui.opening import Opening
from tui.session import Session

session = Session(Settings(sys.argv[1]))
opening = Opening(session)
opening.start()

from tui.terminal.light_import import import_textual

import_textual()
from tui.console import Console

console = Console(session, opening, start_engine=False)
seen = {}

async def look(pilot):
    for _ in range(1000):
        if console.browse.snapshots.grid.count:
            break
        await pilot.pause(0.01)
    await pilot.pause(0.2)
    seen["rows"] = console.browse.snapshots.grid.count
    seen["modules"] = sorted(sys.modules)
    # What starts Spark afterwards belongs to this process too.
    import core.spark.client.client
    seen["with_engine"] = sorted(sys.modules)
    console.exit()

console.run(headless=True, auto_pilot=look)
print(json.dumps(seen))
"""


def test_the_first_frame_shows_rows_and_has_imported_nothing_heavy(warehouse: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(warehouse)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["rows"] == 2
    assert not _HEAVY & {name.split(".")[0] for name in seen["modules"]}
    assert not _LATER & set(seen["modules"])
    assert not _HEAVY & {name.split(".")[0] for name in seen["with_engine"]}


_LIGHT = """
import sys
from tui.terminal import light_import

if sys.argv[1] == "newer":
    # A Textual that takes one more class of the palette.
    del light_import._STAND_INS["textual.command"]["Provider"]
light_import.import_textual()
import textual.app
print("textual.command" in sys.modules, "platformdirs" in sys.modules)
print(textual.app.user_downloads_path())
import platformdirs, textual.command
print(platformdirs.user_downloads_path())
print(textual.command.Provider.__module__, textual.command.CommandPalette.__mro__[1].__name__)
from textual.theme import ThemeProvider
print(ThemeProvider.__mro__[1].__module__)
"""


@pytest.mark.parametrize(("version", "is_whole"), [("known", False), ("newer", True)])
def test_textual_is_imported_without_its_palette_unless_it_needs_more(version: str, is_whole: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LIGHT, version], capture_output=True, text=True, timeout=60, check=True
    )
    loaded, downloads, real_downloads, palette, provider = done.stdout.splitlines()
    assert loaded == f"{is_whole} {is_whole}"
    assert downloads == real_downloads
    assert palette == "textual.command SystemModalScreen"
    assert (provider == "textual.command") is is_whole
