"""A statement that reads a branch changes nothing of it: its tag is not what a person agreed to or made."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.spark.engine.holding_reads import Held, HeldReads
from paimark.core.table.lineage.main_branch import root_exists
from tests.actions.acting import ORDERS, applied, codes, context_on, done, planned

READ_TAGS = "**/tag-paimark.read.*"
CHANGES: tuple[tuple[str, dict[str, object]], ...] = (
    ("delete-branch", {"name": "fix"}),
    ("delete-branch", {"name": "fix", "keep": True}),
    ("rename-branch", {"name": "fix", "to": "new"}),
    ("replace-main-branch", {"name": "fix"}),
    ("undo", {}),
)


@pytest.fixture
def context(warehouse: Path) -> Context:
    """With a branch `fix`, which was made last."""
    context = context_on(warehouse)
    done(context, "create-branch", name="fix", tag="v2")
    return context


def read(context: Context) -> HeldReads:
    """A statement has read `fix` and main for a while."""
    reads = HeldReads(context.files, False)
    for held in (Held(ORDERS.root("fix"), 2), Held(ORDERS.root(), 5)):
        reads._take(held)
    return reads


@pytest.mark.parametrize("moment", ["before the plan", "after it", "until then"])
@pytest.mark.parametrize(("action", "arguments"), CHANGES, ids=lambda each: str(each)[:24])
def test_a_branch_that_is_read_can_be_changed(
    context: Context, warehouse: Path, action: str, arguments: dict[str, object], moment: str
) -> None:
    """Afterwards nothing is left of the read, wherever the branch is by now."""
    reads = None if moment == "after it" else read(context)
    plan = planned(context, action, ORDERS, **arguments)
    if reads is None:
        reads = read(context)
    elif moment == "until then":
        reads.end()
    assert not codes(plan, "not")
    applied(context, plan)
    reads.end()
    assert not [*warehouse.glob(READ_TAGS)]
    assert planned(context, "recover").empty
    assert root_exists(context.files, ORDERS.root("fix")) == (action == "replace-main-branch")


def test_a_plan_says_that_a_statement_reads_the_branch(context: Context) -> None:
    def said() -> bool:
        return "read-now" in codes(planned(context, "delete-branch", name="fix"), "affects")

    assert not said()
    reads = read(context)
    assert said()
    reads.end()
    assert not said()
