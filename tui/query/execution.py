"""What a statement on a sheet answers, for the thread that runs it."""

from __future__ import annotations

from collections.abc import Iterator

from core.spark.protocol import Event
from tui.query.comparing import Totals, difference_events
from tui.query.query_result import QueryResult
from tui.work.engine_room import EngineRoom


def result_events(
    room: EngineRoom, result: QueryResult, database: str | None, limit: int
) -> Iterator[Event | Totals]:
    """Of its statement, or of the statements of a difference; at most `limit` rows."""
    if result.difference is None:
        return room.run(result.asked, database, limit)
    return difference_events(
        lambda sql, most: room.run(sql, database, most),
        result.difference,
        limit,
        lambda: result.cancelling is not None,
    )
