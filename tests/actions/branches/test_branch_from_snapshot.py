"""A branch from a snapshot of main: main keeps that for it, and one undo takes back both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.registry import action
from paimark.core.cli.checks import doctor
from paimark.core.cli.options import GlobalOptions
from paimark.core.errors import NotFound, Refused, UsageError
from paimark.core.table.lineage.branches import branch_rows
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import snapshot_facts
from tests.actions.acting import (
    ORDERS,
    Meanwhile,
    applied,
    contents,
    context_on,
    done,
    item,
    planned,
    replace_rows,
    texts,
)
from tests.paimon import read_rows
from tests.wording import about

PIN = "paimark.merge.fix.3"


@pytest.mark.parametrize("snapshot", [3, 5])
def test_one_undo_takes_back_the_branch_and_what_main_keeps_for_it(
    context: Context, warehouse: Path, orders: Path, snapshot: int
) -> None:
    before, pin = contents(orders), f"paimark.merge.fix.{snapshot}"
    outcome = done(context, "create-branch", name="fix", snapshot=snapshot)

    assert about("branch fix", "shop.orders", f"snapshot {snapshot}").search(outcome.message)
    assert outcome.result == {"branch_name": "fix", "tag_name": pin, "snapshot_id": snapshot}
    assert outcome.undo == "paimark undo shop.orders"
    rows = read_rows(warehouse, "shop.orders$branch_fix")
    assert sorted(row["order_id"] for row in rows) == list(range(1, snapshot + 4))
    copied = (orders / f"snapshot/snapshot-{snapshot}").read_bytes()
    for root in (orders, orders / "branch/branch-fix"):
        assert (root / f"tag/tag-{pin}").read_bytes() == copied
    assert {row.created_from for row in branch_rows(context.files, ORDERS)} == {None, f"snapshot.{snapshot}"}
    done(context, "undo")
    assert contents(orders) == before
    assert done(context, "redo").result == outcome.result
    done(context, "undo")
    assert contents(orders) == before


def test_the_plan_says_what_is_kept_and_by_what(context: Context) -> None:
    plan = planned(context, "create-branch", name="fix", snapshot=3)
    assert about("branch fix", "shop.orders", "snapshot 3").search(plan.headline)
    of_snapshot, of_main = texts(plan, "keeps")
    assert about("snapshot 3", "branch", f"tag {PIN}").search(of_snapshot)
    assert about("main", "data files").search(of_main)
    assert item(plan, "tag-needed").names == (PIN,)
    assert [each.target for each in plan.steps[:2]] == [
        f"shop.db/orders/tag/tag-{PIN}",
        "shop.db/orders/branch/branch-fix/snapshot/snapshot-3",
    ]
    assert (plan.undo, plan.ask.kind) == ("paimark undo shop.orders", "none")


def test_it_has_its_rows_after_main_has_expired_the_snapshot(
    context: Context, warehouse: Path, orders: Path
) -> None:
    done(context, "create-branch", name="fix", snapshot=3)
    expected = read_rows(warehouse, "shop.orders$branch_fix")
    replace_rows(warehouse)
    done(context, "delete-tag", name="v2")
    done(context, "expire-snapshots", retain_last=1)

    assert not (orders / "snapshot/snapshot-3").exists()
    assert read_rows(warehouse, "shop.orders$branch_fix") == expected
    assert planned(context, "delete-tag", name=PIN).refusals
    # Nothing else needs these files any more.
    assert planned(context, "undo").freed_files
    done(context, "undo")
    assert Lineage(context.files, ORDERS.root()).tag_names() == []
    assert len(read_rows(warehouse, "shop.orders")) == 1


def test_a_retired_branch_keeps_its_tag_beside_a_new_one_of_its_name(context: Context, orders: Path) -> None:
    done(context, "create-tag", name="short", snapshot=3, retain="7 d")
    done(context, "create-branch", name="fix", tag="short")
    done(context, "delete-branch", name="fix", keep=True)
    done(context, "create-branch", name="fix", snapshot=3)
    done(context, "delete-branch", name="fix")
    assert (orders / f"tag/tag-{PIN}").exists()


def test_a_branch_from_the_tag_of_another_has_its_own(context: Context) -> None:
    done(context, "create-branch", name="fix", snapshot=3)
    done(context, "create-branch", name="next", tag=PIN)
    done(context, "delete-branch", name="fix")
    main = Lineage(context.files, ORDERS.root())
    assert main.tag_names() == ["paimark.merge.next.3", "v2"]
    done(context, "delete-branch", name="next")
    assert main.tag_names() == ["v2"]


def test_what_main_lacks_is_refused_with_what_it_has(context: Context, orders: Path) -> None:
    with pytest.raises(NotFound, match=about("main", "shop.orders", "snapshot 9")) as beyond:
        planned(context, "create-branch", name="fix", snapshot=9)
    assert beyond.value.hint == "It has 1 to 5."
    for number in (1, 2):
        (orders / f"snapshot/snapshot-{number}").unlink()
    with pytest.raises(NotFound, match=about("snapshot 2")) as expired:
        planned(context, "create-branch", name="fix", snapshot=2)
    assert about("--tag v2").search(expired.value.hint)


def test_it_takes_a_tag_or_a_snapshot(context: Context) -> None:
    with pytest.raises(UsageError, match=about("tag", "snapshot", "missing")):
        planned(context, "create-branch", name="fix")
    with pytest.raises(UsageError, match=about("tag", "snapshot", "both")):
        planned(context, "create-branch", name="fix", tag="v2", snapshot=3)


def test_a_tag_in_the_way_is_refused_by_the_plan(context: Context, orders: Path) -> None:
    other = msgspec.json.decode((orders / "snapshot/snapshot-4").read_bytes())
    (orders / f"tag/tag-{PIN}").write_bytes(msgspec.json.encode({**other, "id": 3}))
    [refusal] = planned(context, "create-branch", name="fix", snapshot=3).refusals
    assert about(f"tag {PIN}", "shop.orders", "another", "snapshot 3").search(refusal.reason)


def test_a_snapshot_that_expires_after_the_plan_is_refused(context: Context, orders: Path) -> None:
    plan = planned(context, "create-branch", name="fix", snapshot=3)
    done(context, "expire-snapshots", retain_last=1)
    before = contents(orders)
    with pytest.raises(Refused, match=about("snapshot-3", "plan")):
        applied(context, plan)
    assert contents(orders) == before


def test_an_id_that_is_given_again_is_another_snapshot(
    context: Context, warehouse: Path, orders: Path
) -> None:
    plan = planned(context, "create-branch", name="fix", snapshot=5)
    done(context, "rollback", to="snapshot.4", truncate=True)
    replace_rows(warehouse)
    with pytest.raises(Refused, match=about("main", "shop.orders", "plan")):
        applied(context, plan)
    assert not (orders / "branch/branch-fix").exists()


@pytest.mark.parametrize("when", ["before the tag is there", "while it is proven"])
def test_an_expiry_that_did_not_know_the_tag_leaves_nothing_of_it(
    context: Context, warehouse: Path, orders: Path, when: str
) -> None:
    """It has read the tags before, and deletes a file of the snapshot."""
    replace_rows(warehouse)
    done(context, "delete-tag", name="v2")
    facts = snapshot_facts(context.files, ORDERS, Lineage(context.files, ORDERS.root()).snapshot(3))
    [lost] = orders.glob(f"bucket-*/{next(each.name for each in facts)}")
    plan = planned(context, "create-branch", name="fix", snapshot=3)
    before = {*contents(orders)}
    files = context.files
    if when.startswith("before"):
        files = Meanwhile(context.files, f"tag/tag-{PIN}", lost.unlink)

    def tell(line: str) -> None:
        if line.startswith("waiting"):
            lost.unlink()

    with pytest.raises(Refused, match=about("snapshot 3", "shop.orders", "kept")):
        action(plan.action).apply(replace(context_on(warehouse, files), verify_wait=0.001), plan, tell)
    assert {*contents(orders)} <= before


def test_who_loses_the_tag_is_told_how_to_keep_the_snapshot(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Another engine deletes a tag without a check for branches."""

    def told() -> list[tuple[str, str]]:
        findings = doctor._table(GlobalOptions(warehouse=str(warehouse)), "shop.orders")
        return [(each.detail, each.hint) for each in findings if each.state == "warning"]

    done(context, "create-branch", name="fix", snapshot=3)
    assert told() == []
    (orders / f"tag/tag-{PIN}").unlink()
    [(detail, hint)] = told()
    assert about("main", "snapshot 3", "no tag").search(detail)
    assert about("paimark create-tag shop.orders --name shared-3 --snapshot 3").search(hint)
    done(context, "create-tag", name="shared-3", snapshot=3)
    assert told() == []


def test_a_tag_that_is_deleted_meanwhile_undoes_the_branch(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Main still has the snapshot then, but nothing keeps it."""
    before = contents(orders)
    plan = planned(context, "create-branch", name="fix", snapshot=3)
    files = Meanwhile(context.files, f"branch-fix/tag/tag-{PIN}", (orders / f"tag/tag-{PIN}").unlink)
    with pytest.raises(Refused, match=about(f"tag-{PIN}", "plan")):
        applied(context_on(warehouse, files), plan)
    assert contents(orders) == before


def test_main_that_is_a_branch_keeps_it_too(context: Context, warehouse: Path, orders: Path) -> None:
    """The tag is main's, and stock expiry looks at its copy in the table directory."""
    done(context, "create-branch", name="other", tag="v2")
    replace_rows(warehouse, "$branch_other")
    done(context, "replace-main-branch", name="other")
    before = contents(orders)
    done(context, "create-branch", name="fix", snapshot=3)
    for root in (orders, orders / "branch/branch-other"):
        assert (root / f"tag/tag-{PIN}").exists()
    assert len(read_rows(warehouse, "shop.orders$branch_fix")) == 1
    done(context, "undo")
    assert contents(orders) == before


@pytest.mark.parametrize("origin", [{"tag": "v2"}, {"snapshot": 3}])
def test_a_name_that_leaves_its_directory_is_refused_as_that_of_a_branch(
    context: Context, origin: dict[str, Any]
) -> None:
    [refusal] = planned(context, "create-branch", name="x/../y", **origin).refusals
    assert about("name", "branch", "/").search(refusal.reason)
