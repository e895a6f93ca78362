"""Leaving while Spark is slow to end, in a real terminal: said, nothing echoed, and no interruption."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimark.tui.query.drafts import read_history
from tests.cli.query.test_sql import below
from tests.tui.terminal.test_terminal import Tmux, terminal_in
from tests.wording import about


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Tmux]:
    yield from terminal_in(tmp_path, with_spark=True)


@pytest.fixture
def without_spark(tmp_path: Path) -> Iterator[Tmux]:
    yield from terminal_in(tmp_path)


def engine_below(terminal: Tmux) -> int:
    """The process of Spark's engine, once there is one."""
    pane = int(terminal.run("display-message", "-p", "-t", "console", "#{pane_pid}"))
    began = time.monotonic()
    while True:
        for pid, words in below(pane).items():
            if "paimark.core.spark.engine.engine" in words:
                return pid
        assert time.monotonic() - began < 240, terminal.text
        time.sleep(0.1)


def test_what_is_typed_while_spark_ends_is_dropped_and_ctrl_c_is_no_interruption(
    warehouse: Path, terminal: Tmux
) -> None:
    after = f"code=$?; stty -a > {warehouse}/after; echo left with $code; sleep 100"
    command = [sys.executable, "-c", "from paimark.core.cli.main import main; main()", f"{warehouse}/"]
    terminal.start("sh", "-c", f"trap : INT; stty -a > {warehouse}/before; {shlex.join(command)}; {after}")
    terminal.sees("● events", "snapshot 2", "MAIN = main")
    # One that stands still is waited for, until it is ended by force.
    os.kill(engine_below(terminal), signal.SIGSTOP)
    terminal.keys("C-q")
    terminal.sees(about("quitting", "Spark", "1 s", "ctrl+c"))
    terminal.keys("n", "C-z", "o")
    terminal.sees(about("quitting", "Spark", "3 s", "ctrl+c"))
    (line,) = terminal.text.strip().splitlines()
    assert re.fullmatch(r"Quitting\b.* Spark\b.* \d s\b.* ctrl\+c\b[^\^]*", line)
    terminal.keys("C-c")
    terminal.sees("left with 0")
    assert terminal.text.strip() == "left with 0"
    assert (warehouse / "after").read_text() == (warehouse / "before").read_text()


def test_it_is_drawn_also_where_errors_go_to_a_file(warehouse: Path, tmp_path: Path, terminal: Tmux) -> None:
    command = [sys.executable, "-c", "from paimark.core.cli.main import main; main()", f"{warehouse}/"]
    terminal.start("sh", "-c", f"{shlex.join(command)} 2>{tmp_path}/errors; echo left with $?; sleep 100")
    terminal.sees("● events", "snapshot 2", "MAIN = main")
    terminal.keys("C-q")
    terminal.sees("left with 0")
    assert terminal.text.strip() == "left with 0"
    assert (tmp_path / "errors").read_bytes() == b""


def test_a_dropped_line_takes_no_text_along(warehouse: Path, tmp_path: Path, without_spark: Tmux) -> None:
    terminal = without_spark
    terminal.start(sys.executable, "-c", "from paimark.core.cli.main import main; main()", f"{warehouse}/")
    terminal.sees("● events", "snapshot 2", "MAIN = main")
    terminal.keys("6")
    terminal.sees("[6 ")
    terminal.keys("-l", "WHERE id = 1")
    terminal.sees("WHERE id = 1")
    pane = int(terminal.run("display-message", "-p", "-t", "console", "#{pane_pid}"))
    terminal.run("kill-session", "-t", "console")
    history = tmp_path / "state" / "paimark" / "history.jsonl"
    began = time.monotonic()
    while not history.exists() or Path(f"/proc/{pane}").exists():
        assert time.monotonic() - began < 240
        time.sleep(0.05)
    [kept] = read_history(history)
    assert kept.sql.endswith("WHERE id = 1") and kept.outcome == "not run"


@pytest.mark.long
def test_ctrl_q_during_an_export_asks_then_leaves_no_file_and_says_so(
    warehouse: Path, tmp_path: Path, terminal: Tmux
) -> None:
    goal = tmp_path / "exported"
    goal.mkdir()
    console = [sys.executable, "-c", "from paimark.core.cli.main import main; main()", f"{warehouse}/"]
    terminal.start("sh", "-c", f"trap : INT; {shlex.join(console)}; echo left with $?; sleep 100")
    terminal.sees("● events", "snapshot 2", "MAIN = main")
    terminal.keys("6")
    terminal.sees("[6 ", "SELECT *")
    # Python takes a while to write a batch of such rows as JSON.
    terminal.keys("End")
    terminal.keys("-l", " CROSS JOIN range(1000000) CROSS JOIN (SELECT sequence(1, 50) AS numbers)")
    terminal.keys("C-r")
    terminal.sees("✓ first 500")
    terminal.keys("C-e")
    terminal.sees("Export the rows")
    terminal.keys("-l", f"{goal}/rows.json")
    terminal.keys("Enter")
    # Also of a path that is longer than a line.
    terminal.sees(re.compile(r",000 rows\b.*ctrl\+c"))
    terminal.keys("C-q")
    terminal.sees(about("file", "being written", "ctrl+q"))
    terminal.keys("C-q")
    terminal.sees("left with 0")
    end = about("export", f"{goal}/rows.json", "stopped", "no file")
    assert end.search(terminal.text.replace("\n", ""))
    assert not list(goal.iterdir())
