"""Choices for a file of conflicts: by cell, row, column, all; also of what is not on the screen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.style import Style

from paimark.core.actions.merge.conflict_file import encoded
from paimark.core.actions.merge.conflict_lines import At, EndLine, Header, KeyLine
from paimark.core.actions.merge.conflicts import Conflict
from paimark.core.actions.merge.resolution import read_resolution
from paimark.core.errors import Refused
from paimark.tui.dialogs.conflicts import choosing as choosing_module
from paimark.tui.dialogs.conflicts.choosing import Choosing, conflict_columns, conflict_detail
from paimark.tui.dialogs.record import as_json
from paimark.tui.widgets.grid.paint import GUTTER, measure, paint_row, visible_columns

HEAD = At(2, "manifest-list-1")
HEADER = Header(
    table="a.b",
    branch="fix",
    base=At(1, "manifest-list-0"),
    main=HEAD,
    head=HEAD,
    keys=("id",),
    columns={"id": "INT", "a": "STRING", "b": "STRING"},
)
BASE = {"id": 0, "a": "x", "b": "x"}
# By key: both cells are in conflict; one is, and the branch alone changed the other; none is; no row in main.
MINE: list[dict[str, str] | None] = [{"a": "m", "b": "m"}, {"a": "m"}, {"a": "m"}, None]
THEIRS = [{"a": "t", "b": "t"}, {"a": "t", "b": "t"}, {"b": "t"}, {"b": "t"}]
BOTH = [["a", "b"], ["a"], [], []]


def lines() -> list[dict[str, Any]]:
    made = []
    for key, (mine, theirs, both) in enumerate(zip(MINE, THEIRS, BOTH, strict=True)):
        columns = ["b"] if mine is None else ["a", "b"]
        sides = {"main": None if mine is None else {**BASE, **mine}, "branch": {**BASE, **theirs}}
        line = {"key": {"id": key}, "choose": "", "both": both, "columns": columns, "base": BASE, **sides}
        made.append({name: each for name, each in line.items() if each != []})
    return made


@pytest.fixture
def choosing(tmp_path: Path) -> Choosing:
    path = tmp_path / "conflicts.jsonl"
    written = [json.dumps(line).encode() + b"\n" for line in lines()]
    path.write_bytes(b"".join((encoded(HEADER), *written, encoded(EndLine(4)))))
    return Choosing(str(path))


def states(choosing: Choosing) -> list[str]:
    return [choosing.state(index) for index in range(len(choosing))]


def saved(choosing: Choosing) -> list[object]:
    choosing.save()
    written = [json.loads(line) for line in Path(choosing.path).read_bytes().splitlines()[1:-1]]
    assert [{**line, "choose": ""} for line in written] == lines()
    return [line["choose"] for line in written]


def test_a_cell_a_row_and_what_a_side_changed_alone(choosing: Choosing) -> None:
    open_ = "undecided"
    assert states(choosing) == [open_, open_, open_, "only branch", open_, open_, open_]
    assert choosing.row(2) == (1, "a", open_, "x", "m", "t")
    assert choosing.progress == "0 of 4 keys decided"
    choosing.choose_cell(0, "branch")
    assert (choosing.state(0), choosing.state(1), choosing.progress) == (
        "branch",
        open_,
        "0 of 4 keys decided",
    )
    assert choosing.next_undecided(0) == 1
    choosing.choose_cell(1, "main")
    assert choosing.progress == "1 of 4 keys decided"
    choosing.choose_row(2, "main")
    # One of a row's cells otherwise: the rest stays as the row was chosen.
    choosing.choose_cell(3, "branch")
    # No cell of it is in conflict: one choice decides it, and the other cell is of the side that changed it.
    choosing.choose_cell(5, "branch")
    assert choosing.next_undecided(3) == 6
    # Of a row that main lacks there are no cells to choose.
    choosing.choose_cell(6, "branch")
    assert choosing.next_undecided(0) is None
    assert states(choosing) == ["branch", "main", "main", "branch", "only main", "branch", "branch"]
    expected = [{"a": "branch", "b": "main"}, {"a": "main", "b": "branch"}, {"b": "branch"}, "branch"]
    assert saved(choosing) == expected
    assert read_resolution(choosing.path).undecided == 0
    choosing.choose_cell(5, "")
    choosing.choose_cell(3, "main")
    assert saved(choosing) == [expected[0], "main", "", "branch"]
    assert Choosing(choosing.path).progress == choosing.progress == "3 of 4 keys decided"


def test_a_whole_column_what_is_left_and_all(choosing: Choosing) -> None:
    assert choosing.choose_column("b", "branch") == 3
    assert saved(choosing) == [{"b": "branch"}, {"b": "branch"}, {"b": "branch"}, ""]
    assert choosing.progress == "1 of 4 keys decided"
    choosing.choose_rest("main")
    assert saved(choosing) == [
        {"a": "main", "b": "branch"},
        {"a": "main", "b": "branch"},
        {"b": "branch"},
        "main",
    ]
    assert choosing.progress == "4 of 4 keys decided"
    choosing.choose_all("branch")
    assert saved(choosing) == ["branch"] * 4
    choosing.choose_all("")
    assert (saved(choosing), choosing.has_any, choosing.undecided) == ([""] * 4, False, 4)


def test_more_keys_than_can_be_held_are_for_a_script(
    choosing: Choosing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing_module, "MOST_KEYS", 3)
    with pytest.raises(Refused, match="More than 3 keys are in conflict"):
        Choosing(choosing.path)


def test_texts_that_would_look_alike_are_in_quotes() -> None:
    base, main, branch = (msgspec.Raw(json.dumps({"a": text}).encode()) for text in (None, "null", "x "))
    line = KeyLine(
        key={"id": msgspec.Raw(b'""')}, choose="", columns=("a",), base=base, main=main, branch=branch
    )
    conflict = Conflict.of(line)
    assert conflict.lines == [('""', "a", "null", '"null"', '"x "')]
    assert ("a in branch", '"x "') in conflict.facts(HEADER.sides)


def test_a_record_is_copied_with_the_values_that_json_has() -> None:
    """Numbers with all their digits, and a text in quotes on the screen as it is."""
    texts = (None, b'{"id":7,"a":"x ","b":12345678901234567890.10}', b'{"id":7,"a":null,"b":[1]}')
    base, main, branch = (msgspec.Raw(text or b"null") for text in texts)
    key = {"id": msgspec.Raw(b"7")}
    line = KeyLine(key=key, choose="", columns=("a", "b"), base=base, main=main, branch=branch)
    copied = as_json(conflict_detail(Conflict.of(line), HEADER.sides))
    assert (
        copied
        == """{
  "a in base": "(no row)",
  "a in main": "x ",
  "a in branch": null,
  "b in base": "(no row)",
  "b in main": 12345678901234567890.10,
  "b in branch": [
    1
  ],
  "id": 7
}"""
    )


def test_times_that_differ_in_their_last_digits_look_different_on_80_columns(tmp_path: Path) -> None:
    times = [f"2026-11-26T09:25:35.{fraction}" for fraction in ("123456", "123457", "123")]
    sides = {
        side: {"id": 7, "a": time, "b": "x"}
        for side, time in zip(("base", "main", "branch"), times, strict=True)
    }
    line = {"key": {"id": 7}, "choose": "", "both": ["a"], "columns": ["a"], **sides}
    path = tmp_path / "times.jsonl"
    path.write_bytes(b"".join((encoded(HEADER), json.dumps(line).encode() + b"\n", encoded(EndLine(1)))))
    choosing = Choosing(str(path))
    columns = conflict_columns(choosing, 74)
    shown = visible_columns(measure(columns, choosing, 0), 0, 0, 74 - GUTTER)
    strip = paint_row(
        choosing.row(0),
        columns,
        shown,
        gutter="  ",
        styles={"": Style(), "accent": Style()},
        width=74,
        now_ms=0,
    )
    *_, base, main, branch = strip.text.split()
    assert (base[-4:], main[-4:], branch[-4:]) == ("3456", "3457", ".123")
    assert [*map(str, choosing.row(0)[-3:])] == times


@pytest.mark.parametrize("width", [76, 96, 115, 140])
def test_base_main_and_branch_fit_side_by_side(tmp_path: Path, width: int) -> None:
    """On 120 columns long values of base and main left no room for the branch's."""
    long = {"key": {"id": "k" * 60}, "choose": "", "both": ["a"], "columns": ["a"]}
    sides = {side: {"id": "k" * 60, "a": side * 20, "b": "x"} for side in ("base", "main", "branch")}
    path = tmp_path / "long.jsonl"
    line = json.dumps({**long, **sides}).encode() + b"\n"
    path.write_bytes(b"".join((encoded(HEADER), line, encoded(EndLine(1)))))
    choosing = Choosing(str(path))
    columns = conflict_columns(choosing, width)
    widths = measure(columns, choosing, 0)
    shown = visible_columns(widths, 0, 0, width - GUTTER)
    assert shown == [*enumerate(widths)]
    # Nor is room left that a value needs.
    assert min(widths[-3:]) == 32 or width - GUTTER - sum(widths) - 2 * (len(widths) - 1) < 3
