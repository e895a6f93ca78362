"""The next change recovers an interrupted one by itself where nobody has to be asked, and says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions.change import journal
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.actions.recover_first import plan_to_apply
from paimark.core.actions.registry import action
from paimark.core.storage.late_requests import LateRequests
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, main_branch_name
from paimark.core.verify.verify import verify
from tests.actions.acting import ORDERS, applied, contents, texts
from tests.actions.taking_over import add, branched
from tests.actions.test_late_recovery import died
from tests.cli.command import Paimark
from tests.wording import about

COMMITTED = r"STEP-\w+-3$"


def to_apply(context: Context, name: str, /, **arguments: object) -> Plan:
    return plan_to_apply(action(name), context, ORDERS, arguments)


def test_what_was_not_committed_is_taken_back_first(context: Context, warehouse: Path) -> None:
    died(warehouse, r"branch-b/snapshot/snapshot-2$", "create-branch", name="b", tag="v2")
    assert action("rename-tag").plan(context, ORDERS, {"name": "v2", "to": "two"}).refusals
    plan = to_apply(context, "rename-tag", name="v2", to="two")
    [said] = texts(plan, "affects")[:1]
    assert about("create-branch", "cut off", "taken back").search(said)
    assert journal.current(context, ORDERS) is None and branch_names(context.files, ORDERS) == []
    applied(context, plan)
    assert Lineage(context.files, ORDERS.root()).tag_names() == ["two"]


def test_what_was_committed_is_finished_first(context: Context, warehouse: Path) -> None:
    branched(context)
    died(warehouse, r"orders/snapshot/snapshot-9000000000$", "replace-main-branch", name="fix")
    plan = to_apply(context, "undo")
    assert plan.arguments["undone"] == "replace-main-branch" and plan.refusals == ()
    applied(context, plan)
    assert main_branch_name(context.files, ORDERS) is None and verify(context, ORDERS).problems == ()


def test_a_person_is_asked_where_commits_of_others_would_go(context: Context, warehouse: Path) -> None:
    branched(context)
    died(warehouse, COMMITTED, "delete-branch", name="fix")
    add(context, "shop.orders$branch_fix", 901)
    before = contents(warehouse / "shop.db/orders")
    plan = to_apply(context, "rename-tag", name="v2", to="two")
    assert about("interrupted delete-branch").search(plan.refusals[0].reason)
    assert contents(warehouse / "shop.db/orders") == before


@pytest.mark.parametrize("why", ["read only", "another machine", "requests may come late"])
def test_it_waits_where_that_is_not_certain(context: Context, warehouse: Path, why: str) -> None:
    died(warehouse, r"branch-b/snapshot/snapshot-2$", "create-branch", name="b", tag="v2")
    changed = {
        "read only": replace(context, read_only=True),
        "another machine": context,
        "requests may come late": replace(context, late=LateRequests(900.0)),
    }
    if why == "another machine":
        path = warehouse / ORDERS.journal
        begun = journal.current(context, ORDERS)
        assert begun is not None
        elsewhere = begun.journal.owner.machine
        path.write_bytes(path.read_bytes().replace(elsewhere.encode(), b"elsewhere"))
    before = contents(warehouse / "shop.db/orders")
    assert to_apply(changed[why], "rename-tag", name="v2", to="two").refusals
    assert contents(warehouse / "shop.db/orders") == before


def test_the_command_says_it_and_a_dry_run_changes_nothing(
    context: Context, warehouse: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(warehouse.parent))
    died(warehouse, r"branch-b/snapshot/snapshot-2$", "create-branch", name="b", tag="v2")
    before = contents(warehouse / "shop.db/orders")
    command = ("rename-tag", "shop.orders", "--name", "v2", "--to", "two", "--warehouse", warehouse)
    Paimark(capsys)(*command, "--dry-run")
    assert contents(warehouse / "shop.db/orders") == before
    refused = Paimark(capsys)(*command)
    assert refused.code == 1 and "Nothing was changed" not in refused.err
    assert about("interrupted", "recovered", "nothing else").search(refused.err)
    assert "create-branch, cut off" in refused.err
    assert Paimark(capsys)(*command, "--yes").code == 0
    assert Lineage(context.files, ORDERS.root()).tag_names() == ["two"]
