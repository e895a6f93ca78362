"""What the first frame costs in imports, looked at from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_HEAVY = {"pyarrow", "pandas", "polars", "numpy", "pypaimon", "pyspark", "fsspec", "sqlglot", "fastavro"}
_LATER = {"textual.widgets._text_area", "textual.widgets._data_table", "textual.widgets._markdown"}

_SCRIPT = """
import json, sys
from core.config import Settings
from tui.opening import Opening
from tui.session import Session

session = Session(Settings(sys.argv[1]))
opening = Opening(session)
opening.start()

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
