"""Read a time that is written as a literal; Spark evaluates any other expression.

A time without a zone is in the session's. The caller passes the current time, one per statement, because a
time of day is today's.
"""

from __future__ import annotations

from datetime import datetime, time, tzinfo

from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.uses import Clause
from paimark.core.travel.times.literals import read_date, read_timestamp
from paimark.core.travel.times.zones import epoch_ms, from_epoch, instant

_OUTSIDE = (
    "The time is outside the years 1 to 9999",
    "A number counts seconds since 1970: timestamp_millis(n) takes milliseconds.",
)
_CONSTANT = (
    "The time is a constant: a literal, CURRENT_TIMESTAMP or now(), intervals added or taken away, and "
    "functions of these."
)


def literal_time(sql: str, clause: Clause, *, now_ms: int, zone: tzinfo) -> int:
    """The epoch milliseconds, rounded down, of the clause's literal.

    Raises `SqlRefused` with the position in `sql`.
    """
    text, kind = clause.literal or "", clause.literal_type
    try:
        if kind == "DATE":
            return epoch_ms(instant(datetime.combine(read_date(text), time()), zone))
        local = read_timestamp(text, from_epoch(milliseconds=now_ms).astimezone(zone).date())
        if kind == "TIMESTAMP_NTZ" and local.tzinfo is not None:
            raise ValueError("A TIMESTAMP_NTZ has no time zone")
        return epoch_ms(instant(local.replace(tzinfo=None), local.tzinfo or zone))
    except OverflowError as error:
        raise SqlRefused(*_OUTSIDE, sql, clause.time_start) from error
    except ValueError as error:
        raise SqlRefused(str(error), _CONSTANT, sql, clause.time_start) from error
