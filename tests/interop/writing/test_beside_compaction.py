"""Changes of rows without a key, beside a job that compacts their files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import StatementFailed
from paimark.core.spark.client.client import Engine
from tests.interop.judge import Judge
from tests.spark.library.test_row_changes import Scene, planned
from tests.wording import about

UPDATE = "UPDATE {} SET s = 'ours' WHERE v > 15"


def applied(context: Context, engine: Engine, sql: str, meanwhile: Callable[[], None]) -> str:
    """What it did, where something happens after its plan."""

    def late() -> Engine:
        meanwhile()
        return engine

    changes, plan = planned(context, sql)
    return changes.apply(replace(context, engine=late), plan, lambda line: None).message


@pytest.mark.parametrize("vectors", ["false", pytest.param("true", marks=pytest.mark.long)])
def test_a_statement_runs_again_on_compacted_files(
    vectors: str, context: Context, engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    scene = Scene(context, engine, f"again_{vectors}", keys="", **{"deletion-vectors.enabled": vectors})
    scene.commit([[4, 40, "d"]])

    def compacted() -> None:
        scene.commit([[5, 5, "e"]])
        judge.compact(engine_warehouse, scene.name)

    assert "2 rows updated" in applied(context, engine, UPDATE.format(scene.name), compacted)
    after = {(1, 10, "a"), (2, 20, "ours"), (3, None, None), (4, 40, "ours"), (5, 5, "e")}
    assert {*scene.rows()} == after

    def added() -> None:
        scene.commit([[6, 60, "f"]])
        judge.compact(engine_warehouse, scene.name)

    with pytest.raises(StatementFailed, match=about("3 rows", "2", "planned")) as raised:
        applied(context, engine, f"DELETE FROM {scene.name} WHERE v > 15", added)
    assert about("nothing", "new plan").search(raised.value.hint)
    assert {*scene.rows()} == {*after, (6, 60, "f")}
