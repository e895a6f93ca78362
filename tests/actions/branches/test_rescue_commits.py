"""What a stale writer left in the table directory becomes a branch, and the directory is clean again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.roots.barrier import stray_commits
from paimark.core.errors import Refused
from paimark.core.table.layout import BARRIER, Root, merge_tag
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.verify.verify import verify
from tests.actions.acting import ORDERS, applied, contents, done, planned
from tests.actions.taking_over import add, branched, left_stray, main_rows, rows_of
from tests.actions.test_late_recovery import died, expired
from tests.wording import about


@pytest.fixture
def strayed(context: Context) -> Context:
    """Branch `fix` is main, and a job that opened the table before has committed order 900."""
    branched(context)
    left_stray(context, lambda: done(context, "replace-main-branch", name="fix"))
    return context


def test_stray_commits_become_a_branch(strayed: Context, orders: Path) -> None:
    rows = main_rows(strayed)
    assert len(stray_commits(strayed.files, ORDERS)) == 1
    outcome = done(strayed, "rescue-commits", name="saved")
    assert outcome.result["commits"] == 1
    found = rows_of(strayed, ORDERS.root("saved"))
    assert {"order_id": 900, "customer": "stale", "price": 1.0} in found
    assert stray_commits(strayed.files, ORDERS) == []
    assert sorted(path.name for path in (orders / "snapshot").iterdir()) == ["LATEST", BARRIER]
    assert main_rows(strayed) == rows
    done(strayed, "undo")
    assert len(main_rows(strayed)) == 8
    assert rows_of(strayed, ORDERS.root("saved")) == found


def test_a_merge_of_rescued_rows_says_how_to_bring_them_over(strayed: Context) -> None:
    """Main as it is with the rescued rows, and not the rescued rows alone."""
    done(strayed, "rescue-commits", name="saved")
    assert [row["order_id"] for row in rows_of(strayed, ORDERS.root("saved"))] == [900]
    with pytest.raises(Refused, match=about("branch saved", "fork", "main")) as refused:
        planned(strayed, "merge-branch", name="saved")
    assert about("INSERT INTO shop.orders SELECT * FROM shop.`orders$branch_saved`", "main").search(
        refused.value.hint
    )


def test_a_merge_of_commits_on_the_previous_main_says_what_they_changed(strayed: Context) -> None:
    """A session that remembers the previous main commits on top of it."""
    [archive] = [each for each in branch_names(strayed.files, ORDERS) if each.startswith("main-")]
    own, files, kept = ORDERS.root(), strayed.files, ORDERS.root(archive)
    add(strayed, f"shop.orders$branch_{archive}", 901)
    files.create(own.snapshot(6), files.read(kept.snapshot(6)))
    for path in (own.snapshot(1), kept.snapshot(6), kept.latest_hint):
        files.delete(path)
    done(strayed, "rescue-commits", name="saved")
    with pytest.raises(Refused, match=about("branch saved", "fork", "main")) as refused:
        planned(strayed, "merge-branch", name="saved")
    assert about("snapshot 5", archive, f"`paimark diff shop.orders {archive} saved`").search(
        refused.value.hint
    )


def remembering(context: Context) -> Root:
    """A session that remembers the previous main has committed snapshot 6 there; return its archive."""
    branched(context)
    done(context, "replace-main-branch", name="fix")
    [archive] = [each for each in branch_names(context.files, ORDERS) if each.startswith("main-")]
    own, files, kept = ORDERS.root(), context.files, ORDERS.root(archive)
    add(context, f"shop.orders$branch_{archive}", 901)
    files.create(own.snapshot(6), files.read(kept.snapshot(6)))
    files.delete(kept.snapshot(6))
    files.replace(kept.latest_hint, b"5")
    return kept


def test_what_the_commits_are_built_on_is_pinned_for_the_main_that_may_come_back(context: Context) -> None:
    kept = remembering(context)
    done(context, "rescue-commits", name="saved")
    pin = merge_tag("saved", 5)
    assert context.files.read(kept.tag(pin)) == context.files.read(kept.snapshot(5))
    done(context, "undo")
    assert context.files.exists(ORDERS.root().tag(pin))
    done(context, "delete-branch", name="saved")
    assert not context.files.exists(ORDERS.root().tag(pin))
    assert verify(context, ORDERS).problems == ()


def test_no_pin_stays_of_a_rescue_that_is_taken_back(context: Context, warehouse: Path) -> None:
    kept = remembering(context)
    died(warehouse, "branch-saved/snapshot/snapshot-6", "rescue-commits", name="saved")
    done(context, "recover")
    assert "saved" not in branch_names(context.files, ORDERS)
    assert not context.files.exists(kept.tag(merge_tag("saved", 5)))


def test_a_branch_that_was_retired_since_is_not_taken_for_the_previous_main(context: Context) -> None:
    branched(context, "other", order_id=77)
    done(context, "alter-branch-schema", branch="other", add="note STRING")
    remembering(context)
    done(context, "delete-branch", name="other", keep=True)
    done(context, "rescue-commits", name="saved")
    assert Lineage(context.files, ORDERS.root("saved")).schema_ids() == [0]
    assert 901 in {row["order_id"] for row in rows_of(context, ORDERS.root("saved"))}


def test_without_stray_commits_there_is_nothing_to_do(context: Context, orders: Path) -> None:
    before = contents(orders)
    plan = planned(context, "rescue-commits", name="saved")
    assert plan.empty and not plan.refusals
    done(context, "rescue-commits", name="saved")
    assert contents(orders) == before


def test_a_name_that_is_taken_or_bad_is_refused(strayed: Context) -> None:
    for name in ("fix", "main", "7"):
        with pytest.raises(Refused):
            done(strayed, "rescue-commits", name=name)
    assert len(stray_commits(strayed.files, ORDERS)) == 1


def second_stray(orders: Path) -> None:
    """One more stray commit, on top of the first."""
    first = msgspec.json.decode((orders / "snapshot/snapshot-1").read_bytes())
    base, delta = first["deltaManifestList"], first["baseManifestList"]
    second = first | {"id": 2, "baseManifestList": base, "deltaManifestList": delta}
    (orders / "snapshot/snapshot-2").write_bytes(msgspec.json.encode(second))


@pytest.mark.parametrize("again", [False, True])
def test_a_copy_that_alone_holds_a_commit_by_now_is_made_whole(
    strayed: Context, warehouse: Path, orders: Path, again: bool
) -> None:
    """A rescue dies, and a job that still knows the previous main expires what is copied."""
    second_stray(orders)
    rows = main_rows(strayed)
    died(warehouse, "branch-saved/snapshot/snapshot-1$", "rescue-commits", name="saved")
    expired(orders, 1)
    if again:
        # The recovery dies too, when it has copied the rest and deleted that in the table directory.
        died(warehouse, "branch-saved/snapshot/snapshot-2$", "recover")
        expired(orders, 2)
    plan = planned(strayed, "recover")
    assert ("create", "branch saved") in [(step.verb, step.target) for step in plan.steps]
    told: list[str] = []
    applied(strayed, plan, told)
    ids = "1, 2" if again else "1"
    assert any(about("branch saved", "stays", "alone", f"snapshot {ids}").search(line) for line in told)
    saved = ORDERS.root("saved")
    assert [strayed.files.read(path) for path in (saved.earliest_hint, saved.latest_hint)] == [b"1", b"2"]
    assert [row["order_id"] for row in rows_of(strayed, saved)] == [900]
    assert sorted(path.name for path in (orders / "snapshot").iterdir()) == ["LATEST", BARRIER]
    assert planned(strayed, "recover").empty and planned(strayed, "rescue-commits", name="other").empty
    assert main_rows(strayed) == rows


def test_nothing_stays_of_a_rescue_that_died_before_its_commits_expired(
    strayed: Context, warehouse: Path, orders: Path
) -> None:
    died(warehouse, "branch-saved/schema/schema-0$", "rescue-commits", name="saved")
    expired(orders, 1)
    done(strayed, "recover")
    assert "saved" not in branch_names(strayed.files, ORDERS)
    assert planned(strayed, "recover").empty


def test_a_branch_that_another_engine_made_meanwhile_is_left_as_it_is(
    strayed: Context, warehouse: Path, orders: Path
) -> None:
    died(warehouse, r"STEP-\w+-1$", "rescue-commits", name="saved")
    made = orders / "branch/branch-saved"
    for name in ("schema/schema-0", "snapshot/snapshot-1"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes((orders / "branch/branch-fix/schema/schema-0").read_bytes())
    text = (made / "schema/schema-0").read_text().replace("2147483647", "7")
    (made / "schema/schema-0").write_text(text)
    expired(orders, 1)
    before = contents(made)
    done(strayed, "recover")
    assert contents(made) == before
