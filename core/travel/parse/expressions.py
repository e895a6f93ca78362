"""Parse the expression after `AS OF` from a statement's tokens, up to its end.

It parses the usual parts of a time: literals, intervals, function calls, casts, `+ - *` and parentheses. The
rest of Spark's grammar becomes `Opaque`, which Spark evaluates. Columns and queries are refused with their
position, because they can't be constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.tokens import Token, keywords

CONSTANT_HINT = (
    "The time is a constant: a literal, CURRENT_TIMESTAMP or now(), intervals added or taken away, and "
    "functions of these."
)
LITERAL_TYPES = keywords("DATE TIMESTAMP TIMESTAMP_LTZ TIMESTAMP_NTZ")
INTERVAL_UNITS = frozenset(
    unit + plural
    for unit in keywords("NANOSECOND MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH YEAR")
    for plural in ("", "S")
)
_NAMED_TIMES = keywords("CURRENT_TIMESTAMP CURRENT_DATE LOCALTIMESTAMP")
_QUERY_STARTS = keywords("SELECT WITH FROM VALUES TABLE")
_PRODUCTS = keywords("* / %")
# Operators of lower precedence than a sum.
_LOOSE = keywords("|| | & ^ << >>")
_COMPARISONS = keywords("= == < > <= >= <> != <=> => ->")
_CONSTANT_WORDS = keywords("NULL TRUE FALSE")
# Words that can't begin an operand: after them the time is missing, not a column of that name.
_NOT_AN_OPERAND = keywords(
    """AND AS CROSS EXCEPT FOR FROM FULL GROUP HAVING INNER INTERSECT JOIN LATERAL LEFT LIMIT MINUS NATURAL
    OFFSET ON OR ORDER PIVOT RIGHT SELECT SEMI TABLESAMPLE UNION UNPIVOT USING WHERE WINDOW WITH"""
)


@dataclass(frozen=True, slots=True)
class Literal:
    """`type` is DATE, TIMESTAMP, TIMESTAMP_LTZ or TIMESTAMP_NTZ; empty for an untyped string."""

    type: str
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Number:
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Interval:
    """Amounts with their units as written: `[("1", "DAY")]`. The unit is empty if the amount contains it:
    `[("1 day 2 hours", "")]`. `[("1-2", "YEAR TO MONTH")]` is a range."""

    amounts: tuple[tuple[str, str], ...]
    position: int


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """`function` is in upper case. A cast is a call of the type's name with `is_cast`. An empty name cuts the
    digits after the second."""

    function: str
    arguments: tuple[Expression, ...]
    position: int
    is_cast: bool = False


@dataclass(frozen=True, slots=True)
class OperatorExpression:
    """`left` is None for a unary sign."""

    operator: str
    left: Expression | None
    right: Expression
    position: int


@dataclass(frozen=True, slots=True)
class Opaque:
    """An expression that only Spark evaluates. `text` is its beginning, for messages."""

    text: str
    position: int


Expression = Literal | Number | Interval | FunctionCall | OperatorExpression | Opaque


class _MaybeMore(SqlRefused):
    """Refused at the top level. Between parentheses it is caught: it may be valid grammar of Spark."""


def column_refused(clause: str, name: str) -> tuple[str, str]:
    """The message and the hint for a column in a time."""
    return f"{clause} {name} names a column: that is a temporal join, not time travel", CONSTANT_HINT


class ExpressionReader:
    """Parses one expression from `tokens[index:]`; afterwards `index` is the first token after it.

    `clause` are the words before the expression, for messages.
    """

    def __init__(self, sql: str, tokens: Sequence[Token], index: int, clause: str) -> None:
        self.sql = sql
        self.tokens = tokens
        self.index = index
        self.clause = clause

    def read(self) -> Expression:
        expression = self._whole()
        token = self._peek()
        if token is not None and token.text in _COMPARISONS:
            self._refuse(f"`{token.text}` can't be used in the time after {self.clause}", token.start)
        return expression

    def _whole(self) -> Expression:
        left = self._sum()
        while (token := self._peek()) is not None and (token.text in _LOOSE or token.upper == "COLLATE"):
            self.index += 1
            self._sum() if token.text in _LOOSE else self._next()
            left = Opaque(token.text, token.start)
        return left

    def _sum(self) -> Expression:
        left = self._product()
        while (token := self._peek()) is not None and token.text in ("+", "-"):
            self.index += 1
            left = OperatorExpression(token.text, left, self._product(), token.start)
        return left

    def _product(self) -> Expression:
        left = self._signed()
        while (token := self._peek()) is not None and (token.text in _PRODUCTS or token.upper == "DIV"):
            self.index += 1
            left = OperatorExpression(token.text.upper(), left, self._signed(), token.start)
        return left

    def _signed(self) -> Expression:
        token = self._next()
        if token.text in ("+", "-"):
            return OperatorExpression(token.text, None, self._signed(), token.start)
        operand = self._operand(token)
        while (after := self._peek()) is not None and after.text in ("::", "[", "."):
            self.index += 1
            if after.text == "::":
                operand = self._cast(operand, after)
                continue
            if after.text == "[":
                self._pass_over("]", after)
            else:
                self._next()
            operand = Opaque(after.text, after.start)
        return operand

    def _operand(self, token: Token) -> Expression:
        if token.kind == "number":
            return Number(token.text, token.start)
        if token.kind == "string":
            return Literal("", self._joined_strings(token), token.start)
        if token.text == "(":
            return self._parenthesised(token)
        if token.kind == "quoted" or (token.kind == "word" and token.upper not in _NOT_AN_OPERAND):
            return self._named(token)
        self._missing(token.start)

    def _parenthesised(self, opening: Token) -> Expression:
        start, first = self.index, self._peek()
        if first is not None and first.upper in _QUERY_STARTS:
            self._refuse_query(first)
        with suppress(_MaybeMore):
            inner = self._whole()
            if (after := self._peek()) is not None and after.text == ")":
                self.index += 1
                return inner
        self.index = start
        self._pass_over(")", opening)
        return Opaque("(", opening.start)

    def _named(self, token: Token) -> Expression:
        word, after = token.upper, self._peek()
        if after is not None:
            if word in LITERAL_TYPES and after.kind == "string":
                self.index += 1
                return Literal(word, after.value, token.start)
            if word == "INTERVAL" and (after.kind in ("string", "number") or after.text in ("+", "-")):
                return self._interval(token)
            if after.text == "(":
                self.index += 1
                return self._call(token, after)
            if word == "X" and after.kind == "string":
                self.index += 1
                return Opaque(self.sql[token.start : after.end], token.start)
        if word == "CASE":
            self._pass_over("END", token)
            return Opaque(token.text, token.start)
        if word in _CONSTANT_WORDS and (after is None or after.text != "."):
            return Opaque(word, token.start)
        if word in _NAMED_TIMES and (after is None or after.text != "."):
            return FunctionCall(word, (), token.start)
        self._column(token)

    def _column(self, token: Token) -> NoReturn:
        end, is_dotted = token.end, False
        while (dot := self._peek()) is not None and dot.text == "." and self.index + 1 < len(self.tokens):
            end, is_dotted = self.tokens[self.index + 1].end, True
            self.index += 2
        # Between parentheses a plain word may be a keyword: TIMESTAMPADD(DAY, ...).
        kind = SqlRefused if is_dotted or token.kind == "quoted" else _MaybeMore
        raise kind(*column_refused(self.clause, self.sql[token.start : end]), self.sql, token.start)

    def _call(self, name: Token, opening: Token) -> Expression:
        start, function = self.index, name.value.upper()
        try:
            return self._read_call(function, name)
        except _MaybeMore:
            self.index = start
            self._pass_over(")", opening)
            return Opaque(f"{name.text}(...)", name.start)

    def _read_call(self, function: str, name: Token) -> Expression:
        """Raises `_MaybeMore` if the arguments are not only expressions between commas."""
        arguments: list[Expression] = []
        if (after := self._peek()) is not None and after.text == ")":
            self.index += 1
            return FunctionCall(function, (), name.start)
        while True:
            arguments.append(self._whole())
            after = self._next()
            if function in ("CAST", "TRY_CAST") and after.upper == "AS":
                cast = self._cast(arguments[0], name)
                if self._next().text != ")":
                    raise _MaybeMore("The type is not read to its end", CONSTANT_HINT, self.sql, name.start)
                return cast
            if after.text == ")":
                return FunctionCall(function, tuple(arguments), name.start)
            if after.text != ",":
                reason = f"`{after.text}` is not expected in {name.text}(...)"
                raise _MaybeMore(reason, CONSTANT_HINT, self.sql, after.start)

    def _cast(self, operand: Expression, at: Token) -> Expression:
        """Read the type at the cursor, and return a cast of `operand` to it."""
        token = self._next()
        name = token.upper
        digits = self._type_digits()
        if name == "TIMESTAMP" and self._takes("WITH", "LOCAL", "TIME", "ZONE"):
            name = "TIMESTAMP_LTZ"
        elif name == "TIMESTAMP" and self._takes("WITHOUT", "TIME", "ZONE"):
            name = "TIMESTAMP_NTZ"
        if name not in LITERAL_TYPES:
            return Opaque(f"a cast to {token.text}", at.start)
        whole = FunctionCall(name, (operand,), at.start, is_cast=True)
        return whole if digits is None else FunctionCall("", (whole, Number(digits, token.start)), at.start)

    def _type_digits(self) -> str | None:
        """Move past the parentheses after a type, and return the number in them; None without parentheses."""
        opening = self._peek()
        if opening is None or opening.text != "(":
            return None
        self.index += 1
        first = self._peek()
        self._pass_over(")", opening)
        return first.text if first is not None and first.kind == "number" else None

    def _takes(self, *words: str) -> bool:
        upcoming = [token.upper for token in self.tokens[self.index : self.index + len(words)]]
        if upcoming != list(words):
            return False
        self.index += len(words)
        return True

    def _pass_over(self, closing: str, opening: Token) -> None:
        """Move past the `closing` that matches `opening`; the cursor is after `opening`."""
        pairs = {")": "(", "]": "[", "END": "CASE"}
        waiting = [closing]
        while waiting:
            token = self._peek()
            if token is None:
                what = "CASE" if closing == "END" else "parenthesis"
                self._refuse(f"This {what} is not closed", opening.start)
            self.index += 1
            if token.upper == "SELECT":
                self._refuse_query(token)
            text = token.upper or token.text
            if text == waiting[-1]:
                waiting.pop()
            else:
                waiting += [end for end, begin in pairs.items() if text == begin]

    def _refuse_query(self, token: Token) -> NoReturn:
        self._refuse("A query can't give the time of a time travel", token.start)

    def _interval(self, keyword: Token) -> Expression:
        amounts: list[tuple[str, str]] = []
        while (amount := self._amount()) is not None:
            unit = self._unit()
            amounts.append((amount, unit))
            if not unit or " TO " in unit:
                break
        if not amounts:
            self._refuse("INTERVAL must be followed by an amount", keyword.start)
        return Interval(tuple(amounts), keyword.start)

    def _amount(self) -> str | None:
        """Read a number or string with its sign; None if there is none, or if a later amount has no unit."""
        ahead, sign = self.index, ""
        if ahead < len(self.tokens) and self.tokens[ahead].text in ("+", "-"):
            sign, ahead = self.tokens[ahead].text, ahead + 1
        if ahead >= len(self.tokens) or self.tokens[ahead].kind not in ("number", "string"):
            return None
        started = self.tokens[self.index - 1].upper == "INTERVAL"
        has_unit = ahead + 1 < len(self.tokens) and self.tokens[ahead + 1].upper in INTERVAL_UNITS
        if not started and not has_unit:
            return None
        self.index = ahead + 1
        text = self.tokens[ahead].value.strip()
        if sign == "-":
            return text[1:] if text.startswith("-") else f"-{text.removeprefix('+')}"
        return text

    def _unit(self) -> str:
        first = self._peek()
        text = self.tokens[self.index - 1].value
        names_units = any(letter.isalpha() for letter in text)
        if first is None or first.upper not in INTERVAL_UNITS or names_units:
            if not names_units:
                self._refuse(f"INTERVAL {text} has no unit", self.tokens[self.index - 1].start)
            return ""
        self.index += 1
        if (to := self._peek()) is not None and to.upper == "TO":
            self.index += 1
            last = self._next()
            if last.upper not in INTERVAL_UNITS:
                self._refuse(f"{last.text} is not a unit of time", last.start)
            return f"{first.upper} TO {last.upper}"
        return first.upper

    def _joined_strings(self, first: Token) -> str:
        """Join adjacent strings to one, as Spark does."""
        text = first.value
        while (token := self._peek()) is not None and token.kind == "string":
            text += token.value
            self.index += 1
        return text

    def _peek(self) -> Token | None:
        return self.tokens[self.index] if self.index < len(self.tokens) else None

    def _next(self) -> Token:
        token = self._peek()
        if token is None:
            self._missing(self.tokens[-1].end if self.tokens else 0)
        self.index += 1
        return token

    def _missing(self, position: int) -> NoReturn:
        self._refuse(f"The time after {self.clause} is missing or unfinished", position)

    def _refuse(self, reason: str, position: int) -> NoReturn:
        raise SqlRefused(reason, CONSTANT_HINT, self.sql, position)
