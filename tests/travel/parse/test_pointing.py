"""The line and the caret that show where a statement is at fault."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from paimark.core.travel.parse.statement import SqlRefused, pointed


@pytest.mark.parametrize(
    ("text", "at", "line"),
    [
        ("SELECT *\nFORM x\nWHERE 1", "FORM", "FORM x"),
        ("SELECT '\N{ESCAPE}[31m日本', x FORM", "FORM", "SELECT '�[31m日本', x FORM"),
        ("SELECT\t1,\t2 FORM", "FORM", "SELECT 1, 2 FORM"),
    ],
)
def test_the_caret_stands_below_the_place(text: str, at: str, line: str) -> None:
    shown, caret = pointed(text, text.index(at), 80)
    assert shown == line
    assert caret == " " * cell_len(line[: line.index(at)]) + "^"


def test_the_end_is_that_of_the_last_line_which_is_not_blank() -> None:
    assert pointed("SELECT 1,\n  2 +\n\n", 18, 80) == ("  2 +", "     ^")


def test_a_long_line_is_cut_to_what_lies_around_the_place() -> None:
    text = "SELECT " + "a" * 500 + " FORM " + "日" * 500
    line, caret = pointed(text, text.index("FORM"), 40)
    assert line[len(caret) - 1 :].startswith("FORM 日")
    assert (line[0], line[-1]) == ("…", "…") and cell_len(line) <= 40
    assert pointed(text, 0, 40)[1] == "^"


def test_a_reason_that_quotes_a_long_text_keeps_its_ends() -> None:
    name = "x" * 4_000
    refused = SqlRefused(f"FOR SYSTEM_TIME AS OF a.{name} names a column", "", "SELECT a", 7)
    assert len(refused.message) < 400
    assert refused.message.endswith("(line 1, column 8)")
