"""Parse `CALL sys.create_tag(table => 'shop.orders', name => 'v1')`: procedure and arguments, with positions.

Arguments are literals, named or positional; positional ones come first, as in Spark.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from paimark.core.travel.parse.statement import SqlRefused, SqlText, Statement, TokenCursor

SCHEMA = "sys"
ArgumentValue = str | int | bool | None

_WHOLE = re.compile(r"([0-9]{1,18})L?", re.IGNORECASE)
_WORDS: dict[str, ArgumentValue] = {"TRUE": True, "FALSE": False, "NULL": None}
_FORM = "A whole one is CALL sys.create_savepoint(table => 'db.t')."
_LITERALS = "An argument is a text in quotes, a whole number, true, false or NULL."


@dataclass(frozen=True, slots=True)
class CallArgument:
    """`name` is lower case, None for a positional argument. Positions are character offsets."""

    name: str | None
    value: ArgumentValue
    position: int
    value_position: int


@dataclass(frozen=True, slots=True)
class ProcedureCall(SqlText):
    """`procedure` is its name after `sys.`, lower case; `end` is the position of the closing parenthesis."""

    procedure: str
    position: int
    arguments: tuple[CallArgument, ...]
    end: int


def read_call(statement: Statement) -> ProcedureCall:
    """Parse a statement that begins with CALL. Raises `SqlRefused`, with its position, if it is not valid."""
    return _CallReader.of(statement, 1).read()


class _CallReader(TokenCursor):
    def read(self) -> ProcedureCall:
        position = self.position
        if not self.is_name(self.index):
            self.refuse("The name of a procedure is missing", _FORM)
        parts, self.index = self.read_name(self.index)
        if len(parts) != 2 or parts[0].lower() != SCHEMA:
            name = parts[-1].lower()
            hint = f"Procedures are in {SCHEMA}: CALL {SCHEMA}.{name}(...)." if name != SCHEMA else _FORM
            raise SqlRefused(f"There is no procedure {'.'.join(parts)}", hint, self.sql, position)
        self._expect("(", f"( must follow {SCHEMA}.{parts[1]}")
        arguments: list[CallArgument] = []
        while self._text() != ")":
            if arguments:
                self._expect(",", "A comma or ) is missing")
            arguments.append(self._argument(after_name=bool(arguments and arguments[-1].name)))
        end = self.position
        self.index += 1
        if self._text():
            self.refuse("Nothing can follow the procedure's )", _FORM)
        return ProcedureCall(self.sql, parts[1].lower(), position, tuple(arguments), end)

    def _argument(self, *, after_name: bool) -> CallArgument:
        position, name = self.position, None
        if self.is_name(self.index) and self.text(self.index + 1) == "=>":
            name = self.tokens[self.index].value.lower()
            self.index += 2
        elif after_name:
            self.refuse("An argument without a name can't follow one with a name", "Name it too: name => ...")
        value_position = self.position
        return CallArgument(name, self._value(), position, value_position)

    def _value(self) -> ArgumentValue:
        sign = self._text() if self._text() in ("-", "+") else ""
        self.index += bool(sign)
        if not sign and self._word() in ("TIMESTAMP", "DATE") and self._kind(1) == "string":
            self.index += 1
        kind, word, text = self._kind(), self._word(), self._text()
        number = _WHOLE.fullmatch(text) if kind == "number" else None
        self.index += 1
        if number:
            return -int(number[1]) if sign == "-" else int(number[1])
        if kind == "string" and not sign:
            return self.tokens[self.index - 1].value
        if word in _WORDS and not sign:
            return _WORDS[word]
        self.index -= 1
        self.refuse(f"{text} is not a literal" if text else "A value is missing", _LITERALS)

    def _expect(self, symbol: str, otherwise: str) -> None:
        if self._text() != symbol:
            self.refuse(otherwise, _FORM)
        self.index += 1

    def _text(self) -> str:
        return self.text(self.index)

    def _word(self) -> str:
        return self.upper(self.index)

    def _kind(self, ahead: int = 0) -> str:
        index = self.index + ahead
        return self.tokens[index].kind if index < len(self.tokens) else ""
