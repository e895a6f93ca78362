"""A person ends the engine while it rewrites main: nothing was changed, or the store may still change it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import Cancelled, Unavailable
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import CANCELLED, Event, Failed, Task
from paimark.core.storage.late_requests import LateRequests
from tests.actions.acting import contents, done, planned
from tests.actions.taking_over import add
from tests.wording import about

KILLED = Failed("The Spark engine was closed", cause="cancelled", was_killed=True)


@dataclass
class Ending:
    """An engine that ends its tasks so. It counts them, and `first` happens before the end."""

    end: Failed
    first: Callable[[], None] = lambda: None
    count: int = 0

    def do(self, task: Task) -> Generator[Event]:
        self.count += 1
        self.first()
        yield self.end


def state_of(orders: Path) -> dict[str, bytes]:
    """All files but the hint that raises the next savepoint's id."""
    return {path: data for path, data in contents(orders).items() if path != "savepoint/LATEST"}


def rolled_back(context: Context, engine: Ending, late_for: float = 0) -> None:
    acting = replace(context, engine=lambda: cast(Engine, engine), late=LateRequests(late_for))
    done(acting, "rollback", to="snapshot.2")


@pytest.mark.parametrize("end", [CANCELLED, KILLED])
def test_it_is_cancelled_and_nothing_is_changed(context: Context, orders: Path, end: Failed) -> None:
    before = state_of(orders)
    with pytest.raises(Cancelled):
        rolled_back(context, Ending(end))
    assert state_of(orders) == before


def test_it_is_not_tried_again_although_main_moved(context: Context, orders: Path) -> None:
    engine = Ending(CANCELLED, lambda: add(context, "shop.orders", 900))
    with pytest.raises(Cancelled):
        rolled_back(context, engine)
    assert engine.count == 1


def test_a_store_may_still_carry_out_the_commit_of_a_killed_engine(context: Context, orders: Path) -> None:
    with pytest.raises(Unavailable, match=about("half done", "store", "may still")) as raised:
        rolled_back(context, Ending(KILLED), late_for=960)
    assert "`paimark recover shop.orders`" in raised.value.hint
    assert not planned(context, "recover").empty


def test_an_engine_that_answers_has_sent_no_commit(context: Context, orders: Path) -> None:
    before = state_of(orders)
    with pytest.raises(Cancelled):
        rolled_back(context, Ending(CANCELLED), late_for=960)
    assert state_of(orders) == before
