"""What is remembered from one sitting to the next, and what a bad file does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paimark.core.config import Settings, state_directory
from paimark.core.table.layout import TablePath
from paimark.tui.memory import MOST_FILES, ColumnLayout, GridLook, Memory, Spot
from tests.tui.driving import sitting
from tests.wording import about

ORDERS = TablePath("shop", "orders")
SECRET = "sftp://bob:hunter2@host/lake"


def memory_of(warehouse: str = "/lake", *, resume: bool = True) -> Memory:
    return Memory(Settings(warehouse, resume=resume))


def files() -> list[Path]:
    return sorted((state_directory() / "remembered").iterdir())


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
    for file in files():
        file.write_bytes(b"\xff{")
    async with sitting(warehouse) as console:
        await console.sees("● events", "snapshot 2")
        assert any(about(".json", "expected").search(line.text) for line in console.app.log_lines)


def test_what_is_left_is_found_again_unless_one_does_not_want_to_resume() -> None:
    memory, look = (
        memory_of(),
        GridLook(ColumnLayout(("id", "age"), frozenset(("kind",)), {"id": 9}), "age", True),
    )
    memory.keep_spot(Spot("shop", "orders", "fix", "timeline"))
    memory.keep_look(ORDERS, "tags", look)
    memory.keep_sidebar(33)
    memory.save()
    again = memory_of()
    assert (again.spot, again.look(ORDERS, "tags"), again.sidebar) == (memory.spot, look, 33)
    assert again.look(ORDERS, "snapshots") == GridLook()
    assert memory_of("/other").spot is None
    assert memory_of(resume=False).spot is None
    assert all(file.stat().st_mode & 0o077 == 0 for file in (*files(), files()[0].parent))


def test_two_consoles_keep_what_the_other_wrote() -> None:
    here, there = memory_of(), memory_of()
    here.keep_spot(Spot("shop", "orders"))
    there.keep_look(ORDERS, "tags", GridLook(sort="tag"))
    here.save()
    there.save()
    left = memory_of()
    assert (left.spot, left.look(ORDERS, "tags").sort) == (Spot("shop", "orders"), "tag")
    assert [each.suffix for each in files()] == [".json", ".json"]


@pytest.mark.parametrize("text", ["", "[]", '{"of": ["/lake", "spot"], "value": 3}', "[" * 5000])
def test_a_broken_file_is_ignored_told_and_replaced(text: str) -> None:
    memory = memory_of()
    memory.keep_spot(Spot("shop", "orders"))
    memory.save()
    [file] = files()
    file.write_text(text)
    again = memory_of()
    assert again.spot is None
    assert str(file) in again.problem
    again.keep_spot(Spot("shop", "orders"))
    again.save()
    assert (memory_of().spot, memory_of().problem) == (Spot("shop", "orders"), "")


def test_a_file_of_another_value_is_not_taken_for_this_one() -> None:
    memory = memory_of()
    memory.keep_spot(Spot("shop", "orders"))
    memory.save()
    [file] = files()
    file.write_text(file.read_text().replace("/lake", "/sea"))
    assert (memory_of().spot, memory_of().problem) == (None, "")


def test_the_files_hold_no_secret_and_are_never_too_many() -> None:
    memory = memory_of(SECRET)
    memory.keep_spot(Spot("shop", "orders"))
    memory.save()
    assert not any(word in files()[0].read_text() for word in ("hunter2", "bob"))
    os.utime(files()[0], (0, 0))
    for number in range(MOST_FILES):
        memory.keep_look(ORDERS, f"tab {number}", GridLook(sort="id"))
    memory.save()
    assert len(files()) == MOST_FILES
    assert memory_of(SECRET).spot is None
    memory.keep_look(ORDERS, "tab 1", GridLook())
    memory.keep_look(ORDERS, "tab 2", GridLook(ColumnLayout(tuple(map(str, range(1000))))))
    memory.save()
    assert len(files()) == MOST_FILES - 2


def test_a_state_directory_that_can_not_be_written_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    memory = memory_of()
    memory.keep_spot(Spot("shop", "orders"))
    memory.save()
    assert memory.spot == Spot("shop", "orders")
