"""A cursor that moves over the tokens of one statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, Self

from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.names import NameReader
from paimark.core.travel.parse.tokens import Token
from paimark.core.travel.parse.uses import Statement


class TokenCursor(NameReader):
    """Reads the tokens at `index`, and moves past those that it takes."""

    def __init__(self, sql: str, tokens: Sequence[Token], index: int = 0) -> None:
        super().__init__(sql, tokens)
        self.index = index

    @classmethod
    def of(cls, statement: Statement, index: int = 0) -> Self:
        return cls(statement.sql, statement.tokens, index)

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
