"""A chart as data: what is drawn, and what is said above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

_EPOCH = datetime(1970, 1, 1)

# How the numbers of an axis read. Of times: seconds since 1970 on the clock that is shown.
AxisKind = Literal["count", "bytes", "number", "time"]


@dataclass(frozen=True, slots=True)
class Chart:
    """`steps`: each y holds from its x to the next. Without them a histogram of `xs`, and no `ys`.

    `instead` is a sentence in the place of a picture.
    """

    name: str
    caption: str
    xs: Sequence[float] = ()
    ys: Sequence[float] = ()
    x_kind: AxisKind = "time"
    y_kind: AxisKind = "count"
    steps: bool = True
    instead: str = ""


def clock_seconds(moment: datetime) -> float:
    """A place on an axis of times: as the clock shows it, here where it has a zone."""
    naive = moment.astimezone().replace(tzinfo=None) if moment.tzinfo is not None else moment
    return (naive - _EPOCH).total_seconds()


def clock_moment(seconds: float) -> datetime:
    """Back from `clock_seconds`."""
    return _EPOCH + timedelta(seconds=seconds)
