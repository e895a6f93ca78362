"""Find the end of the time after `AS OF` in a statement's tokens: Spark evaluates what is before it.

Operands and operators take turns, so the end is the first token that continues neither. A column and a query
can't be constant, and are refused at once with their position, where nothing but parentheses is around them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.tokens import Token, keywords

CONSTANT_HINT = (
    "The time is a constant: a literal, CURRENT_TIMESTAMP or now(), intervals added or taken away, and "
    "functions of these."
)
QUERY = "A query can't give the time of a time travel", CONSTANT_HINT
LITERAL_TYPES = keywords("DATE TIMESTAMP TIMESTAMP_LTZ TIMESTAMP_NTZ")
_UNITS = frozenset(
    unit + plural
    for unit in keywords("NANOSECOND MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH YEAR")
    for plural in ("", "S")
)
_CONSTANTS = keywords("CURRENT_TIMESTAMP CURRENT_DATE LOCALTIMESTAMP NULL TRUE FALSE")
_QUERY_STARTS = keywords("SELECT WITH VALUES TABLE")
_OPERATORS = keywords("+ - * / % DIV || | & ^ << >>")
_COMPARISONS = keywords("= == < > <= >= <> != <=> => ->")
# Words that can't begin an operand: after them the time is missing, not a column of that name.
_NOT_AN_OPERAND = keywords(
    """AND AS CROSS EXCEPT FOR FROM FULL GROUP HAVING INNER INTERSECT JOIN LATERAL LEFT LIMIT MINUS NATURAL
    OFFSET ON OR ORDER PIVOT RIGHT SELECT SEMI TABLESAMPLE UNION UNPIVOT USING WHERE WINDOW WITH"""
)
_CLOSING = {"(": ")", "[": "]", "CASE": "END"}


def column_refused(clause: str, name: str) -> tuple[str, str]:
    """The message and the hint for a column in a time."""
    return f"{clause} {name} names a column: that is a temporal join, not time travel", CONSTANT_HINT


def expression_end(sql: str, tokens: Sequence[Token], index: int, clause: str) -> int:
    """The index after the expression that begins at `index`. Raises `SqlRefused`.

    `clause` are the words before the expression, for messages.
    """
    return _Reader(sql, tokens, index, clause).read()


class _Reader:
    def __init__(self, sql: str, tokens: Sequence[Token], index: int, clause: str) -> None:
        self.sql = sql
        self.tokens = tokens
        self.index = index
        self.clause = clause

    def read(self) -> int:
        self._operand()
        while self._text() in _OPERATORS:
            self.index += 1
            self._operand()
        if self._text() in _COMPARISONS:
            start = self.tokens[self.index].start
            self._refuse(f"`{self._text()}` can't be used in the time after {self.clause}", start)
        return self.index

    def _operand(self) -> None:
        while self._text() in ("+", "-", "~"):
            self.index += 1
        token = self.tokens[self.index] if self.index < len(self.tokens) else None
        if token is None or token.upper in _NOT_AN_OPERAND or (token.kind == "symbol" and token.text != "("):
            position = token.start if token else self.tokens[-1].end if self.tokens else 0
            self._refuse(f"The time after {self.clause} is missing or unfinished", position)
        if token.text == "(":
            self._pass_over("(")
        elif token.kind == "number":
            self.index += 1
        elif token.kind == "string":
            self._strings()
        else:
            self._named(token)
        self._postfixes()

    def _named(self, token: Token) -> None:
        self.index += 1
        after = self.tokens[self.index] if self.index < len(self.tokens) else None
        if token.upper == "CASE":
            self.index -= 1
            self._pass_over("CASE")
        elif after is not None and after.text == "(":
            self._pass_over("(")
        elif after is not None and after.kind == "string" and token.upper in LITERAL_TYPES | {"X"}:
            self._strings()
        elif token.upper == "INTERVAL" and after is not None and self._is_amount():
            self._interval()
        elif token.upper not in _CONSTANTS or (after is not None and after.text == "."):
            while self._text() == "." and self.index + 1 < len(self.tokens):
                self.index += 2
            name = self.sql[token.start : self.tokens[self.index - 1].end]
            raise SqlRefused(*column_refused(self.clause, name), self.sql, token.start)

    def _postfixes(self) -> None:
        """Move past casts, subscripts and fields behind an operand."""
        while (text := self._text()) in ("::", "[", ".", "COLLATE"):
            if text == "[":
                self._pass_over("[")
                continue
            self.index += 2
            if text == "::":
                if self._text() == "(":
                    self._pass_over("(")
                for words in (("WITH", "LOCAL", "TIME", "ZONE"), ("WITHOUT", "TIME", "ZONE")):
                    end = self.index + len(words)
                    if tuple(each.upper for each in self.tokens[self.index : end]) == words:
                        self.index = end

    def _strings(self) -> None:
        """Move past adjacent strings, which Spark joins."""
        while self.index < len(self.tokens) and self.tokens[self.index].kind == "string":
            self.index += 1

    def _interval(self) -> None:
        """Move past amounts with their units; an amount in quotes may contain them."""
        while self._is_amount():
            self.index += 2 if self._text() in ("+", "-") else 1
            if self._text() not in _UNITS:
                return
            self.index += 1
            if self._text() == "TO":
                self.index += 2
                return
            if not self._is_amount() or not self._has_unit():
                return

    def _is_amount(self) -> bool:
        index = self.index + (self._text() in ("+", "-"))
        return index < len(self.tokens) and self.tokens[index].kind in ("string", "number")

    def _has_unit(self) -> bool:
        """Whether the amount here is one more of the interval, and not that of a sum."""
        behind = self.index + (self._text() in ("+", "-")) + 1
        return behind < len(self.tokens) and self.tokens[behind].upper in _UNITS

    def _pass_over(self, opening: str) -> None:
        """Move past what closes the token here."""
        first = self.tokens[self.index]
        waiting = [_CLOSING[opening]]
        self.index += 1
        while waiting:
            if self.index >= len(self.tokens):
                self._refuse(
                    f"This {'CASE' if opening == 'CASE' else 'parenthesis'} is not closed", first.start
                )
            token, text = self.tokens[self.index], self._text()
            if text in _QUERY_STARTS and self.tokens[self.index - 1].text == "(":
                raise SqlRefused(*QUERY, self.sql, token.start)
            if text == waiting[-1]:
                waiting.pop()
            elif text in _CLOSING:
                waiting.append(_CLOSING[text])
            self.index += 1

    def _text(self) -> str:
        """The symbol or the word in upper case that is next; empty for others and at the end."""
        if self.index >= len(self.tokens):
            return ""
        token = self.tokens[self.index]
        return token.text if token.kind == "symbol" else token.upper

    def _refuse(self, reason: str, position: int) -> NoReturn:
        raise SqlRefused(reason, CONSTANT_HINT, self.sql, position)
