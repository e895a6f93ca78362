"""The events of a difference: exact totals first, then as many rows as are shown, of the same snapshots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from core.spark.arrow import read_batch
from core.spark.protocol import CANCELLED, Batch, Event, Failed, Finished, StageProgress
from core.travel.diff.diff import Difference

RunStatement = Callable[[str, int | None], Iterator[Event]]


@dataclass(frozen=True, slots=True)
class Totals:
    """How many rows of each change there are, shown or not."""

    counts: Mapping[str, int]


def difference_events(
    run: RunStatement, difference: Difference, limit: int, is_cancelled: Callable[[], bool]
) -> Iterator[Event | Totals]:
    """For a thread. `run` takes a statement and the most rows to send back; it ends with one `Finished`."""
    counts: Counter[str] = Counter()
    counting = 0.0
    for event in run(difference.count_sql, None):
        match event:
            case Batch():
                changes, times = (column.to_pylist() for column in read_batch(event).columns)
                counts.update(dict(zip(changes, times, strict=True)))
            case Finished():
                counting = event.seconds
            case Failed():
                # Its position is one in a statement that nobody sees.
                yield msgspec.structs.replace(event, position=None)
                return
            case StageProgress():
                yield event
    yield Totals(counts)
    if is_cancelled():
        # Between the two there was nothing to cancel.
        yield CANCELLED
        return
    for event in run(difference.statement, limit):
        if isinstance(event, Finished):
            event = msgspec.structs.replace(event, seconds=event.seconds + counting)
        yield event
