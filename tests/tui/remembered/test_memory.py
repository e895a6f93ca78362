"""What is remembered from one sitting to the next, and what a bad file does."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from paimark.core.config import Settings, state_directory
from paimark.core.table.layout import TablePath
from paimark.tui.memory import GridLook, Memory, Spot, State, with_look, with_spot
from tests.tui.driving import sitting

ORDERS = TablePath("shop", "orders")
SECRET = "sftp://bob:hunter2@host/lake"


def loaded(warehouse: str = "/lake", *, resume: bool = True) -> Memory:
    memory = Memory(Settings(warehouse, resume=resume))
    memory.load()
    return memory


def file() -> Path:
    return state_directory() / "remembered.json"


async def test_the_next_sitting_begins_where_this_one_ended(warehouse: Path) -> None:
    async with sitting(warehouse) as console:
        await console.sees("● events")
        await console.press("j", "4")
        await console.sees("[4 Tags]", "tag v2")
        # Also from there: the first keys of a sitting are no statement.
        console.app.session.memory.save()
    async with sitting(warehouse) as console:
        await console.sees("● orders", "[4 Tags]", "tag v2")
        # Sorted by name, in this table's tags alone.
        await console.press("o")
        await console.sees("▲tag")
        console.app.session.memory.save()
    async with sitting(warehouse) as console:
        await console.sees("▲tag")
        await console.press("escape", "k")
        await console.sees("● events", "No tags")
        assert "▲" not in console.text
    file().write_bytes(b"\xff{")
    async with sitting(warehouse) as console:
        await console.sees("● events", "snapshot 2")
        assert any("remembered.json is not as expected" in line.text for line in console.app.log_lines)


def test_what_is_left_is_found_again_unless_one_does_not_want_to_resume() -> None:
    memory, look = loaded(), GridLook(("id", "age"), ("kind",), {"id": 9}, "age", True)
    memory.keep_spot(Spot("shop", "orders", "fix", "timeline"))
    memory.keep_look(ORDERS, "tags", look)
    memory.keep_sidebar(33)
    memory.save()
    again = loaded()
    assert (again.spot, again.look(ORDERS, "tags"), again.sidebar) == (memory.spot, look, 33)
    assert again.look(ORDERS, "snapshots") == GridLook()
    assert loaded("/other").spot is None
    assert loaded(resume=False).spot is None
    assert file().stat().st_mode & 0o077 == 0


def test_two_consoles_keep_what_the_other_wrote() -> None:
    here, there = loaded(), loaded("/other")
    here.keep_spot(Spot("shop", "orders"))
    there.keep_spot(Spot("shop", "events"))
    here.save()
    there.save()
    assert loaded().spot == Spot("shop", "orders")
    assert loaded("/other").spot == Spot("shop", "events")
    assert [each.name for each in file().parent.iterdir() if each.name.endswith(".tmp")] == []


def test_what_another_console_kept_from_being_written_is_written_later() -> None:
    memory = loaded()
    memory.keep_spot(Spot("shop", "orders"))
    file().parent.mkdir(parents=True, exist_ok=True)
    with open(file().with_suffix(".lock"), "w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        # As each few seconds, and as at the end, while the thread of the former is not done.
        memory.save_soon()
        memory.save()
        assert loaded().spot is None
    memory.keep_sidebar(33)
    memory.save()
    assert (loaded().spot, loaded().sidebar) == (Spot("shop", "orders"), 33)


def test_consoles_that_leave_at_once_lose_nothing_of_each_other(tmp_path: Path) -> None:
    """More of them than can write in the time that a console waits while it runs."""
    ending = """if True:
        import sys
        from paimark.core.config import Settings
        from paimark.core.table.layout import TablePath
        from paimark.tui.memory import LAST_PATIENCE, Memory
        from paimark.tui.memory import GridLook, Spot

        memory = Memory(Settings(f"/lake{sys.argv[1]}"))
        memory.load()
        memory.keep_spot(Spot("shop", "orders"))
        memory.keep_look(TablePath("shop", "orders"), "tags", GridLook(sort="tag"))
        print("loaded", flush=True)
        sys.stdin.readline()
        memory.save(LAST_PATIENCE)
    """
    consoles: list[Any] = [
        subprocess.Popen(
            [sys.executable, "-c", ending, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for number in range(4)
    ]
    for each in consoles:
        assert each.stdout.readline() == b"loaded\n"
    file().parent.mkdir(parents=True, exist_ok=True)
    with open(file().with_suffix(".lock"), "w") as slow:
        fcntl.flock(slow, fcntl.LOCK_EX)
        for each in consoles:
            each.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            consoles[0].wait(1.0)
    for each in consoles:
        assert each.wait(60) == 0
        each.stdout.close()
    for number in range(4):
        left = loaded(f"/lake{number}")
        assert (left.spot, left.look(ORDERS, "tags").sort) == (Spot("shop", "orders"), "tag")


@pytest.mark.parametrize("text", ["", "[]", '{"warehouses": 3}', "[" * 5000, '{"x": "' + "x" * 10**6 + '"}'])
def test_a_broken_file_is_ignored_told_and_replaced(text: str) -> None:
    file().parent.mkdir(parents=True)
    file().write_text(text)
    memory = loaded()
    assert memory.spot is None
    assert str(file()) in memory.problem
    memory.keep_spot(Spot("shop", "orders"))
    memory.save()
    assert loaded().problem == ""
    assert loaded().spot == Spot("shop", "orders")


def test_the_file_of_a_newer_version_is_left_alone() -> None:
    file().parent.mkdir(parents=True)
    file().write_text(written := json.dumps({"version": 2, "warehouses": []}))
    memory = loaded()
    assert "newer" in memory.problem
    memory.keep_spot(Spot("shop", "orders"))
    memory.save()
    assert file().read_text() == written


def test_the_file_holds_no_secret_and_never_too_much() -> None:
    memory = loaded(SECRET)
    memory.keep_spot(Spot("shop", "orders"))
    memory.save()
    assert not any(word in file().read_text() for word in ("hunter2", "bob"))
    state = State()
    for number in range(200):
        state = with_spot(state, str(number), Spot("a", "b"), number)
        state = with_look(state, "199", f"t{number}", "tags", GridLook(sort="id"), number)
    state = with_look(state, "199", "wide", "tags", GridLook(tuple(map(str, range(1000)))), 1000)
    assert len(state.warehouses) == 30
    assert list(state.warehouses["199"].tables) == [f"t{number}" for number in range(100, 200)]
    forgotten = with_look(state, "199", "t199", "tags", GridLook(), 2000)
    assert "t199" not in forgotten.warehouses["199"].tables
    assert msgspec.json.decode(msgspec.json.encode(state), type=State) == state


def test_a_state_directory_that_can_not_be_written_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    memory = loaded()
    memory.keep_spot(Spot("shop", "orders"))
    memory.save()
    assert memory.spot == Spot("shop", "orders")
