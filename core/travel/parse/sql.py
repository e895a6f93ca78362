"""Split a text into its statements, and tell the kind of each: what is known before there is a Spark.

Spark's parser finds the tables of a statement, and the versions of each, when there is one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from paimark.core.errors import UsageError
from paimark.core.text import has_halves
from paimark.core.travel.parse.statement import SqlRefused, Statement, StatementKind
from paimark.core.travel.parse.tokens import Token, iter_tokens, keywords, tokenize

# Procedures of `sys` that answer with rows, and change nothing.
QUESTIONS = ("when", "history", "blame", "holders", "check")
_HOLD_ROWS = keywords("TABLE DATABASE SCHEMA NAMESPACE CATALOG")

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


class Classified(NamedTuple):
    kind: StatementKind
    writes: bool = False
    removes_rows: bool = False


# Statements whose first word tells the kind. CACHE, SET and the like change the session, never the warehouse.
_BY_FIRST_WORD: dict[str, Classified] = {
    "EXPLAIN": Classified("explain"),
    "DESCRIBE": Classified("describe"),
    "DESC": Classified("describe"),
    "SHOW": Classified("show"),
    "CALL": Classified("call", writes=True, removes_rows=True),
    "DELETE": Classified("delete", writes=True, removes_rows=True),
    "UPDATE": Classified("update", writes=True, removes_rows=True),
    "MERGE": Classified("merge", writes=True, removes_rows=True),
    "TRUNCATE": Classified("truncate", writes=True, removes_rows=True),
    "UNDROP": Classified("drop", writes=True),
    **dict.fromkeys(("SELECT", "VALUES", "TABLE", "MAP", "REDUCE"), Classified("query")),
    **dict.fromkeys(
        ("ANALYZE", "COMMENT", "MSCK", "REPAIR", "GRANT", "REVOKE"), Classified("ddl", writes=True)
    ),
    **dict.fromkeys(
        ("USE", "SET", "RESET", "CACHE", "UNCACHE", "CLEAR", "REFRESH", "ADD", "LIST", "DECLARE"),
        Classified("session"),
    ),
}
_INSERT = Classified("insert", writes=True)
_OVERWRITE = Classified("overwrite", writes=True, removes_rows=True)
_OTHER = Classified("other", writes=True, removes_rows=True)


def classify(tokens: Sequence[Token]) -> Classified:
    """Classify by the words outside parentheses. An unknown statement counts as writing and removing rows."""
    if not tokens:
        return Classified("empty")
    start = 0
    while start < len(tokens) and tokens[start].upper == "WITH":
        start = cte_list_end(tokens, start)
    if start == len(tokens) or tokens[start].text == "(":
        return Classified("query")
    words = _outer_words(tokens[start:])
    first, second = (*words, "", "")[:2]
    if first in ("FROM", "INSERT"):
        return _insert(words) or (Classified("query") if first == "FROM" else _OTHER)
    if first in ("CREATE", "REPLACE"):
        return _create(words)
    if first == "DROP":
        if second == "TEMPORARY":
            return Classified("session")
        return Classified("drop", writes=True, removes_rows=second in _HOLD_ROWS)
    if first == "ALTER":
        removes = ("DROP", "PARTITION") in _pairs(_without_if(words))
        return Classified("alter" if second == "TABLE" else "ddl", writes=True, removes_rows=removes)
    if first == "CALL" and _is_question(tokens[start + 1 :]):
        return Classified("ask")
    if first == "LOAD":
        return _OVERWRITE if "OVERWRITE" in words else _INSERT
    return _BY_FIRST_WORD.get(first, _OTHER)


def _is_question(tokens: Sequence[Token]) -> bool:
    """Whether a CALL goes on with `sys.when` or the like."""
    if len(tokens) < 3 or tokens[1].text != ".":
        return False
    return tokens[0].value.lower() == "sys" and tokens[2].value.lower() in QUESTIONS


def _outer_words(tokens: Sequence[Token]) -> list[str]:
    depth, words = 0, []
    for token in tokens:
        if token.text in ("(", "/*+"):
            depth += 1
        elif token.text in (")", "*/"):
            depth -= 1
        if depth == 0:
            words.append(token.upper)
    return words


def _pairs(words: Sequence[str]) -> set[tuple[str, str]]:
    return set(pairwise(words))


def _without_if(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in ("IF", "EXISTS")]


def _insert(words: Sequence[str]) -> Classified | None:
    """Classify by the INSERTs among the words: after FROM there may be several. None without any."""
    pairs = _pairs(words)
    if ("INSERT", "OVERWRITE") in pairs:
        return _OVERWRITE
    if ("INSERT", "INTO") not in pairs:
        return None
    # INSERT INTO t REPLACE WHERE ... removes the rows that it replaces.
    replaces = any(("REPLACE", word) in pairs for word in ("WHERE", "USING", "ON"))
    return _INSERT._replace(removes_rows=replaces)


def cte_list_end(tokens: Sequence[Token], start: int = 0) -> int:
    """The index of the statement after the queries of the WITH at `start`."""
    depth = 0
    for index in range(start, len(tokens)):
        token = tokens[index]
        depth += (token.text == "(") - (token.text == ")")
        if token.text == ")" and depth == 0:
            after = tokens[index + 1] if index + 1 < len(tokens) else None
            goes_on = after is not None and (after.text in (",", "(") or after.upper in ("AS", "MAX"))
            if not goes_on:
                return index + 1
    return len(tokens)


def _create(words: Sequence[str]) -> Classified:
    head = [word for word in words[1:6] if word not in ("OR", "REPLACE", "GLOBAL", "EXTERNAL")]
    if head[:1] in (["TEMPORARY"], ["TEMP"]):
        return Classified("view" if "VIEW" in head else "session")
    replaces = words[0] == "REPLACE" or words[1:3] == ["OR", "REPLACE"]
    return Classified("ddl", writes=True, removes_rows=replaces and head[:1] == ["TABLE"])
