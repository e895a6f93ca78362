"""Once in a real terminal: the program itself in tmux, 80 by 24, keys as they come over a line."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.query.test_sql import below
from tests.tui.driving import Shown, are_in

PATIENCE = 240.0


class Tmux:
    """A tmux server of its own with one window."""

    def __init__(self, socket: Path, environment: dict[str, str]) -> None:
        self._base = ["tmux", "-S", str(socket), "-f", os.devnull]
        self._environment = environment

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [*self._base, *words], capture_output=True, text=True, env=self._environment, check=True
        )
        return done.stdout

    def start(self, *command: str) -> None:
        self.run("new-session", "-d", "-x", "80", "-y", "24", "-s", "console", *command)

    def keys(self, *keys: str) -> None:
        self.run("send-keys", "-t", "console", *keys)

    @property
    def text(self) -> str:
        return self.run("capture-pane", "-p", "-t", "console")

    def sees(self, *words: Shown) -> None:
        began = time.monotonic()
        while not are_in(self.text, words):
            assert time.monotonic() - began < PATIENCE, f"{words} did not come\n{self.text}"
            time.sleep(0.05)

    def until(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait for something to become true, which the screen does not show."""
        began = time.monotonic()
        while not is_so():
            assert time.monotonic() - began < PATIENCE, f"It did not happen: {what}\n{self.text}"
            time.sleep(0.05)

    def below(self) -> dict[int, str]:
        """The processes of the window, each with its command line."""
        return below(int(self.run("display-message", "-p", "-t", "console", "#{pane_pid}")))

    def close(self) -> None:
        subprocess.run([*self._base, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Tmux]:
    yield from terminal_in(tmp_path)


def terminal_in(tmp_path: Path, *, with_spark: bool = False) -> Iterator[Tmux]:
    """One with its state in that directory, until the test ends.

    A console starts Spark, which few tests need: where there is no Java it does not.
    """
    if shutil.which("tmux") is None:
        reason = "no real terminal to test in: tmux is not installed"
        if os.environ.get("PAIMARK_REQUIRE_TMUX") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("TMUX", "TEXTUAL"))},
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
        "VISUAL": "sed -i s/SELECT/sELECT/",
        **({} if with_spark else {"JAVA_HOME": str(tmp_path)}),
    }
    # A socket's path has at most 107 bytes (103 on a Mac), and a test's directory may be longer.
    with tempfile.TemporaryDirectory(prefix="tmux-", dir="/tmp") as short:
        tmux = Tmux(Path(short, "socket"), environment)
        yield tmux
        tmux.close()


def test_browse_save_and_leave_in_a_real_terminal(warehouse: Path, terminal: Tmux) -> None:
    command = [sys.executable, "-c", "from paimark.core.cli.main import main; main()", f"{warehouse}/"]
    terminal.start("sh", "-c", f"{shlex.join(command)}; echo left with $?; sleep 100")
    terminal.sees("● events", "snapshot 2", "MAIN = main")
    terminal.keys("j")
    terminal.sees("● orders", "1 of 5")
    # In one burst, as over a slow line: into the rows, two down, back to the tables and into the rows again.
    terminal.keys("l", "j", "j", "h", "l", "j")
    terminal.sees("snapshot 2", "4 of 5")
    terminal.keys("4")
    terminal.sees("[4 Tags]", "tag v2")
    terminal.keys("1", "g", "s")
    terminal.sees("Save main of shop.orders as savepoint 1 (snapshot 5", "[ Apply ]")
    terminal.keys("a")
    terminal.sees("✓ done", "Saved snapshot 5 of shop.orders as savepoint 1")
    saved = json.loads((warehouse / "shop.db/orders/savepoint/savepoint-1").read_bytes())
    assert saved["savedSnapshotId"] == 5
    terminal.keys("Escape")
    terminal.sees("[1 Snapshots]", "◆")
    # The terminal is lent to an editor and comes back.
    terminal.keys("6")
    terminal.sees("[6 ", "SELECT *")
    terminal.keys("F4")
    terminal.sees("sELECT *")
    # In one burst these are what Alt and the key send, and Option and the digit.
    terminal.keys("Escape", "4")
    terminal.sees("[4 Tags]", "tag v2")
    terminal.keys("?", "Escape", "/", "v", "1", "Escape", "Escape", "1", "j", "Escape", "?")
    terminal.sees("─ Keys ─", "Everywhere")
    terminal.keys("Escape", "6", "Escape", "[")
    terminal.sees("[1 Snapshots]")
    # The edited statement was not run.
    terminal.keys("C-q")
    terminal.sees("ctrl+q again quits")
    terminal.keys("C-q")
    terminal.sees("left with 0")


def test_a_pasted_byte_that_is_no_utf8_is_a_sign_in_the_text(
    warehouse: Path, tmp_path: Path, terminal: Tmux
) -> None:
    terminal.start(sys.executable, "-c", "from paimark.core.cli.main import main; main()", f"{warehouse}/")
    terminal.sees("● events", "snapshot 2", "MAIN = main")
    terminal.keys("6")
    terminal.sees("[6 ", "SELECT *")
    (tmp_path / "pasted").write_bytes("-- Größe ".encode("latin-1") + "Größe".encode())
    terminal.run("load-buffer", str(tmp_path / "pasted"))
    terminal.run("paste-buffer", "-p", "-t", "console")
    terminal.sees("-- Gr��e Größe")


def test_what_another_program_wrote_over_the_screen_goes_with_ctrl_l(warehouse: Path, terminal: Tmux) -> None:
    terminal.start(sys.executable, "-c", "from paimark.core.cli.main import main; main()", f"{warehouse}/")
    terminal.sees("● events", "snapshot 2", "MAIN = main")
    terminal.keys("j")
    terminal.sees("● orders", "1 of 5", "user ")
    # Above them it says how Spark is, which changes.
    rows = terminal.text.splitlines()[1:8]
    tty = terminal.run("display-message", "-p", "-t", "console", "#{pane_tty}").strip()
    Path(tty).write_text("\x1b[5;1HBroadcast message\x1b[6;1Hfrom somebody")
    terminal.sees("Broadcast message", "from somebody")
    terminal.keys("C-l")
    began = time.monotonic()
    while terminal.text.splitlines()[1:8] != rows:
        assert time.monotonic() - began < PATIENCE, terminal.text
        time.sleep(0.05)
    # Smaller, and as it was again.
    for lines in (20, 24):
        terminal.run("resize-window", "-t", "console", "-y", str(lines))
        time.sleep(0.5)
    terminal.sees("● orders", "1 of 5")
    assert terminal.text.splitlines()[1:8] == rows
