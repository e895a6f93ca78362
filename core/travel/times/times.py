"""Evaluate the constant expression after `AS OF` to epoch milliseconds.

The values are Spark's: a point in time, a local time without zone, a date, a number, a string, an interval.
A plain number counts seconds since 1970, as in Spark and Paimon's documentation (`timestamp_millis(n)` takes
milliseconds). A time without zone is in the session's zone. The caller passes the current time, one per
statement.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from itertools import islice
from typing import Any, NoReturn, TypeVar

from paimark.core.travel.parse.errors import SqlRefused, too_deep
from paimark.core.travel.parse.expressions import (
    CONSTANT_HINT,
    Expression,
    ExpressionReader,
    FunctionCall,
    Interval,
    Literal,
    Number,
    Opaque,
    OperatorExpression,
)
from paimark.core.travel.parse.tokens import Span, tokenize
from paimark.core.travel.times.intervals import Duration, read_interval
from paimark.core.travel.times.literals import read_date, read_timestamp
from paimark.core.travel.times.zones import epoch_ms, from_epoch, instant, shifted, zone_of

T = TypeVar("T")
# A datetime with a zone is a point in time, one without is a local time. datetime is a subclass of date, so a
# check for datetime must come before one for date.
Constant = datetime | date | Decimal | str | Duration

_NUMBER_SUFFIX = "LSYFDBlsyfdb"
_PER_SECOND = {"TIMESTAMP_SECONDS": 1, "TIMESTAMP_MILLIS": 1_000, "TIMESTAMP_MICROS": 1_000_000}
# Numbers of more digits are far outside the calendar, and would take time to compute with.
_MOST_DIGITS = 30
_MOST_FRACTION = 9
_LAST_SECOND = 253_402_300_799
_CASTS = {
    "TO_TIMESTAMP": "TIMESTAMP",
    "TO_TIMESTAMP_LTZ": "TIMESTAMP_LTZ",
    "TO_TIMESTAMP_NTZ": "TIMESTAMP_NTZ",
    "TO_DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "DATE": "DATE",
}
_FIELD_STARTS = {"microsecond": 0, "second": 0, "minute": 0, "hour": 0, "day": 1, "month": 1}
# How many of these fields each unit of date_trunc resets.
_FIELDS_BELOW = {
    "SECOND": 1,
    "MINUTE": 2,
    "HOUR": 3,
    "DAY": 4,
    "WEEK": 4,
    "MONTH": 5,
    "QUARTER": 5,
    "YEAR": 6,
}


class NeedsSpark(SqlRefused):
    """A time that is not evaluated here, but that Spark may evaluate to a constant."""


def fold_time(
    sql: str, *, now_ms: int, zone: tzinfo | str, span: Span | None = None, clause: str = "AS OF"
) -> int:
    """Evaluate the constant expression `sql[span]` to epoch milliseconds, rounded down.

    `zone` is the session's time zone; `clause` are the words before the expression, for messages. Raises
    `SqlRefused` with the position in `sql` (`NeedsSpark` if Spark may be able to evaluate it), and
    `ValueError` if `zone` is not a time zone.
    """
    start, end = span or (0, len(sql))
    tokens = tokenize(sql, start, end)
    reader = ExpressionReader(sql, tokens, 0, clause)
    folder = _Folder(sql, from_epoch(milliseconds=now_ms), zone_of(zone) if isinstance(zone, str) else zone)
    try:
        expression = reader.read()
        if reader.index < len(tokens):
            extra = tokens[reader.index]
            raise SqlRefused(f"`{extra.text}` is not expected in the time", CONSTANT_HINT, sql, extra.start)
        return folder.fold(expression)
    except RecursionError as error:
        raise too_deep(sql, start) from error


class _Folder:
    def __init__(self, sql: str, now: datetime, zone: tzinfo) -> None:
        self.sql = sql
        self.now = now
        self.zone = zone
        self.today = now.astimezone(zone).date()

    def fold(self, expression: Expression) -> int:
        if isinstance(expression, Opaque) and expression.text == "NULL":
            self._refuse("The time is NULL", expression)
        return epoch_ms(self._try(expression, lambda: self._moment(self._value(expression))))

    def _try(self, at: Expression, compute: Callable[[], T]) -> T:
        """Run `compute`. Refuse an invalid value, or one outside the calendar, with its position."""
        try:
            return compute()
        except OverflowError:
            self._refuse("The time is outside the years 1 to 9999", at)
        except ValueError as error:
            self._refuse(str(error), at)

    def _value(self, expression: Expression) -> Constant:
        return self._try(expression, lambda: self._unchecked(expression))

    def _unchecked(self, expression: Expression) -> Constant:
        match expression:
            case Literal(type="", text=text):
                return text
            case Literal(type=kind, text=text):
                return self._cast(text, kind)
            case Number(text=text):
                return self._number(text)
            case Interval(amounts=amounts):
                return read_interval(amounts)
            case FunctionCall():
                return self._call(expression)
            case OperatorExpression():
                return self._operation(expression)
            case Opaque(text=text):
                self._leave(f"`{text}`", expression)

    def _number(self, text: str) -> Decimal:
        number = Decimal(text.rstrip(_NUMBER_SUFFIX))
        if number.adjusted() > _MOST_DIGITS:
            raise ValueError(f"{text} is too large")
        return number

    def _moment(self, value: Constant) -> datetime:
        """The value as a timestamp. Raises `ValueError` and `OverflowError`."""
        if isinstance(value, str):
            value = read_timestamp(value, self.today)
        match value:
            case datetime():
                return instant(value.replace(tzinfo=None), value.tzinfo or self.zone)
            case date():
                return instant(datetime.combine(value, time()), self.zone)
            case Decimal():
                if abs(value) > _LAST_SECOND:
                    raise ValueError(
                        f"{value} seconds is outside the years 1 to 9999: are they milliseconds?"
                    )
                return from_epoch(seconds=int(value), microseconds=int(value % 1 * 1_000_000))
            case Duration():
                raise ValueError("An interval alone is not a time")

    def _cast(self, value: Constant, kind: str) -> Constant:
        if kind == "DATE":
            if isinstance(value, str):
                return read_date(value)
            return self._local(value).date()
        if kind == "TIMESTAMP_NTZ":
            return self._local(value)
        return self._moment(value)

    def _local(self, value: Constant) -> datetime:
        if isinstance(value, str):
            value = read_timestamp(value, self.today)
            if value.tzinfo is not None:
                raise ValueError("A TIMESTAMP_NTZ has no time zone")
        if isinstance(value, datetime) and value.tzinfo is None:
            return value
        return self._moment(value).astimezone(self.zone).replace(tzinfo=None)

    def _call(self, call: FunctionCall) -> Constant:
        arguments = [self._value(argument) for argument in call.arguments]
        match call.function, arguments:
            case (kind, [value]) if call.is_cast:
                return self._cast(value, kind)
            case ("CURRENT_TIMESTAMP" | "NOW", []):
                return self.now
            case ("CURRENT_DATE" | "CURDATE", []):
                return self.today
            case ("LOCALTIMESTAMP", []):
                return self._local(self.now)
            case ("CURRENT_TIMESTAMP", [Decimal() as digits]):
                return _cut(self.now, digits)
            case ("LOCALTIMESTAMP", [Decimal() as digits]):
                return _cut(self._local(self.now), digits)
            case ("", [datetime() as moment, Decimal() as digits]):
                return _cut(moment, digits)
            case ("TO_TIMESTAMP_LTZ", [Decimal() as count, Decimal() as digits]) if digits in (0, 3):
                # As in Flink: digits 0 means seconds, 3 milliseconds.
                return self._moment(count / 10 ** int(digits))
            case (function, [value]) if function in _CASTS:
                return self._cast(value, _CASTS[function])
            case (function, [Decimal() as count]) if function in _PER_SECOND:
                return self._moment(count / _PER_SECOND[function])
            case ("DATE_ADD" | "DATE_SUB" as function, [day, Decimal() as count]):
                start = self._cast(day, "DATE")
                return self._days_later(start, count if function == "DATE_ADD" else -count, call)
            case ("DATE_TRUNC", [str() as unit, value]):
                return self._truncated(unit, value)
        self._leave(f"{call.function.lower()}() with these arguments", call)

    def _operation(self, operation: OperatorExpression) -> Constant:
        right = self._value(operation.right)
        if operation.left is not None:
            left = self._value(operation.left)
        elif isinstance(right, Duration):
            left = Duration()
        else:
            left = Decimal()
        if operation.operator == "*":
            return self._product(operation, left, right)
        if operation.operator not in ("+", "-"):
            self._leave(f"`{operation.operator}`", operation)
        return self._sum(operation, left, right)

    def _product(self, operation: OperatorExpression, left: Constant, right: Constant) -> Constant:
        match left, right:
            case (Decimal(), Decimal()):
                return left * right
            case (Duration() as duration, Decimal() as factor) | (
                Decimal() as factor,
                Duration() as duration,
            ):
                if factor == int(factor):
                    return duration.times(int(factor))
        self._leave("This product", operation)

    def _sum(self, operation: OperatorExpression, left: Constant, right: Constant) -> Constant:
        sign = 1 if operation.operator == "+" else -1
        match left, right:
            case (Decimal(), Decimal()):
                return left + sign * right
            case (Duration(), Duration()):
                return left.plus(right.times(sign))
            case (Duration(), datetime() | date() | str()) if sign > 0:
                return self._later(right, left)
            case (datetime() | date() | str(), Duration()):
                return self._later(left, right.times(sign))
            case (date(), Decimal()) if not isinstance(left, datetime):
                return self._days_later(left, sign * right, operation)
        self._leave(f"This `{operation.operator}`", operation)

    def _days_later(self, day: Constant, count: Decimal, at: Expression) -> Constant:
        if isinstance(day, date) and not isinstance(day, datetime) and count == int(count):
            return day + timedelta(days=int(count))
        self._leave("This number of days", at)

    def _later(self, start: datetime | date | str, by: Duration) -> Constant:
        """Add as Spark does: months, then whole days, in the calendar of the session's zone; then the rest
        exactly."""
        days, micros = by.split_days()
        rest = timedelta(microseconds=micros)
        if isinstance(start, date) and not isinstance(start, datetime) and not micros:
            midnight = datetime.combine(start, time(), UTC)
            return shifted(midnight, UTC, by.months, days).date()
        if isinstance(start, datetime) and start.tzinfo is None:
            return (shifted(start.replace(tzinfo=UTC), UTC, by.months, days) + rest).replace(tzinfo=None)
        return shifted(self._moment(start), self.zone, by.months, days) + rest

    def _truncated(self, unit: str, value: Constant) -> Constant:
        unit = unit.strip().upper()
        if unit not in _FIELDS_BELOW:
            raise ValueError(f"date_trunc does not know the unit '{unit}'")
        here = self._moment(value).astimezone(self.zone)
        fields: dict[str, Any] = dict(islice(_FIELD_STARTS.items(), _FIELDS_BELOW[unit]))
        start = here.replace(**fields)
        if "hour" not in fields:
            return start.astimezone(UTC)
        if unit == "WEEK":
            start -= timedelta(days=here.weekday())
        elif unit == "QUARTER":
            start = start.replace(month=(here.month - 1) // 3 * 3 + 1)
        return instant(start.replace(tzinfo=None), self.zone)

    def _refuse(self, reason: str, at: Expression, hint: str = CONSTANT_HINT) -> NoReturn:
        raise SqlRefused(reason, hint, self.sql, at.position)

    def _leave(self, what: str, at: Expression) -> NoReturn:
        reason = f"{what} in a time takes a Spark of one's own to be worked out"
        raise NeedsSpark(reason, CONSTANT_HINT, self.sql, at.position)


def _cut(moment: datetime, digits: Decimal) -> datetime:
    """Cut off all but so many digits after the second. Raises `ValueError`."""
    if digits > _MOST_FRACTION or digits != int(digits):
        raise ValueError(f"A time has 0 to {_MOST_FRACTION} digits after the second, not {digits}")
    step = 10 ** max(0, 6 - int(digits))
    return moment.replace(microsecond=moment.microsecond // step * step)
