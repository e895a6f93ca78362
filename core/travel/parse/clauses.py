"""Parse the time-travel clause after a table's name, in all its spellings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from paimark.core.text import has_halves
from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.expressions import expression_end
from paimark.core.travel.parse.tokens import Token, keywords
from paimark.core.travel.parse.uses import Clause

_VERSION_WORDS = keywords("VERSION SYSTEM_VERSION")
_TIME_WORDS = keywords("TIMESTAMP SYSTEM_TIME")
_PERIOD_WORDS = keywords("FROM BETWEEN CONTAINED ALL")
_OPERATORS = keywords("+ - * / % || . [ ::")
_PERIOD_HINT = "Read the states one by one, each with FOR SYSTEM_TIME AS OF a constant time."
_FORMS_HINT = "Write VERSION AS OF 5, VERSION AS OF 'savepoint.1' or TIMESTAMP AS OF '2026-05-01 00:00:00'."


def starts_clause(tokens: Sequence[Token], index: int) -> bool:
    """Whether a time-travel clause begins here. The rest of it may be invalid."""
    first, second, third = (_upper(tokens, index + ahead) for ahead in range(3))
    if first == "FOR":
        return second in _VERSION_WORDS | _TIME_WORDS
    if first in _VERSION_WORDS | _TIME_WORDS:
        return (second, third) == ("AS", "OF")
    if (first, second) == ("AS", "OF"):
        # `of` may also be an alias, but no literal or such keyword can follow an alias.
        literal = index + 2 < len(tokens) and tokens[index + 2].kind in ("string", "number")
        return literal or third in _VERSION_WORDS | _TIME_WORDS
    return False


def read_clause(sql: str, tokens: Sequence[Token], index: int) -> tuple[Clause, int]:
    """Parse the clause that begins at `index`; also return the index after it. Raises `SqlRefused`."""
    return _ClauseReader(sql, tokens, index).read()


class _ClauseReader:
    def __init__(self, sql: str, tokens: Sequence[Token], index: int) -> None:
        self.sql = sql
        self.tokens = tokens
        self.first = tokens[index]
        self.index = index

    def read(self) -> tuple[Clause, int]:
        if self.first.upper == "AS":
            return self._as_of_timestamp()
        if self.first.upper == "FOR":
            self.index += 1
        subject = self.tokens[self.index]
        self._refuse_period()
        if (self._upper(1), self._upper(2)) != ("AS", "OF"):
            self._refuse(f"{self._words(1)} must be followed by AS OF", _FORMS_HINT, self.first.start)
        words = self._words(3)
        self.index += 3
        if subject.upper in _VERSION_WORDS:
            return self._version(words)
        return self._time(words)

    def _as_of_timestamp(self) -> tuple[Clause, int]:
        subject = self._upper(2)
        if subject != "TIMESTAMP":
            self._refuse(
                "AS OF alone must be followed by TIMESTAMP", _FORMS_HINT, self.tokens[self.index + 2].start
            )
        follower = self.tokens[self.index + 3] if self.index + 3 < len(self.tokens) else None
        # Before a string, the keyword belongs to the literal: AS OF TIMESTAMP '2026-05-01'.
        self.index += 2 if follower is not None and follower.kind == "string" else 3
        return self._time("AS OF TIMESTAMP")

    def _version(self, words: str) -> tuple[Clause, int]:
        token = self.tokens[self.index] if self.index < len(self.tokens) else None
        if token is None or token.text in (")", ",", ";"):
            position = token.start if token else self.tokens[-1].end
            self._refuse(f"The version after {words} is missing", _FORMS_HINT, position)
        is_number = token.kind == "number" and token.text.isdigit()
        if not is_number and token.kind != "string":
            self._refuse(
                f"The version after {words} must be a number or a name in quotes", _FORMS_HINT, token.start
            )
        if has_halves(token.value):
            self._refuse(f"The version after {words} is not UTF-8", _FORMS_HINT, token.start)
        self.index += 1
        behind = self.tokens[self.index] if self.index < len(self.tokens) else None
        if behind is not None and (behind.text in _OPERATORS or behind.kind in ("string", "number")):
            self._refuse(
                f"The version after {words} must be one number or name, not an expression",
                _FORMS_HINT,
                behind.start,
            )
        return Clause(words, (self.first.start, token.end), version=token.value), self.index

    def _time(self, words: str) -> tuple[Clause, int]:
        behind = expression_end(self.sql, self.tokens, self.index, words)
        start, end = self.tokens[self.index].start, self.tokens[behind - 1].end
        return Clause(words, (self.first.start, end), time_span=(start, end)), behind

    def _refuse_period(self) -> None:
        if self._upper(1) in _PERIOD_WORDS and self.first.upper == "FOR":
            raise SqlRefused(
                f"{self._words(2)} is a period, and time travel reads one state",
                _PERIOD_HINT,
                self.sql,
                self.first.start,
            )

    def _upper(self, ahead: int) -> str:
        return _upper(self.tokens, self.index + ahead)

    def _words(self, count: int) -> str:
        words = [self.first.upper] if self.first.upper == "FOR" else []
        return " ".join([*words, *(self._upper(ahead) for ahead in range(count))])

    def _refuse(self, reason: str, hint: str, position: int) -> NoReturn:
        raise SqlRefused(reason, hint, self.sql, position)


def _upper(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].upper if index < len(tokens) else ""
