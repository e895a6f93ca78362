"""Parse the text of the `/` line: words that a row must contain, and conditions on columns by name.

`price>10`, `name=x`, `name!=x`, `name~part` and plain words, separated by blanks: a row is shown if all of
them are true, or with `!` in front if not all are. In double quotes blanks and signs are text.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from typing import Any

from paimark.core.durations import parse_duration
from paimark.core.errors import Refused, UsageError
from paimark.core.figures import clock_time
from paimark.core.text import clean_text
from paimark.tui.formats import LONGEST, whole_text
from paimark.tui.named_keys import columns_key
from paimark.tui.records.sources import GridColumn, RowSource, ShortText
from paimark.tui.widgets.grid.paint import cell_text

# Whether a value of a column matches; None is a missing value.
Test = Callable[[object], bool]
Compare = Callable[[Any, Any], bool]

_TOKEN = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_CONDITION = re.compile(r'("[^"]+"|[^\s"<>=!~]+)(>=|<=|!=|>|<|=|~)(.*)', re.DOTALL)
_COMPARE: Mapping[str, Compare] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
}
_IN_DECIMALS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_SIZE = re.compile(r"([0-9.,_]+)\s*([kmgt]?b?)", re.IGNORECASE)
_TIME = re.compile(r"\d{1,4}(-\d{0,2}(-\d{0,2}( [\d:.]*)?)?)?")
# The number of rows that are searched for a value of a column, which tells its type.
_SAMPLED = 200
_MISSING = "null"


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of the values in the column at an index."""

    column: int
    test: Test


@dataclass(frozen=True, slots=True)
class RowFilter:
    """`words` are casefolded, and are searched for in the displayed text of all cells."""

    words: Sequence[str] = ()
    conditions: Sequence[Condition] = ()
    inverse: bool = False

    @property
    def lets_all_through(self) -> bool:
        return not self.words and not self.conditions

    def matches(self, row: Sequence[object], columns: Sequence[GridColumn], now_ms: int) -> bool:
        return self._holds(row, columns, now_ms) is not self.inverse

    def _holds(self, row: Sequence[object], columns: Sequence[GridColumn], now_ms: int) -> bool:
        if not all(each.test(row[each.column]) for each in self.conditions):
            return False
        if not self.words:
            return True
        cells = zip(columns, row, strict=True)
        line = "\x00".join(text for column, value in cells for text in _texts(column, value, now_ms))
        return all(word in line for word in self.words)


def _texts(column: GridColumn, value: object, now_ms: int) -> tuple[str, ...]:
    """What a cell shows, and whatever the cell has no room for; casefolded."""
    shown = cell_text(column, value, now_ms).casefold()
    if isinstance(value, ShortText):
        return shown, *(name.casefold() for name in value.names)
    return (shown, clean_text(whole_text(value)).casefold()) if len(shown) >= LONGEST else (shown,)


def plain_words(text: str) -> RowFilter:
    """The filter of a text in which signs have no meaning: it consists of words only."""
    return RowFilter(text.removeprefix("!").casefold().split(), inverse=text.startswith("!"))


def read_filter(text: str, columns: Sequence[GridColumn], source: RowSource, now_ms: int) -> RowFilter:
    """Parse the text of a filter for these rows. A condition without a value is ignored: it is being typed.

    Raises `Refused` for an unknown column, and for a comparison that does not fit the column's values.
    """
    words: list[str] = []
    conditions: list[Condition] = []
    for token in _TOKEN.findall(text.removeprefix("!")):
        parts = _CONDITION.fullmatch(token)
        if parts is None:
            words += [word] if (word := token.replace('"', "").casefold()) else []
            continue
        name, sign, typed = parts[1].strip('"'), parts[2], parts[3]
        index = _index_of(name, columns)
        if typed:
            test = _test(columns[index], index, sign, typed.replace('"', ""), source, now_ms)
            conditions.append(Condition(index, test))
    return RowFilter(words, conditions, text.startswith("!"))


def _index_of(name: str, columns: Sequence[GridColumn]) -> int:
    names = {_plain(column.title): index for index, column in reversed([*enumerate(columns)]) if column.title}
    index = names.get(_plain(name))
    if index is not None:
        return index
    near = get_close_matches(_plain(name), names, n=1)
    hint = f"Did you mean {columns[names[near[0]]].title}?" if near else f"{columns_key()} lists the columns."
    raise Refused(f"There is no column {name}", f'{hint} In double quotes it is text: "{name}…"')


def _plain(name: str) -> str:
    return name.casefold().replace(" ", "_")


def _test(column: GridColumn, index: int, sign: str, typed: str, source: RowSource, now_ms: int) -> Test:
    if sign == "~":
        part = typed.casefold()
        return lambda value: any(part in text for text in _texts(column, value, now_ms))
    if typed.casefold() == _MISSING and sign in ("=", "!="):
        return lambda value: (value is None) is (sign == "=")
    compare = _COMPARE[sign]
    if column.kind == "age":
        return _age_test(column, compare, sign, typed, now_ms)
    sample = _sample(source, index)
    if column.kind == "time":
        return _time_test(column, compare, typed, lambda value: clock_time(int(str(value))))
    if isinstance(sample, date):
        return _time_test(column, compare, typed, str)
    if _is_number(sample) or (sample is None and column.right):
        return _number_test(column, compare, typed)
    if sign in ("=", "!="):
        text = typed.casefold()
        holds = any if sign == "=" else all
        return lambda value: (
            value is not None and holds(compare(each, text) for each in _texts(column, value, now_ms))
        )
    raise Refused(
        f"{column.title} holds no numbers, so nothing is {'more' if sign[0] == '>' else 'less'} than {typed}",
        f"Write {column.title}={typed} for that value, or {column.title}~{typed} for a part of it.",
    )


def _sample(source: RowSource, index: int) -> object:
    """The first value of a column that is not missing."""
    values = (source.row(each)[index] for each in range(min(len(source), _SAMPLED)))
    return next((value for value in values if value is not None), None)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _number_test(column: GridColumn, compare: Compare, typed: str) -> Test:
    exact = _number(typed, column)
    rounded = float(exact)

    def test(value: object) -> bool:
        if not _is_number(value):
            return False
        # The double 0.1 is not equal to the decimal 0.1.
        return compare(value, rounded if isinstance(value, float) else exact)

    return test


def _number(typed: str, column: GridColumn) -> Decimal:
    parts = _SIZE.fullmatch(typed) if column.kind == "bytes" else None
    text, unit = (parts[1], _IN_DECIMALS[parts[2].lower()]) if parts else (typed, 1)
    with suppress(InvalidOperation, KeyError):
        number = Decimal(text.replace(",", "").replace("_", "")) * unit
        if number.is_finite():
            return number
    like = "10 or 1.5 MB" if column.kind == "bytes" else "10 or -1.5"
    raise Refused(f"{column.title} holds numbers, and {typed} is none", f"Write a number like {like}.")


def _time_test(
    column: GridColumn,
    compare: Compare,
    typed: str,
    written: Callable[[object], str],
) -> Test:
    """Compare only the part that was typed: `>2026-05-01` is after that day, `=2026-05` within that month."""
    prefix = typed.replace("T", " ")
    if not _TIME.fullmatch(prefix):
        raise Refused(
            f"{column.title} holds times, and {typed} is none",
            'Write it like 2026-05-01 or "2026-05-01 12:30".',
        )
    return lambda value: value is not None and compare(written(value)[: len(prefix)], prefix)


def _age_test(column: GridColumn, compare: Compare, sign: str, typed: str, now_ms: int) -> Test:
    try:
        length = parse_duration(typed)
    except UsageError as error:
        raise Refused(
            f"{column.title} holds ages, and {typed} is none",
            f"Write it like {column.title}{sign}2h or 30min.",
        ) from error
    return lambda value: _is_number(value) and compare(now_ms - int(str(value)), length)
