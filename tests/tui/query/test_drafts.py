"""What was typed in the query pane outlives a console that is killed."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimark.core.config import state_directory
from paimark.tui.query.drafts import Drafts, history_path, read_history, rescued
from paimark.tui.screens import browse
from tests.tui.driving import querying
from tests.tui.terminal.test_terminal import Tmux, terminal_in
from tests.wording import about

SOON = "from paimark.tui.screens import browse; browse.DRAFT_SECONDS = 0.1;"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Tmux]:
    yield from terminal_in(tmp_path)


def in_history() -> list[tuple[str, str]]:
    return [(each.sql, each.outcome) for each in read_history(history_path())]


def kept() -> list[str]:
    """The last line of each file of drafts."""
    return [path.read_text().splitlines()[-1] for path in (state_directory() / "drafts").glob("*")]


def test_the_next_console_says_where_the_text_of_a_killed_one_is(
    warehouse: Path, tmp_path: Path, terminal: Tmux
) -> None:
    main = f"{SOON} from paimark.core.cli.main import main; main()"
    console = shlex.join([sys.executable, "-c", main, f"{warehouse}/"])
    terminal.start("sh", "-c", f"{console}; stty sane; clear; echo it ended; read next; {console}")
    terminal.sees("● events", "snapshot 2")
    terminal.keys("6")
    terminal.sees("[6 ", "SELECT *")
    terminal.keys("-l", "SELECT 'an hour of work'")
    terminal.sees("SELECT 'an hour of work'")
    drafts = tmp_path / "state" / "paimark" / "drafts"
    terminal.until(lambda: any(b"work'" in path.read_bytes() for path in drafts.glob("*")), "it is kept")
    [pid] = [pid for pid, words in terminal.below().items() if "paimark.core.cli.main" in words]
    os.kill(pid, signal.SIGKILL)
    terminal.sees("it ended")
    terminal.keys("Enter")
    terminal.sees(about("killed", "1 statement", "6", "ctrl+o"))
    terminal.keys("6", "C-o")
    terminal.sees("SELECT 'an hour of work'", "not run")
    assert list(drafts.glob("*")) == []


async def test_the_texts_of_now_are_kept_and_none_that_was_cleared(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browse, "DRAFT_SECONDS", 0.05)
    async with querying(warehouse) as (console, _):
        await console.type("SELECT 1")
        await console.until(lambda: kept() == ['[["SELECT 1","not run"]]'], "it is kept")
        await console.press("ctrl+t")
        await console.type("SELECT 2")
        await console.until(lambda: kept() == ['[["SELECT 1","not run"],["SELECT 2","not run"]]'], "both are")
        assert rescued() == "" and in_history() == []
        await console.press("ctrl+u", "alt+left", "ctrl+u")
        await console.until(lambda: kept() == [], "nothing is left to keep")


def test_only_the_last_whole_state_of_a_console_that_is_gone_is_taken_once() -> None:
    living, gone = Drafts(), Drafts()
    living.keep([("SELECT 0", "not run")])
    gone.keep([("SELECT 1", "not run")])
    gone.keep([("SELECT 12", "not run"), ("INSERT INTO t VALUES (1)", "it ran")])
    [left] = [path for path in (state_directory() / "drafts").glob("*") if b"SELECT 1" in path.read_bytes()]
    whole = left.read_bytes()
    gone.end()
    left.write_bytes(whole + b'[["SELECT 123","not r')
    assert "2 statements" in rescued()
    expected = [("INSERT INTO t VALUES (1)", "it ran"), ("SELECT 12", "not run")]
    assert in_history() == expected
    assert rescued() == "" and in_history() == expected
    living.end()
    living.keep([("SELECT 00", "not run")])
    assert list((state_directory() / "drafts").iterdir()) == []


def test_a_state_directory_that_can_not_be_written_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null/nowhere")
    drafts = Drafts()
    drafts.keep([("SELECT 1", "not run")])
    drafts.end()
    assert rescued() == ""
