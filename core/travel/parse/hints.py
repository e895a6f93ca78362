"""Parse table options in a statement that name one state: Flink's and Spark's ways to write them.

    t /*+ OPTIONS('scan.snapshot-id' = '12') */     SELECT /*+ OPTIONS('scan.tag-name', 'x') */ * FROM t
    t WITH ('scan.timestamp' = '2026-05-01 00:00:00')

All other options are refused by name: nothing here obeys them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.tokens import Token
from paimark.core.travel.parse.uses import Clause

_STATES = ("scan.snapshot-id", "scan.tag-name", "scan.version", "scan.timestamp", "scan.timestamp-millis")
_HINT = (
    "Name the state to read by VERSION AS OF or TIMESTAMP AS OF, and a branch in the name: `t$branch_b`. Of "
    f"options one of these is obeyed: {', '.join(_STATES)}."
)
_FORM = "Write it directly behind the table's name, alone: t /*+ OPTIONS('scan.snapshot-id' = '12') */."


class Option(NamedTuple):
    """One option with the token of its value. `position` is that of its name."""

    name: str
    value: str
    token: Token
    position: int


def is_options(tokens: Sequence[Token], index: int) -> bool:
    """Whether a hint opens at `index` that has options, alone or among others."""
    if index >= len(tokens) or tokens[index].text != "/*+":
        return False
    end = _hint_end(tokens, index)
    return any(
        token.upper == "OPTIONS" and tokens[place].text == "("
        for place, token in enumerate(tokens[index:end], start=index + 1)
        if place < len(tokens)
    )


def read_hint(sql: str, tokens: Sequence[Token], index: int) -> tuple[Clause, int]:
    """The clause of the hint that opens at `index`, and the index after it. Raises `SqlRefused`."""
    if tokens[index + 1].upper != "OPTIONS":
        refuse_hint(sql, tokens, index)
    reader = _Options(sql, tokens, index + 2)
    options = reader.read()
    if reader.text != "*/":
        refuse_hint(sql, tokens, index)
    end = reader.index + 1
    return _clause(sql, options, (tokens[index].start, tokens[end - 1].end)), end


def read_with(sql: str, tokens: Sequence[Token], index: int) -> tuple[Clause, int]:
    """The clause of the `WITH (...)` at `index`, and the index after it. Raises `SqlRefused`."""
    reader = _Options(sql, tokens, index + 1)
    options = reader.read()
    return _clause(sql, options, (tokens[index].start, tokens[reader.index - 1].end)), reader.index


def refuse_hint(
    sql: str, tokens: Sequence[Token], index: int, reason: str = "is not obeyed here"
) -> NoReturn:
    """Raises `SqlRefused` for the hint with options that opens at `index`."""
    raise SqlRefused(f"The hint OPTIONS {reason}", _FORM, sql, tokens[index].start)


def _hint_end(tokens: Sequence[Token], index: int) -> int:
    while index < len(tokens) and tokens[index].text != "*/":
        index += 1
    return index


def _clause(sql: str, options: Sequence[Option], span: tuple[int, int]) -> Clause:
    """The clause that the options stand for."""
    for option in options:
        if option.name not in _STATES:
            raise SqlRefused(f"The option {option.name} is not obeyed here", _HINT, sql, option.position)
    if len(options) > 1:
        names = " and ".join(option.name for option in options)
        raise SqlRefused(
            f"{names} each name the state to read", "Give one of them.", sql, options[1].position
        )
    (option,) = options
    if option.name == "scan.timestamp":
        if option.token.kind != "string":
            raise SqlRefused("scan.timestamp is a text", "Write it in quotes.", sql, option.token.start)
        return Clause(option.name, span, time_span=(option.token.start, option.token.end))
    if option.name == "scan.timestamp-millis":
        if not option.value.lstrip("-").isdecimal():
            raise SqlRefused(
                "scan.timestamp-millis is a number of milliseconds",
                "It counts from 1970 in UTC.",
                sql,
                option.token.start,
            )
        return Clause(option.name, span, time_ms=int(option.value))
    version = as_snapshot(option.value) if option.name == "scan.snapshot-id" else option.value
    return Clause(option.name, span, version=version, is_tag=option.name == "scan.tag-name")


def as_snapshot(text: str) -> str:
    """The version that `scan.snapshot-id` names: a number is a snapshot id, even if a tag has that name."""
    return f"snapshot.{text}" if text.isdecimal() else text


class _Options:
    """Reads `('name' = 'value', ...)`, also with commas in the pairs, and without quotes."""

    def __init__(self, sql: str, tokens: Sequence[Token], index: int) -> None:
        self.sql = sql
        self.tokens = tokens
        self.index = index

    def read(self) -> list[Option]:
        self._expect("(")
        options: list[Option] = []
        while not options or self.text == ",":
            self.index += bool(options)
            options.append(self._option())
        self._expect(")")
        return options

    def _option(self) -> Option:
        first, name = self._word()
        if self.text not in ("=", ","):
            self._refuse()
        self.index += 1
        token, value = self._word()
        return Option(name.strip().lower(), value.strip(), token, first.start)

    def _word(self) -> tuple[Token, str]:
        """The token and the text of a quoted text, a number, or words with dots between them."""
        token = self.tokens[self.index] if self.index < len(self.tokens) else None
        if token is None or token.kind == "symbol" or not token.is_closed:
            self._refuse()
        self.index += 1
        text = token.value
        while token.is_name and self.text == "." and self.index + 1 < len(self.tokens):
            text += f".{self.tokens[self.index + 1].value}"
            self.index += 2
        return token, text

    @property
    def text(self) -> str:
        return self.tokens[self.index].text if self.index < len(self.tokens) else ""

    def _expect(self, text: str) -> None:
        if self.text != text:
            self._refuse()
        self.index += 1

    def _refuse(self) -> NoReturn:
        token = self.tokens[self.index] if self.index < len(self.tokens) else self.tokens[-1]
        raise SqlRefused(
            "Options are pairs of names and values in quotes",
            "Write OPTIONS('scan.snapshot-id' = '12').",
            self.sql,
            token.start,
        )
