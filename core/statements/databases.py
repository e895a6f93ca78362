"""Run CREATE DATABASE and DROP DATABASE, without Spark. They lose nothing, so nobody is asked."""

from __future__ import annotations

import time
from collections.abc import Iterator

from paimark.core.actions.context import Progress, open_context
from paimark.core.actions.tables import databases
from paimark.core.errors import PaimarkError
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Event, Failed, Finished
from paimark.core.travel.parse.uses import Statement
from paimark.core.travel.statements.databases import DatabaseStatement, read_database_statement


def events(engine: Engine, statement: Statement, tell: Progress) -> Iterator[Event]:
    began, read = time.monotonic(), None
    try:
        read = read_database_statement(statement)
        message = _run(engine, read, tell)
    except PaimarkError as error:
        yield Failed.of(error, read.position if read else None)
    else:
        yield Finished(0, False, time.monotonic() - began, message)


def _run(engine: Engine, read: DatabaseStatement, tell: Progress) -> str:
    settings, name = engine.settings, read.name
    context = open_context(settings.warehouse, settings.options, settings.read_only)
    is_there = databases.exists(context, name)
    if read.is_lenient and is_there == (read.kind == "create"):
        return (
            f"There is {'a' if is_there else 'no'} database {name}{' already' * is_there}: nothing was done"
        )
    do = databases.create if read.kind == "create" else databases.drop
    return do(context, name, tell).message
