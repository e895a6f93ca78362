"""Stock Paimon fails on a branch whose newest snapshot files were lost, and reads it as our hint says."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.table.lineage.lost_newest import lost_newest
from tests.actions.acting import ORDERS, context_on, done
from tests.interop.judge import Judge, JudgeError


def test_stock_engines_fail_until_the_hint_is_followed(judge: Judge, warehouse: Path) -> None:
    context, name = context_on(warehouse), "shop.orders$branch_fix"
    done(context, "create-branch", name="fix", tag="v2")
    judge.write(warehouse, name, [{"order_id": 98, "customer": "a", "price": 2.0}])
    then = judge.read(warehouse, name)
    judge.write(warehouse, name, [{"order_id": 99, "customer": "b", "price": 2.0}])
    root = ORDERS.root("fix")
    assert lost_newest(context.files, root) is None
    (warehouse / root.snapshot(4)).unlink()
    lost = lost_newest(context.files, root)
    assert lost is not None and (lost.named, lost.newest) == (4, 3)
    with pytest.raises(JudgeError):
        judge.read(warehouse, name)
    assert lost.hint.endswith(f"write 3 into {root.latest_hint}.")
    (warehouse / root.latest_hint).write_text("3")
    assert judge.read(warehouse, name) == then
    judge.write(warehouse, name, [{"order_id": 97, "customer": "c", "price": 2.0}])
    assert len(judge.read(warehouse, name)) == len(then) + 1
