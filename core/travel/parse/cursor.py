"""A cursor that moves over the tokens of one statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, Self

from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.tokens import Token
from paimark.core.travel.parse.uses import Statement

_STATES = ("VERSION", "SYSTEM_VERSION", "TIMESTAMP", "SYSTEM_TIME")


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
