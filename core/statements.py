"""One statement in, its events out: what is an action's goes to the actions, all else to the Spark engine."""

from __future__ import annotations

from collections.abc import Iterator

from core.errors import PaimarkError, StatementFailed
from core.spark.client import Engine
from core.spark.protocol import Event, Failed
from core.travel.sql import read_statement


def run_statement(
    engine: Engine,
    sql: str,
    *,
    database: str | None = None,
    limit: int | None = None,
    time_zone: str | None = None,
) -> Iterator[Event]:
    """The events of `Engine.run`. What needs no Spark is answered without starting it."""
    try:
        statement = read_statement(sql)
    except PaimarkError as error:
        position = error.position if isinstance(error, StatementFailed) else None
        yield Failed(error.message, error.hint, position)
        return
    if statement.kind == "empty":
        yield Failed("There is no statement to run", "Write one, such as SELECT * FROM database.table.")
    elif statement.kind == "call":
        yield Failed(
            "This version has no procedures: CALL does not run yet",
            "The same actions are commands: `paimark create-savepoint`, `create-tag`, `create-branch`.",
            statement.sql.upper().find("CALL"),
        )
    else:
        yield from engine.run(sql, database=database, limit=limit, time_zone=time_zone)
