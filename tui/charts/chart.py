"""A chart as data: the values to draw, and the caption."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Literal

_EPOCH = datetime(1970, 1, 1)

# The format of an axis. Times are in seconds since 1970 by the displayed clock.
AxisKind = Literal["count", "bytes", "number", "time"]


@dataclass(frozen=True, slots=True)
class Chart:
    """With `steps` each y is valid from its x to the next, and the last one to `until` and longer. Without it
    a histogram of `xs`, without `ys`.

    `instead` is a sentence to show instead of a picture.
    """

    name: str
    caption: str
    xs: Sequence[float] = ()
    ys: Sequence[float] = ()
    x_kind: AxisKind = "time"
    y_kind: AxisKind = "count"
    steps: bool = True
    instead: str = ""
    until: float | None = None


def clock_seconds(moment: datetime) -> float:
    """The position of a time on an axis, by its clock; a time with a zone is converted to local time."""
    naive = moment.astimezone().replace(tzinfo=None) if moment.tzinfo is not None else moment
    return (naive - _EPOCH).total_seconds()


def clock_moment(seconds: float) -> datetime:
    """The inverse of `clock_seconds`."""
    return _EPOCH + timedelta(seconds=seconds)


def moment_text(seconds: float) -> str:
    """The day and time of a place on an axis, as exact as it is; only the day at midnight."""
    moment = clock_moment(seconds)
    if moment.time() == time():
        return moment.date().isoformat()
    return moment.isoformat(" ", "milliseconds" if moment.microsecond else "seconds")
