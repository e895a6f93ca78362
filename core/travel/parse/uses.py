"""The tables and clauses of a statement, with their positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.tokens import Span, Token

StatementKind = Literal[
    "empty",
    "query",
    "explain",
    "describe",
    "show",
    "session",
    "view",
    "call",
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


@dataclass(frozen=True, slots=True)
class Clause:
    """A time-travel clause, or options that stand for one. `words` are its keywords, or the option's name.

    One of these is set: `version` is the requested version, without quotes; `time_span` is the span of the
    time's expression; `time_ms` is a time in epoch ms. `is_tag`: the version is the name of a tag.
    """

    words: str
    span: Span
    version: str | None = None
    time_span: Span | None = None
    time_ms: int | None = None
    is_tag: bool = False


@dataclass(frozen=True, slots=True)
class TableUse:
    """One table read (or described) by a statement; spans are character offsets in its text.

    `parts` is the name as written, without backticks: `("shop", "orders$branch_fix$snapshots")`.
    """

    parts: tuple[str, ...]
    name_span: Span
    clause: Clause | None = None
    time_expression: str | None = None
    alias: str | None = None

    @property
    def version(self) -> str | None:
        return self.clause.version if self.clause else None

    @property
    def clause_span(self) -> Span | None:
        return self.clause.span if self.clause else None

    @property
    def time_span(self) -> Span | None:
        return self.clause.time_span if self.clause else None

    @property
    def position(self) -> int:
        return self.name_span[0]


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

    `target` is the table that INSERT, DELETE, UPDATE or MERGE writes; it is not among `uses`. `tokens` are
    all but the semicolons at the end; other parsers of the statement use them instead of the text.
    """

    kind: StatementKind
    writes: bool = False
    removes_rows: bool = False
    uses: tuple[TableUse, ...] = ()
    target: TableUse | None = None
    tokens: tuple[Token, ...] = field(default=(), repr=False, compare=False)

    @property
    def without_comments(self) -> str:
        """The text with one blank in place of each run of comments and white space."""
        ends = [0, *(token.end for token in self.tokens)]
        pairs = zip(self.tokens, ends, strict=False)
        return "".join(" " * (token.start > end) + token.text for token, end in pairs).strip()
