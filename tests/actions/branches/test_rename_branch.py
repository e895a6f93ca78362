"""A branch gets another name, with its rows, tags, merges and pins; its old name is then free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.merge import history
from paimark.core.errors import NotFound, Refused
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, main_root
from tests.actions.acting import ORDERS, applied, codes, done, planned, refused, replace_rows
from tests.actions.declared.catalogue import refs
from tests.wording import about


def pins(context: Context) -> list[str]:
    main = main_root(context.files, ORDERS)
    return [each for each in Lineage(context.files, main).tag_names() if each.startswith("paimark.")]


@pytest.fixture
def branched(context: Context, warehouse: Path) -> Context:
    """Branch fix from a snapshot, which main pins, with a merged commit and a tag of its own."""
    done(context, "create-branch", name="fix", snapshot=5)
    replace_rows(warehouse, "$branch_fix")
    done(context, "merge-branch", name="fix")
    done(context, "create-tag", name="own", branch="fix")
    return context


def test_all_that_it_has_comes_along(branched: Context) -> None:
    before = refs(branched)
    assert pins(branched) == ["paimark.merge.fix.5", "paimark.merge.fix.6"]
    plan = planned(branched, "rename-branch", name="fix", to="new")
    assert codes(plan, "loses") == ["name-gone"]
    assert about("branch fix", "shop.orders", "to new").search(applied(branched, plan).message)
    # The branch's own copy of the tag that it was made from, too.
    assert refs(branched) == {name.replace("fix", "new"): value for name, value in before.items()}
    assert pins(branched) == ["paimark.merge.new.5", "paimark.merge.new.6"]
    assert [each.branch for each in history.events(branched.files, ORDERS)] == ["new"]
    assert planned(branched, "merge-branch", name="new").empty
    # Its pins go with it under the new name.
    done(branched, "rename-branch", name="new", to="last")
    done(branched, "delete-branch", name="last")
    assert pins(branched) == []


def test_the_command_of_the_plan_takes_it_back(branched: Context) -> None:
    before = refs(branched)
    outcome = done(branched, "rename-branch", name="fix", to="odd 'name'")
    assert outcome.undo == """paimark rename-branch shop.orders --name "odd 'name'" --to fix"""
    done(branched, "rename-branch", name="odd 'name'", to="fix")
    assert refs(branched) == before


def test_guards_are_renamed_while_a_branch_is_main(branched: Context) -> None:
    done(branched, "create-branch", name="lead", tag="v2")
    done(branched, "replace-main-branch", name="lead", layout="pointer")
    done(branched, "create-branch", name="side", snapshot=2)
    done(branched, "rename-branch", name="side", to="aside")
    guards = Lineage(branched.files, ORDERS.root()).tag_names()
    assert "paimark.merge.aside.2" in guards
    assert "paimark.merge.side.2" not in guards
    assert planned(branched, "recover").empty


def test_what_can_not_be_renamed_is_refused(branched: Context) -> None:
    done(branched, "create-branch", name="other", tag="v2")
    [reason] = refused(planned(branched, "rename-branch", name="fix", to="other"))
    assert about("shop.orders", "branch other already").search(reason)
    assert refused(planned(branched, "rename-branch", name="main", to="x")) == ["main is main of shop.orders"]
    [reason] = refused(planned(branched, "rename-branch", name="fix", to="main"))
    assert "main" in reason
    done(branched, "delete-branch", name="other", keep=True)
    [retired] = [each for each in branch_names(branched.files, ORDERS) if each.startswith("retired-")]
    [reason] = refused(planned(branched, "rename-branch", name=retired, to="x"))
    assert about("undo", f"branch {retired}").search(reason)
    with pytest.raises(NotFound, match="no branch nope"):
        planned(branched, "rename-branch", name="nope", to="x")


def test_one_that_a_job_writes_to_is_looked_at_again(branched: Context, warehouse: Path) -> None:
    plan = planned(branched, "rename-branch", name="fix", to="new")
    replace_rows(warehouse, "$branch_fix")
    with pytest.raises(Refused, match=about("branch fix", "plan")):
        applied(branched, plan)
    assert "new" not in branch_names(branched.files, ORDERS)


@pytest.mark.parametrize(("name", "more"), [("rename-branch", {"to": "new"}), ("delete-branch", {})])
def test_a_pin_that_is_protected_is_not_taken_along(
    branched: Context, name: str, more: dict[str, Any]
) -> None:
    pin = pins(branched)[-1]
    done(branched, "protect", tag=pin, reason="kept")
    [refusal] = planned(branched, name, name="fix", **more).refusals
    assert about(f"tag {pin}", "protected", "kept").search(refusal.reason)
    with pytest.raises(Refused):
        done(branched, name, name="fix", **more)
    assert pin in pins(branched)
