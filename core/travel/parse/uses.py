"""What is known of a statement: its kind, and the tables that it reads with their clauses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import msgspec

from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.tokens import Token

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
