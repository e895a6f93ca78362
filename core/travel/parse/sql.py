"""Split a text into its statements, and tell the kind of each: what is known before there is a Spark.

Spark's parser finds the tables of a statement, and the versions of each, when there is one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from paimark.core.errors import UsageError
from paimark.core.text import has_halves
from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.kinds import classify
from paimark.core.travel.parse.tokens import Token, iter_tokens, tokenize
from paimark.core.travel.parse.uses import Statement

_MESSAGE = r"(?im)^[ \t]*--[ \t]*message:(.*)$"


class Piece(NamedTuple):
    """One statement of a text. `base` plus a position in `text` is the position in the whole text.

    Empty lines and blanks stand for the text before it, so that its lines and columns are those of the whole.
    """

    text: str
    base: int


def piece_of(text: str, start: int, end: int) -> Piece:
    """The part `[start, end)` of a text."""
    before = text[:start]
    blank = "\n" * before.count("\n") + " " * (start - (before.rfind("\n") + 1))
    return Piece(blank + text[start:end], start - len(blank))


def statements_of(text: str) -> list[Piece]:
    """The statements of a text, in order. If it has less than two, it is one piece, with its comments.

    Of several, each begins at its message, if it has one. `BEGIN` begins a script of Spark's, which is one
    piece up to the end of the text.
    """
    spans: list[tuple[int, int]] = []
    first = last = None
    # The end of the last semicolon before a statement.
    start = ended = 0
    for token in iter_tokens(text):
        if token.text != ";" or (first is not None and first.upper == "BEGIN"):
            first, last = first or token, token
        elif first is not None and last is not None:
            spans.append((_with_message(text, ended, first.start), last.end))
            first, last, ended = None, None, token.end
        elif not spans:
            start = ended = token.end
    if first is not None and last is not None:
        spans.append((_with_message(text, ended, first.start), last.end))
    return [piece_of(text, *span) for span in spans] if len(spans) > 1 else [piece_of(text, start, len(text))]


def _with_message(text: str, ended: int, start: int) -> int:
    """Where the message of a statement that begins at `start` begins, or that; another one has `ended`."""
    found = _messages(text[ended:start])
    return ended + found[0].start() if found else start


def message_of(statement: Statement) -> str | None:
    """Why it is run, by a comment before it: `-- message: prices were wrong`. Raises `UsageError` for two."""
    found = _messages(statement.sql[: statement.tokens[0].start]) if statement.tokens else []
    if len(found) > 1:
        raise UsageError(f"The statement has {len(found)} messages", "Leave one.")
    return found[0][1].strip() if found else None


def _messages(text: str) -> list[re.Match[str]]:
    """Those of the comments before a statement. Within another comment it is none."""
    found = re.finditer(_MESSAGE, text)
    return [each for each in found if text.count("/*", 0, each.start()) == text.count("*/", 0, each.start())]


def read_statement(sql: str) -> Statement:
    """Tell the kind of one statement.

    Raises `UsageError` for more than one statement, and `SqlRefused` for one without its last quote.
    """
    if has_halves(sql):
        raise UsageError("The statement is not UTF-8", "Look at the encoding of the terminal or file.")
    tokens = tokenize(sql)
    _require_no_script(sql, tokens)
    tokens = _without_end(sql, tokens)
    kind = classify(tokens)
    if kind.kind != "session":
        _require_closed(sql, tokens)
    return Statement(sql, kind.kind, kind.writes, kind.removes_rows, tuple(tokens))


def _require_closed(sql: str, tokens: list[Token]) -> None:
    if tokens and not tokens[-1].is_closed:
        quote = tokens[-1].text.lstrip("rR")[0]
        raise SqlRefused(f"This {quote} is not closed", f"Write {quote} at its end.", sql, tokens[-1].start)


def _require_no_script(sql: str, tokens: list[Token]) -> None:
    if tokens and tokens[0].upper == "BEGIN":
        raise SqlRefused(
            "BEGIN ... END is not supported here",
            "Leave BEGIN and END out: statements with ; between them run in order.",
            sql,
            tokens[0].start,
        )


def _without_end(sql: str, tokens: list[Token]) -> list[Token]:
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    if any(token.text == ";" for token in tokens):
        raise UsageError(
            "More than one statement was given, and one statement runs at a time", "Run them one by one."
        )
    return tokens
