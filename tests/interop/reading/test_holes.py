"""A stock fast-forward of a branch that has expired leaves a hole in main's ids: it is told as what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.table.lineage.holes import holes
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, context_on, done
from tests.interop.judge import Judge, JudgeError

NAME, BRANCH = "shop.orders", "shop.orders$branch_b"


def row(number: int) -> dict[str, object]:
    return {"order_id": number, "customer": "a", "price": 2.0}


@pytest.mark.long
def test_stock_begins_behind_it_and_our_expiry_takes_the_rest(judge: Judge, warehouse: Path) -> None:
    context, root = context_on(warehouse), ORDERS.root()
    judge.create_tag(warehouse, NAME, "last", 5)
    judge.create_branch(warehouse, NAME, "b", "last")
    for number in range(90, 94):
        judge.write(warehouse, BRANCH, [row(number)])
    judge.expire(warehouse, BRANCH, retain=2)
    judge.fast_forward(warehouse, NAME, "b")
    judge.delete_branch(warehouse, NAME, "b")
    lineage = Lineage(context.files, root)
    [hole] = holes(context.files, root)
    assert lineage.snapshot_ids() == [1, 2, 3, 4, 5, *range(hole.last + 1, hole.newest + 1)]
    assert hole.first == 6 < hole.last and hole.is_cut_off
    with pytest.raises(JudgeError, match=rf"available snapshotId range \[{hole.last + 1}, "):
        judge.read(warehouse, NAME, snapshot=hole.last)
    judge.write(warehouse, NAME, [row(99)])
    judge.expire(warehouse, NAME, retain=1)
    assert lineage.snapshot_ids()[:-1] == [1, 2, 3, 4, 5]
    report = verify(context, ORDERS)
    assert report.is_whole and report.tells_orphans
    [warning] = report.warnings
    assert warning.endswith("paimark expire-snapshots shop.orders --retain-last 1")
    rows = judge.read(warehouse, NAME)
    done(context, "expire-snapshots", retain_last=1)
    assert len(lineage.snapshot_ids()) == 1 and verify(context, ORDERS).warnings == ()
    assert judge.read(warehouse, NAME) == rows
