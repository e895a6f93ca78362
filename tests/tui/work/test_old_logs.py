"""The logs of Spark that consoles leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from paimark.tui.work.engine_room import remove_old_logs


def test_of_the_consoles_that_have_ended_the_newest_logs_stay(tmp_path: Path) -> None:
    ended = []
    for _ in range(5):
        process = subprocess.Popen([sys.executable, "-c", ""])
        process.wait()
        ended.append(process.pid)
    kept = [*ended, os.getpid()]
    for age, pid in enumerate(kept):
        (tmp_path / f"spark-{pid}.log").touch()
        os.utime(tmp_path / f"spark-{pid}.log", (age, age))
    for other in ("spark-mine.log", "engine.log"):
        (tmp_path / other).touch()
    remove_old_logs(tmp_path)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {f"spark-{pid}.log" for pid in kept[2:]} | {"spark-mine.log", "engine.log"}
    remove_old_logs(tmp_path / "nowhere")
