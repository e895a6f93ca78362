"""What leaves the console: rows into files, and the statement into an editor."""

from __future__ import annotations

import json
import stat
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from textual.widgets import Input

from paimark.core.errors import Cancelled, NotFound, Refused, Unavailable
from paimark.core.spark.protocol import Failed
from paimark.tui.dialogs.path_screen import ExportScreen, PathScreen
from paimark.tui.query.exporting import batches_of, write_file
from paimark.tui.query.query_result import QueryResult
from paimark.tui.terminal.other_programs import edited
from tests.tui.driving import querying, sitting
from tests.wording import about

ROWS = pa.record_batch({"a": [1, 2], "b": ["x", None]})
NAMES, TYPES = ("a", "b"), ("bigint", "string")


def test_rows_are_written_in_the_format_of_the_name(tmp_path: Path) -> None:
    assert write_file(tmp_path / "r.json", [ROWS, ROWS], NAMES, TYPES) == 4
    assert json.loads((tmp_path / "r.json").read_text())[:2] == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]
    assert write_file(tmp_path / "r.parquet", [], NAMES, TYPES) == 0
    assert pyarrow.parquet.read_table(tmp_path / "r.parquet").schema.names == ["a", "b"]


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("mine")
    with pytest.raises(Refused, match="not written over"):
        write_file(path, [ROWS], NAMES, TYPES)
    assert path.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [path]


def test_a_cancelled_export_leaves_no_file(tmp_path: Path) -> None:
    events = [Failed("It was cancelled", cause="cancelled")]
    with pytest.raises(Cancelled, match="cancelled"):
        write_file(tmp_path / "r.csv", batches_of(events, lambda rows: None), NAMES, TYPES)
    assert not list(tmp_path.iterdir())


async def test_the_dialog_takes_only_a_name_that_is_free(tmp_path: Path) -> None:
    (tmp_path / "taken.csv").write_text("mine")
    async with sitting(tmp_path) as console:
        chosen: list[Path | None] = []
        await console.app.push_screen(ExportScreen("All rows."), chosen.append)
        await console.type(f"{tmp_path}/taken")
        await console.press("enter")
        await console.sees(about("name", ".csv"))
        await console.type(".csv")
        await console.press("enter")
        await console.sees(about("exists", "not written"))
        assert not chosen
        await console.press("backspace", "backspace", "backspace")
        await console.type("json")
        await console.press("enter")
        await console.until(lambda: chosen == [tmp_path / "taken.json"])


async def test_of_a_statement_that_runs_nobody_is_told_to_run_it(warehouse: Path) -> None:
    async with querying(warehouse, (120, 40)) as (console, pane):
        pane.sheet.result = QueryResult("SELECT 1", 0, 0.0)
        await console.press("ctrl+e")
        await console.sees(about("statement", "running", "ctrl+c"))
        await console.press("escape", "C")
        await console.sees(about("no rows", "still running"))


def test_the_editor_gives_the_text_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "my editor"
    script.write_text(f'#!/bin/sh\nstat -c %a "$2" > {tmp_path}/mode\nsed -i s/SELECT/select/ "$2"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", f"'{script}' --wait")
    assert edited("SELECT 1\nFROM t", nullcontext) == "select 1\nFROM t"
    assert (tmp_path / "mode").read_text() == "600\n"


def test_an_editor_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "false")
    with pytest.raises(Refused, match="ended with 1"):
        edited("SELECT 1", nullcontext)
    monkeypatch.setenv("EDITOR", "/nowhere/vi")
    with pytest.raises(NotFound, match="can't be started"):
        edited("SELECT 1", nullcontext)


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ('rm "$1"', ("no file", "No such file")),
        ('rm "$1"; mkdir "$1"; rmdir "$1"', ("no file", "No such file")),
        ('printf "\\377" > "$1"', ("UTF-8",)),
    ],
)
def test_an_editor_that_leaves_no_text_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, reason: tuple[str, ...]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"sh -c '{script}' sh")
    with pytest.raises(Refused, match=about(*reason)) as refused:
        edited("SELECT 1", nullcontext)
    for path in tmp_path.iterdir():
        # Nothing that was typed is lost.
        assert path.read_bytes() == b"\xff" and str(path) in refused.value.message
    assert bool([*tmp_path.iterdir()]) == ("UTF-8" in reason)


def test_an_editor_may_empty_the_text_or_begin_it_with_a_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    for script, text in ((': > "$1"', ""), ('printf "\\357\\273\\277SELECT 2\\r\\n" > "$1"', "SELECT 2")):
        monkeypatch.setenv("EDITOR", f"sh -c '{script}' sh")
        assert edited("SELECT 1", nullcontext) == text


def test_where_no_file_can_be_written_the_editor_is_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(Unavailable, match=about("no file", "editor", "No such file")):
        edited("SELECT 1", nullcontext)


@pytest.mark.parametrize("typed", ["~nobody-of-this-name/a.csv", "a" * 300 + ".csv", "~nobody"])
@pytest.mark.parametrize("is_export", [True, False])
async def test_names_that_no_file_can_have_do_not_end_the_console(
    tmp_path: Path, typed: str, is_export: bool
) -> None:
    async with sitting(tmp_path, (80, 24)) as console:
        screen = ExportScreen("All rows.") if is_export else PathScreen("Open a file", exists=True)
        await console.app.push_screen(screen)
        field = screen.query_one(Input)
        field.value = typed
        await console.press("space", "backspace", "enter")
        await console.press("escape")
        await console.until(lambda: console.app.screen is console.app.browse)
