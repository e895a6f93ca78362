"""Read a time that is written as a literal; Spark evaluates any other expression.

A time without a zone is in the session's. The caller passes the current time, one per statement, because a
time of day is today's.
"""

from __future__ import annotations

from datetime import datetime, time, tzinfo

from paimark.core.travel.parse.errors import SqlRefused
from paimark.core.travel.parse.expressions import CONSTANT_HINT, LITERAL_TYPES
from paimark.core.travel.parse.tokens import Span, tokenize
from paimark.core.travel.times.literals import read_date, read_timestamp
from paimark.core.travel.times.zones import epoch_ms, from_epoch, instant

OUTSIDE = (
    "The time is outside the years 1 to 9999",
    "A number counts seconds since 1970: timestamp_millis(n) takes milliseconds.",
)


def literal_time(sql: str, span: Span, *, now_ms: int, zone: tzinfo) -> int | None:
    """The epoch milliseconds, rounded down, of the text or literal `sql[span]`; None for all else.

    Raises `SqlRefused` with the position in `sql`.
    """
    first, *others = tokenize(sql, *span)
    kind = first.upper if first.upper in LITERAL_TYPES else ""
    texts = others if kind else [first, *others]
    if not texts or any(token.kind != "string" for token in texts):
        return None
    # Spark joins adjacent strings.
    text = "".join(token.value for token in texts)
    try:
        if kind == "DATE":
            return epoch_ms(instant(datetime.combine(read_date(text), time()), zone))
        local = read_timestamp(text, from_epoch(milliseconds=now_ms).astimezone(zone).date())
        if kind == "TIMESTAMP_NTZ" and local.tzinfo is not None:
            raise ValueError("A TIMESTAMP_NTZ has no time zone")
        return epoch_ms(instant(local.replace(tzinfo=None), local.tzinfo or zone))
    except OverflowError as error:
        raise SqlRefused(*OUTSIDE, sql, first.start) from error
    except ValueError as error:
        raise SqlRefused(str(error), CONSTANT_HINT, sql, first.start) from error
