"""A CALL whose action rewrites rows does it with the Spark that runs statements."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, Finished
from paimark.core.statements.run import CallMode, context_for, run_statement
from tests.spark.engine.test_reads import at, own_table
from tests.spark.engine_fixture import in_order, rows

CALL = "CALL sys.rollback(table => 'orders', to => 'snapshot.2')"


def test_rollback_is_called(
    engine: Engine, engine_warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    name = own_table(engine_warehouse, "called")
    expected = at(engine_warehouse, name, 2)
    (refused,) = run_statement(context_for(engine), CALL, database="called")
    assert isinstance(refused, Failed) and "nobody was asked" in refused.message
    planned: list[str] = []
    told: list[str] = []
    agreeing = CallMode(lambda action, plan: planned.append(f"{action.name} {plan.table}"), told.append)
    *_, end = run_statement(context_for(engine), CALL, database="called", call=agreeing)
    assert isinstance(end, Finished), end
    assert end.rows == 1
    assert planned == [f"rollback {name}"]
    assert told
    assert in_order(rows(engine, f"SELECT * FROM {name}")) == in_order(expected)
