"""`.sql` files: opened, saved, and never overwritten unasked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paimark.core.errors import NotFound, PaimarkError, Refused, Unavailable
from paimark.tui.query.sql_files import MOST_BYTES, Changed, completions, full_path, read_sql, write_sql
from tests.tui.driving import querying
from tests.wording import about


def test_a_file_is_written_whole_with_its_rights_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "orders.sql"
    path.write_bytes(b"SELECT 1\r\nFROM t\r\n")
    path.chmod(0o640)
    link = tmp_path / "link.sql"
    link.symlink_to(path)
    read = read_sql(full_path(str(link)))
    assert (read.path, read.text) == (path, "SELECT 1\nFROM t")
    written = write_sql(read.path, "SELECT 2\nFROM t", read.data)
    assert path.read_bytes() == written.data == b"SELECT 2\r\nFROM t\r\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.sql", "orders.sql"]


def test_a_name_as_long_as_a_name_can_be_is_written(tmp_path: Path) -> None:
    path = tmp_path / f"{'n' * 251}.sql"
    write_sql(path, "SELECT 1", None)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_mark_before_the_text_is_none_of_it_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "orders.sql"
    path.write_bytes(b"\xef\xbb\xbfSELECT 1\r\n")
    read = read_sql(path)
    assert read.text == "SELECT 1"
    write_sql(path, "SELECT 2", read.data)
    assert path.read_bytes() == b"\xef\xbb\xbfSELECT 2\r\n"


async def test_a_file_is_in_the_editor_as_it_is(warehouse: Path, tmp_path: Path) -> None:
    """Signs that Python takes for the end of a line, too: in quotes they are text."""
    text = "SELECT 'a\u2028b\x85' AS x,\f 2\nFROM t"
    (tmp_path / "odd.sql").write_bytes(text.replace("\n", "\r\n").encode())
    async with querying(warehouse) as (console, pane):
        await pane.show_file(read_sql(tmp_path / "odd.sql"))
        assert pane.editor.text == text and not pane.sheet.has_unsaved
        pane.editor.select_all()
        await console.press("x", "ctrl+z")
        assert pane.editor.text == text
        pane.editor.move_cursor((0, 10))
        await console.press("backspace")
        assert pane.editor.text == text.replace("\u2028", "")


def test_what_somebody_else_wrote_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "orders.sql"
    mine = write_sql(path, "SELECT 1", None)
    with pytest.raises(Changed):
        write_sql(path, "SELECT 2", None)
    path.write_text("theirs")
    with pytest.raises(Changed) as changed:
        write_sql(path, "SELECT 2", mine.data)
    assert path.read_text() == "theirs"
    write_sql(path, "SELECT 2", changed.value.data)
    assert path.read_text() == "SELECT 2\n"


def test_what_can_not_be_a_statement_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "binary.sql").write_bytes(b"\x89PNG\x00")
    (tmp_path / "utf16.sql").write_bytes("SELECT 'é'".encode("utf-16"))
    (tmp_path / "nul.sql").write_bytes(b"SELECT\x00 1")
    (tmp_path / "large.sql").write_bytes(b" " * (MOST_BYTES + 1))
    os.mkfifo(tmp_path / "pipe.sql")
    refused = {
        ".": (Refused, "is a directory"),
        "binary.sql": (Refused, "not text in UTF-8"),
        "utf16.sql": (Refused, "not text in UTF-8"),
        "nul.sql": (Refused, "holds a NUL"),
        "large.sql": (Refused, "larger than 1 MB"),
        "pipe.sql": (Refused, "no regular file"),
        "none.sql": (NotFound, "no file"),
    }
    for name, (kind, words) in refused.items():
        with pytest.raises(kind) as error:
            read_sql(tmp_path / name)
        assert isinstance(error.value, PaimarkError)
        assert words in error.value.message
    with pytest.raises(NotFound, match="no directory"):
        write_sql(tmp_path / "none" / "q.sql", "SELECT 1", None)


def test_a_path_is_completed_and_home_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("orders_1.sql", "orders_2.sql", "notes.txt", ".hidden.sql"):
        (tmp_path / name).touch()
    (tmp_path / "old").mkdir()
    assert completions("~/ord") == ("~/orders_", ["orders_1.sql", "orders_2.sql"])
    assert completions("~/ol") == ("~/old/", ["old/"])
    assert completions("~/")[1] == ["old/", "orders_1.sql", "orders_2.sql"]
    assert completions("~/.h") == ("~/.hidden.sql", [".hidden.sql"])
    assert completions("~/none") == ("~/none", [])
    assert full_path("~/old/../orders_1.sql") == tmp_path / "orders_1.sql"
    with pytest.raises(Unavailable, match="can't be listed"):
        completions("~/nowhere/x")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of whoever types."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


async def test_a_file_is_opened_changed_and_saved(warehouse: Path, folder: Path) -> None:
    path = folder / "orders.sql"
    path.write_text("SELECT 1")
    async with querying(warehouse, (120, 40)) as (console, pane):
        await console.press("ctrl+f")
        await console.sees(about("open", ".sql file"))
        await console.type("~/ord")
        await console.press("tab")
        await console.sees("→ ", "orders.sql")
        await console.press("enter")
        await console.sees("[orders.sql]")
        await console.until(lambda: pane.editor.text == "SELECT 1")
        await console.press("end")
        await console.type(" + 1")
        await console.sees("[orders.sql*]")
        await console.press("ctrl+s")
        await console.sees("Saved ", "[orders.sql]")
        assert path.read_text() == "SELECT 1 + 1\n"
        # Nothing is put in its place.
        await pane.prepare("SELECT 2")
        await console.sees("orders.sql", "[query 2]")
        await console.press("ctrl+pageup")
        await console.type(" + 2")
        path.write_text("theirs")
        await console.press("ctrl+s")
        await console.sees("Overwrite the file", "▸[ Cancel ]")
        await console.press("enter")
        await console.loses("Overwrite the file")
        assert path.read_text() == "theirs"
        await console.press("ctrl+g")
        await console.sees(about("changed", "orders.sql", "not saved"))
        await console.press("escape")
        await console.press("ctrl+s")
        await console.sees("Overwrite the file")
        await console.press("a")
        await console.sees("[orders.sql]  query 2")
        assert path.read_text() == "SELECT 1 + 1 + 2\n"


async def test_a_query_is_saved_under_a_name_and_opened_once(warehouse: Path, folder: Path) -> None:
    taken = folder / "taken.sql"
    taken.write_text("mine")
    async with querying(warehouse, (120, 40)) as (console, pane):
        await console.type(" LIMIT 1")
        await console.press("ctrl+s")
        await console.sees("Save the query")
        await console.type("~/none/x.sql")
        await console.press("enter")
        await console.sees(about("no directory"))
        await console.press("escape")
        await console.press("ctrl+s")
        await console.type("~/taken.sql")
        await console.press("enter")
        await console.sees("Overwrite the file", "another text of 4 B")
        await console.press("escape")
        assert taken.read_text() == "mine"
        await console.press("ctrl+s")
        await console.type("~/new.sql")
        await console.press("enter")
        await console.sees("[new.sql]")
        assert (folder / "new.sql").read_text() == f"{pane.editor.text}\n"
        await console.press("ctrl+t")
        await console.press("ctrl+f")
        await console.type("new.sql")
        await console.press("enter")
        await console.sees("[new.sql]", about("open", "already"))
        assert len(pane.sheets) == 2


async def test_the_key_that_closed_a_dialog_is_no_line_break_when_it_is_pressed_twice(
    warehouse: Path, folder: Path
) -> None:
    (folder / "orders.sql").write_text("SELECT 1")
    async with querying(warehouse, (120, 40)) as (console, pane):
        await console.press("ctrl+f")
        await console.type("~/orders.sql")
        await console.burst("enter", "enter", "enter")
        await console.sees("[orders.sql]")
        assert pane.editor.text == "SELECT 1"
        await console.press("2", "enter")
        assert pane.editor.text == "2\nSELECT 1"
        await console.press("ctrl+s")
        await console.sees("Saved ")
        await console.press("ctrl+t")
        await console.type("SELECT 3")
        await console.press("ctrl+s")
        await console.type("new.sql")
        await console.burst("enter", "enter")
        await console.sees("[new.sql]")
        assert pane.editor.text == "SELECT 3"
        # Another key in between, and it is one of its own.
        await console.burst("end", "enter")
        assert pane.editor.text == "SELECT 3\n"
