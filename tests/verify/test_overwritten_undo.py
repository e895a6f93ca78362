"""An undo by Spark that another engine overwrote is named, as any other commit of ours is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from paimark.core.actions.context import Context
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Finished
from paimark.core.statements.run import CallMode, context_for, run_statement
from paimark.core.table.layout import TablePath
from paimark.core.verify import verify
from tests.actions.acting import done
from tests.actions.conftest import with_engine
from tests.actions.rewrite.test_overwritten_rewrites import put
from tests.paimon import commit, create_table
from tests.verify.test_overwritten import SCHEMA, rolled_back
from tests.verify.test_verify import problem

__all__ = ["with_engine"]

TABLE = TablePath("overwritten", "t")


def test_an_undo_that_was_overwritten_is_named(
    with_engine: Context, engine: Engine, engine_warehouse: Path
) -> None:
    name, directory = TABLE.full_name, engine_warehouse / TABLE.directory
    create_table(engine_warehouse, name, SCHEMA)
    for row in (1, 2):
        sql = f"INSERT INTO {name} VALUES ({row}, {row})"
        *_, end = run_statement(context_for(engine), sql, call=CallMode(lambda action, plan: None))
        assert isinstance(end, Finished), end
    commit(engine_warehouse, name, pa.table({"k": [9], "v": [9]}, schema=SCHEMA))
    data = rolled_back(directory, 3)
    done(with_engine, "undo", table=TABLE)
    assert verify(with_engine, TABLE).is_whole
    put(directory / "snapshot/snapshot-3", data)
    assert "(undo by " in problem(verify(with_engine, TABLE)).detail
