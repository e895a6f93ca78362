"""A plan that an interrupted change stands in the way of offers to recover that first."""

from __future__ import annotations

from pathlib import Path

from paimark.core.storage.local import LocalFiles
from paimark.core.table.lineage.main_branch import branch_names
from tests.actions.acting import ORDERS, contents
from tests.actions.test_late_recovery import died
from tests.tui.driving import at_orders
from tests.wording import about


async def test_it_is_recovered_when_a_person_says_so_and_the_plan_made_anew(warehouse: Path) -> None:
    died(warehouse, r"branch-b/snapshot/snapshot-2$", "create-branch", name="b", tag="v2")
    before = contents(warehouse / "shop.db/orders")
    async with at_orders(warehouse) as console:
        await console.press("4")
        await console.sees("[4 Tags]", "v2")
        await console.press("x")
        await console.sees(
            "create-branch, cut off", about("recovered", "first"), "▸[ Close ]   [ Recover it first ]"
        )
        assert contents(warehouse / "shop.db/orders") == before
        await console.press("right", "enter")
        await console.sees("create-branch, cut off", "is recovered first", "[ Cancel ]")
        assert branch_names(LocalFiles(str(warehouse)), ORDERS) == []
        await console.press("escape")
        await console.loses("is recovered first")
