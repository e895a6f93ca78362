"""The sentence about Spark below a query that has not run."""

from __future__ import annotations

from typing import get_args

import pytest

from paimark.core.config import Settings
from paimark.core.spark.client.client import EngineState
from paimark.tui.work.engine_room import EngineRoom, engine_line
from tests.wording import about


class _Room(EngineRoom):
    """A room whose Spark is in a given state."""

    def __init__(self, state: EngineState) -> None:
        super().__init__(Settings("/nowhere"))
        self._state = state

    @property
    def state(self) -> EngineState:
        return self._state


@pytest.mark.parametrize("state", get_args(EngineState))
def test_spark_is_not_started_only_when_it_is_not(state: EngineState) -> None:
    line = "".join(text for text, _ in engine_line(_Room(state)))
    assert bool(about("Spark", "not started").search(line)) == (state == "stopped")


def test_a_busy_spark_is_busy() -> None:
    assert engine_line(_Room("running"))[1][0] == "Spark is busy"
