"""A statement before there is a Spark: its kind, its tables with their clauses, and a cursor over its tokens.

A refusal has the position of what is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn, Self

import msgspec

from paimark.core.errors import StatementFailed
from paimark.core.text import clean_text, cut, cut_middle, width_of
from paimark.core.travel.parse.tokens import Token

# A reason may quote any part of a statement.
_LONGEST = 300
# The part of a cut line that lies before the caret, in percent.
_BEFORE = 60
StatementKind = Literal[
    "empty",
    "query",
    "explain",
    "describe",
    "show",
    "session",
    "view",
    "call",
    "ask",
    "insert",
    "overwrite",
    "delete",
    "update",
    "merge",
    "truncate",
    "drop",
    "alter",
    "ddl",
    "other",
]
_STATES = ("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME")


class SqlRefused(StatementFailed):
    """A statement or clause that is invalid or not supported. `position` is its character offset."""

    position: int

    def __init__(self, reason: str, hint: str, sql: str, position: int) -> None:
        line, column = line_and_column(sql, position)
        super().__init__(f"{cut_middle(reason, _LONGEST)} (line {line}, column {column})", hint, position)


def line_and_column(sql: str, position: int) -> tuple[int, int]:
    """Both counted from 1."""
    before = sql[:position]
    return before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1


def pointed(text: str, position: int, width: int) -> tuple[str, str]:
    """The line of `text` that contains `position`, and a line of blanks that ends in a caret.

    A position in trailing white space becomes the end of the text before it. A line over `width` cells is cut
    to the part around the caret.
    """
    position = min(position, len(text.rstrip()))
    start = text.rfind("\n", 0, position) + 1
    line = text[start:].partition("\n")[0]
    before, behind = clean_text(line[: position - start]), clean_text(line[position - start :])
    if width_of(before) + width_of(behind) > width:
        before = _end_of(before, width * _BEFORE // 100)
        behind = cut(behind, width - width_of(before))
    return before + behind, " " * width_of(before) + "^"


def _end_of(text: str, width: int) -> str:
    return cut(text[::-1], width)[::-1]


class Clause(msgspec.Struct, frozen=True):
    """A time-travel clause, or options that stand for one, at `[start, end)`. `words` are its keywords, or
    the option's name.

    One of these is set: `version` is the requested version, without quotes; `time_ms` is a time in epoch ms;
    `literal` is a text that is a time, behind the word `literal_type` if there is one. `time` is a time as it
    is written. `is_tag`: the version is the name of a tag.
    """

    words: str
    start: int
    end: int
    version: str | None = None
    is_tag: bool = False
    time: str | None = None
    time_start: int = 0
    time_ms: int | None = None
    literal: str | None = None
    literal_type: str = ""


class TableUse(msgspec.Struct, frozen=True):
    """One table read (or described) by a statement; `start` and `end` are character offsets in its text.

    `parts` is the name as written, without backticks: `("shop", "orders$branch_fix$snapshots")`. A table of a
    temporary view has the offsets of the view. `key` is the view's name then, else empty; `at` is the table's
    offset in the text of the view, and `database` the view's. `is_view`: it is such a view itself.
    """

    parts: tuple[str, ...]
    start: int = 0
    end: int = 0
    clause: Clause | None = None
    at: int = 0
    key: str = ""
    database: str | None = None
    is_view: bool = False

    @property
    def version(self) -> str | None:
        return self.clause.version if self.clause else None

    @property
    def position(self) -> int:
        return self.start


@dataclass(frozen=True, slots=True)
class SqlText:
    """The base of values that were parsed from the text `sql`."""

    sql: str

    def refused(self, reason: str, hint: str, position: int) -> SqlRefused:
        """A refusal to raise, with a position in the text."""
        return SqlRefused(reason, hint, self.sql, position)


@dataclass(frozen=True, slots=True)
class Statement(SqlText):
    """One statement. `writes`: it may change the warehouse; `removes_rows`: it may remove rows.

    `tokens` are all but the semicolons at the end; other parsers of the statement use them.
    """

    kind: StatementKind
    writes: bool = False
    removes_rows: bool = False
    tokens: tuple[Token, ...] = field(default=(), repr=False, compare=False)

    @property
    def without_comments(self) -> str:
        """The text with one blank in place of each run of comments and white space."""
        ends = [0, *(token.end for token in self.tokens)]
        pairs = zip(self.tokens, ends, strict=False)
        return "".join(" " * (token.start > end) + token.text for token, end in pairs).strip()


class TokenCursor:
    """Reads the tokens at `index`, and moves past those that it takes. The text outside them is empty."""

    def __init__(self, sql: str, tokens: Sequence[Token], index: int = 0) -> None:
        self.sql = sql
        self.tokens = tokens
        self.index = index

    @classmethod
    def of(cls, statement: Statement, index: int = 0) -> Self:
        return cls(statement.sql, statement.tokens, index)

    def text(self, index: int) -> str:
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def upper(self, index: int) -> str:
        return self.tokens[index].upper if 0 <= index < len(self.tokens) else ""

    def is_name(self, index: int) -> bool:
        return 0 <= index < len(self.tokens) and self.tokens[index].is_name

    def read_name(self, index: int) -> tuple[tuple[str, ...], int]:
        """The parts of the dotted name at `index`, and the index after it."""
        parts = [self.tokens[index].value]
        index += 1
        while self.text(index) == "." and self.is_name(index + 1):
            parts.append(self.tokens[index + 1].value)
            index += 2
        return tuple(parts), index

    def read_columns(self) -> list[str]:
        """Move past names with commas between them. Raises `SqlRefused` for one with dots."""
        names: list[str] = []
        while self.is_name(self.index):
            parts, behind = self.read_name(self.index)
            if len(parts) > 1:
                self.refuse(f"{'.'.join(parts)} is no column, but a part of one", "Name the whole column.")
            names.append(parts[0])
            self.index = behind
            if not self.takes(","):
                break
        return names

    def parenthesis_end(self, index: int) -> int:
        """The index after the parenthesis that opens at `index`."""
        depth = 0
        while index < len(self.tokens):
            depth += (self.text(index) == "(") - (self.text(index) == ")")
            index += 1
            if depth == 0:
                break
        return index

    def is_clause(self, index: int) -> bool:
        """Whether a clause of time travel may begin here; its rest may be invalid."""
        first, second, third = (self.upper(index + ahead) for ahead in range(3))
        return first == "FOR" or "AS OF" in (f"{first} {second}", f"{second} {third}" * (first in _STATES))

    def takes(self, *words: str) -> bool:
        """Move past these words or symbols if they are next; return whether they are."""
        for ahead, word in enumerate(words):
            index = self.index + ahead
            if (self.upper(index) or self.text(index)) != word:
                return False
        self.index += len(words)
        return True

    @property
    def position(self) -> int:
        """The offset of the next token; the end of the last one if there is none."""
        if self.index < len(self.tokens):
            return self.tokens[self.index].start
        return self.tokens[-1].end if self.tokens else 0

    def refuse(self, reason: str, hint: str) -> NoReturn:
        """Raises `SqlRefused` with the position of the cursor."""
        raise SqlRefused(reason, hint, self.sql, self.position)
