"""An undo that later commits stand against opens the plan of the revert that takes back its commit alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from paimark.core.actions.plan import Instead
from paimark.core.table.layout import TablePath
from tests.actions.acting import applied, context_on, planned
from tests.conftest import EVENTS
from tests.paimon import commit
from tests.tui.driving import at_events
from tests.wording import about

TABLE = TablePath("shop", "events")


def _add(warehouse: Path, name: str, kind: str) -> None:
    commit(warehouse, name, pa.table({"day": ["2026-05-09"], "kind": [kind]}, schema=EVENTS))


async def test_the_dialog_opens_it_and_closes_with_it(warehouse: Path) -> None:
    context = context_on(warehouse)
    applied(context, planned(context, "create-tag", table=TABLE, name="v1"))
    applied(context, planned(context, "create-branch", table=TABLE, name="fix", tag="v1"))
    _add(warehouse, "shop.events$branch_fix", "ours")
    applied(context, planned(context, "merge-branch", table=TABLE, name="fix"))
    _add(warehouse, "shop.events", "theirs")
    [refusal] = planned(context, "undo", table=TABLE).refusals
    assert refusal.instead == Instead("revert", {"snapshot": 3})
    assert about("`paimark revert shop.events --snapshot 3`", "alone").search(refusal.hint)
    async with at_events(warehouse) as console:
        await console.press("u")
        await console.sees("Refused: main of shop.events moved", "▸[ Close ]   [ Plan revert ]")
        await console.press("right", "enter")
        await console.sees("Take back snapshot 3 of main of shop.events", "1 row goes", "[ Cancel ]")
        await console.press("escape")
        await console.loses("Take back snapshot 3")
        await console.sees("▸[ Plan revert ]")
        await console.press("enter")
        await console.sees("Take back snapshot 3", "[ Cancel ]")
        await console.press("escape", "escape")
        await console.loses("Refused")
