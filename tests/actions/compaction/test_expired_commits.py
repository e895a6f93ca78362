"""A compaction whose commit expires before this process looks for it: others commit all the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import pytest

from paimark.core.actions.context import Context
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed, TaskResult
from paimark.core.storage.files import Unanswered
from tests.actions.acting import applied, done, planned
from tests.actions.taking_over import add
from tests.wording import about


@dataclass
class _Committing:
    """An engine that commits snapshot 6; `then` happens, and what it says comes late, or it is dead."""

    context: Context
    then: Callable[[], object]
    said: TaskResult | Failed

    def do(self, order: object) -> Iterator[Any]:
        add(self.context, "shop.orders", 900)
        self.then()
        yield self.said


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (TaskResult(snapshot=6), about("done", "snapshot 6", "expired")),
        (Failed("The engine died", cause="engine"), about("engine died", "not known", "expired")),
    ],
    ids=["answered", "dead"],
)
def test_a_commit_that_expired_is_not_called_undone(context: Context, said: Any, told: Any) -> None:
    def others() -> None:
        add(context, "shop.orders", 901)
        done(context, "expire-snapshots", retain_last=1)

    engine = cast(Engine, _Committing(context, others, said))
    plan = planned(context, "compact", full=True)
    assert not plan.refusals
    with pytest.raises(Unanswered, match=told):
        applied(replace(context, engine=lambda: engine), plan)
