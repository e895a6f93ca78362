"""A text is split into its statements where Spark would end them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.errors import PaimarkError
from paimark.core.travel.parse.sql import read_statement, statements_of
from paimark.core.travel.parse.tokens import tokenize


def texts(sql: str) -> list[str]:
    return [piece.text.strip() for piece in statements_of(sql)]


@pytest.mark.parametrize(
    ("sql", "statements"),
    [
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT 1;;\n;SELECT 2;", ["SELECT 1", "SELECT 2"]),
        ("SELECT ';' ; SELECT \"a;b\", `c;d`, r'\\';--;\n SELECT 3", 3),
        ("SELECT 'it''s; one' /* ; /* ; */ ; */ ; SELECT 2", 2),
        (
            "-- load; both\nSELECT 1; -- done;\n/* SELECT 9; */",
            ["-- load; both\nSELECT 1; -- done;\n/* SELECT 9; */"],
        ),
        ("SELECT 1 -- a \\\n; no end\n; SELECT 2", 2),
        ("SELECT /*+ BROADCAST(a) */ 1; SELECT 2", 2),
        ("SELECT 1 /* /*+ */ ; SELECT 2", 2),
        ("SELECT '1; SELECT 2", 1),
        (
            "SELECT 0; BEGIN SELECT 1; SELECT 2; END; SELECT 3",
            ["SELECT 0", "BEGIN SELECT 1; SELECT 2; END; SELECT 3"],
        ),
        ("SELECT `BEGIN`; SELECT 2", 2),
        ("", [""]),
        (" ;; -- x", ["-- x"]),
        (" ; -- x\nSELECT 1 ; -- y", ["-- x\nSELECT 1 ; -- y"]),
    ],
)
def test_semicolons_part_statements(sql: str, statements: list[str] | int) -> None:
    found = texts(sql)
    assert (len(found) if isinstance(statements, int) else found) == statements


def test_positions_lines_and_columns_are_those_of_the_whole_text() -> None:
    sql = "SELECT 1;\n-- two\nSELECT 2; SELECT *\nFROM t `not closed"
    *_, third = statements_of(sql)
    with pytest.raises(PaimarkError, match=r"\(line 4, column 8\)") as refused:
        read_statement(third.text)
    position = getattr(refused.value, "position", -1)
    assert sql[third.base + position :] == "`not closed"


@given(st.text(alphabet="SELECT1 \n;'\"`-/*+rb\\BEGIN", max_size=40))
def test_no_word_of_any_text_is_lost_or_moved(sql: str) -> None:
    pieces = statements_of(sql)
    words = [token for token in tokenize(sql) if token.text != ";"]
    # A script keeps its semicolons.
    found = [(piece.base, token) for piece in pieces for token in tokenize(piece.text) if token.text != ";"]
    assert [(base + token.start, token.text) for base, token in found] == [
        (token.start, token.text) for token in words
    ]
    for piece in pieces:
        try:
            read_statement(piece.text)
        except PaimarkError as error:
            assert "More than one" not in error.message
