"""`delete-savepoint` gives back what only the savepoint kept, and nothing that anything else needs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.errors import Corrupt, NotFound, PaimarkError, Refused
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots
from paimark.core.table.manifests.files import each_needed_file, missing_files
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import (
    ORDERS,
    Meanwhile,
    NoWrites,
    applied,
    contents,
    context_on,
    done,
    planned,
    replace_rows,
    texts,
)
from tests.actions.histories import needed_by_all
from tests.actions.taking_over import add, branched
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit, open_table, read_rows
from tests.wording import about


def forget_snapshots(orders: Path, *ids: int) -> None:
    """Snapshots that expired and left what tags keep: here nothing else is deleted."""
    for number in ids:
        (orders / f"snapshot/snapshot-{number}").unlink()


def reasons(plan: Plan) -> list[str]:
    return [refusal.reason for refusal in plan.refusals]


def test_the_plan_frees_exactly_what_it_says(context: Context, warehouse: Path, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    replace_rows(warehouse)
    forget_snapshots(orders, 1, 2, 3, 4, 5)
    plan = planned(context, "delete-savepoint", id=1)
    before = contents(orders)
    outcome = applied(context, plan)
    gone = before.keys() - contents(orders).keys()
    metadata = {"savepoint/savepoint-1", "tag/tag-savepoint.1"}
    freed = gone - metadata
    assert gone > metadata
    assert plan.freed_files == len(freed) == outcome.result["freed_files"]
    # The two data files of snapshot 3: those of 1 and 2 are the tag's too.
    assert len([path for path in freed if path.startswith("bucket-")]) == 2
    assert plan.freed_bytes == sum(len(before[path]) for path in freed) == outcome.result["freed_bytes"]


def edit(path: Path, **fields: object) -> None:
    path.write_bytes(msgspec.json.encode({**msgspec.json.decode(path.read_bytes()), **fields}))


def test_a_savepoint_that_says_it_is_another_is_not_deleted_nor_the_other(
    context: Context, orders: Path
) -> None:
    done(context, "create-savepoint", snapshot=3)
    done(context, "create-savepoint", snapshot=4)
    edit(orders / "savepoint/savepoint-2", id=1)
    before = contents(orders)
    with pytest.raises(Corrupt, match=about("savepoint-2", "another", "1")):
        planned(context, "delete-savepoint", id=2)
    # Nothing can be told of what the damaged one keeps.
    [reason] = reasons(planned(context, "delete-savepoint", id=1))
    assert about("savepoint-2", "another").search(reason)
    assert contents(orders) == before


@pytest.mark.parametrize("name", ["savepoint-1", "LATEST", "../manifest/x", ""])
def test_a_savepoint_that_names_no_manifest_list_is_not_deleted(
    context: Context, orders: Path, name: str
) -> None:
    done(context, "create-savepoint", snapshot=3)
    done(context, "create-savepoint", snapshot=4)
    edit(orders / "savepoint/savepoint-2", fullManifestList=name)
    with pytest.raises(Corrupt, match=about("savepoint-2", "not", "savepoint", "`$.fullManifestList`")):
        planned(context, "delete-savepoint", id=2)


def test_a_savepoint_that_names_the_list_of_another_is_not_deleted(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    done(context, "create-savepoint", snapshot=4)
    first = msgspec.json.decode((orders / "savepoint/savepoint-1").read_bytes())
    edit(orders / "savepoint/savepoint-2", fullManifestList=first["fullManifestList"])
    for number in (1, 2):
        plan = planned(context, "delete-savepoint", id=number)
        [reason] = reasons(plan)
        assert about(f"savepoints {number} and {3 - number}", "manifest list").search(reason)
        assert "savepoint/savepoint-1" in plan.refusals[0].hint
        assert "savepoint/savepoint-2" in plan.refusals[0].hint


def test_every_other_reference_keeps_its_files(context: Context, warehouse: Path, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    done(context, "create-savepoint", snapshot=4)
    rows = read_rows(warehouse, "shop.orders")
    forget_snapshots(orders, 1, 2, 3, 4)
    done(context, "delete-savepoint", id=1)
    for root in all_roots(context.files, ORDERS):
        for _, tag in Lineage(context.files, root).tags():
            assert missing_files(context.files, each_needed_file(context.files, root, tag)) == []
    assert read_rows(warehouse, "shop.orders") == rows
    assert [each.id for each in SavepointManager(context.files, ORDERS).all()] == [2]


def test_after_the_last_reference_no_file_of_it_is_left(
    context: Context, warehouse: Path, orders: Path
) -> None:
    done(context, "create-savepoint", snapshot=4)
    replace_rows(warehouse)
    forget_snapshots(orders, 1, 2, 3, 4, 5)
    done(context, "delete-tag", name="v2")
    done(context, "delete-savepoint", id=1)
    directories = ("manifest", "bucket-0", "bucket-1")
    there = {
        f"shop.db/orders/{name}"
        for name in contents(orders)
        if name.startswith(directories) or name.startswith("savepoint/manifest")
    }
    left = there - needed_by_all(context.files, ORDERS)
    # The snapshots went without anybody counting: their lists, and what only 5 had.
    assert len([path for path in left if "manifest-list" in path]) == 6
    assert len([path for path in left if "/bucket-" in path]) == 2
    assert len(left) == 8
    assert not {path for path in there if "/savepoint/" in path}


def test_ids_are_never_given_again(context: Context, orders: Path) -> None:
    done(context, "create-savepoint")
    (orders / "savepoint/LATEST").unlink()
    done(context, "delete-savepoint", id=1)
    assert done(context, "create-savepoint").result["savepoint_id"] == 2


def test_a_branch_made_from_it_keeps_it(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    done(context, "create-branch", name="fix", tag="savepoint.1")
    before = contents(orders)
    plan = planned(context, "delete-savepoint", id=1)
    sentence = about("branch fix", "made", "savepoint 1")
    assert all(map(sentence.search, reasons(plan)))
    with pytest.raises(Refused, match=sentence):
        applied(context, plan)
    assert contents(orders) == before


def test_a_branch_made_from_it_by_stock_paimon_keeps_it(context: Context, warehouse: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    open_table(warehouse, "shop.orders").branch_manager().create_branch("stock", "savepoint.1")
    [reason] = reasons(planned(context, "delete-savepoint", id=1))
    assert about("branch stock", "made", "savepoint 1").search(reason)


def test_a_branch_keeps_it_that_expired_its_first_snapshot(context: Context, warehouse: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    branched(context, tag="savepoint.1")
    add(context, "shop.orders$branch_fix", 101)
    done(context, "expire-snapshots", branch="fix", retain_last=1)
    plan = planned(context, "delete-savepoint", id=1)
    sentence = about("branch fix", "files of", "savepoint 1")
    assert all(map(sentence.search, reasons(plan)))
    with pytest.raises(Refused, match=sentence):
        applied(context, plan)
    # When the branch has moved on, what it needs is its own.
    row = pa.table({"order_id": [9], "customer": ["c9"], "price": [9.0]}, schema=ORDERS_SCHEMA)
    commit(warehouse, "shop.orders$branch_fix", row, overwrite=True)
    done(context, "expire-snapshots", branch="fix", retain_last=1)
    done(context, "delete-savepoint", id=1)
    assert len(read_rows(warehouse, "shop.orders$branch_fix")) == 1


def test_a_savepoint_of_a_branch_goes_without_main_noticing(
    context: Context, warehouse: Path, orders: Path
) -> None:
    done(context, "create-branch", name="b", tag="v2")
    done(context, "create-savepoint", branch="b")
    plan = planned(context, "delete-savepoint", id=1)
    assert not plan.refusals
    applied(context, plan)
    assert read_rows(warehouse, "shop.orders$branch_b")
    assert not (orders / "branch/branch-b/tag/tag-savepoint.1").exists()


def test_a_foreign_tag_is_no_savepoint(context: Context, warehouse: Path, orders: Path) -> None:
    open_table(warehouse, "shop.orders").create_tag("savepoint.7", 3)
    with pytest.raises(NotFound, match="no savepoint 7") as told:
        planned(context, "delete-savepoint", id=7)
    assert about("main", "tag savepoint.7").search(told.value.hint)
    assert (orders / "tag/tag-savepoint.7").exists()


def test_a_tag_of_another_snapshot_is_not_taken_for_its_own(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    (orders / "tag/tag-savepoint.1").write_bytes((orders / "tag/tag-v2").read_bytes())
    plan = planned(context, "delete-savepoint", id=1)
    [reason] = reasons(plan)
    assert about("tag savepoint.1", "main", "snapshot 2", "3").search(reason)
    assert "tag/tag-savepoint.1" in plan.refusals[0].hint


def test_a_savepoint_whose_tag_is_gone_goes_with_its_own_files(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    (orders / "tag/tag-savepoint.1").unlink()
    forget_snapshots(orders, 1, 2, 3, 4)
    plan = planned(context, "delete-savepoint", id=1)
    [lost] = texts(plan, "loses")
    assert about("savepoint 1", "no tag", "may be gone").search(lost)
    assert plan.ask.phrase == "savepoint 1"
    data = len(list(orders.glob("bucket-*/*")))
    applied(context, plan)
    # Snapshot 5 needs every one of them.
    assert len(list(orders.glob("bucket-*/*"))) == data
    assert list((orders / "savepoint").iterdir()) == [orders / "savepoint/LATEST"]


def test_a_savepoint_without_its_tag_still_keeps_its_files(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=4)
    done(context, "create-tag", name="same", snapshot=4)
    (orders / "tag/tag-savepoint.1").unlink()
    forget_snapshots(orders, 3, 4)
    tag = Lineage(context.files, ORDERS.root()).tag("same")
    needed = [
        each for each in each_needed_file(context.files, ORDERS.root(), tag) if each.kind != "manifest-list"
    ]
    done(context, "delete-tag", name="same")
    assert missing_files(context.files, needed) == []


@pytest.mark.parametrize("path", ["snapshot/snapshot-5", "tag/tag-v2", "branch/branch-b/snapshot/snapshot-2"])
def test_nothing_goes_while_a_reference_cannot_be_read(context: Context, orders: Path, path: str) -> None:
    done(context, "create-branch", name="b", tag="v2")
    done(context, "create-savepoint", snapshot=4)
    forget_snapshots(orders, 1, 2, 3, 4)
    (orders / path).write_bytes(b'{"id": 5')
    before = contents(orders)
    plan = planned(context, "delete-savepoint", id=1)
    assert any(path in reason and "can't be told" in reason for reason in reasons(plan))
    with pytest.raises(Refused):
        applied(context, plan)
    assert contents(orders) == before


def test_nothing_goes_while_a_deciding_manifest_is_missing(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    forget_snapshots(orders, 1, 2, 3, 4)
    newest = Lineage(context.files, ORDERS.root()).snapshot(5)
    (orders / "manifest" / newest.delta_manifest_list).unlink()
    [reason] = reasons(planned(context, "delete-savepoint", id=1))
    assert newest.delta_manifest_list in reason


def test_a_tag_that_comes_while_it_runs_is_honoured(context: Context, warehouse: Path, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    tag = (orders / "tag/tag-savepoint.1").read_bytes()
    forget_snapshots(orders, 1, 2, 3, 4)
    plan = planned(context, "delete-savepoint", id=1)
    assert plan.freed_files > 1
    # The journal is taken last before anything goes.

    def tag_it() -> None:
        (orders / "tag/tag-other").write_bytes(tag)

    files = Meanwhile(context.files, "branch/ACTION", tag_it)
    applied(context_on(warehouse, files), plan)
    root = ORDERS.root()
    other = Lineage(context.files, root).tag("other")
    assert missing_files(context.files, each_needed_file(context.files, root, other)) == []


def test_a_plan_made_before_the_savepoint_changed_is_refused(context: Context, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    plan = planned(context, "delete-savepoint", id=1)
    path = orders / "savepoint/savepoint-1"
    path.write_bytes(msgspec.json.encode({**msgspec.json.decode(path.read_bytes()), "comment": "keep me"}))
    with pytest.raises(Refused, match=about("savepoint 1", "shop.orders", "plan")):
        applied(context, plan)
    assert path.exists()


def test_a_dry_run_writes_nothing(context: Context, warehouse: Path, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=3)
    forget_snapshots(orders, 1, 2, 3, 4)
    plan = planned(context_on(warehouse, NoWrites(context.files)), "delete-savepoint", id=1)
    assert plan.freed_files and "need the rest" in texts(plan, "frees")[0]


def test_a_savepoint_that_is_not_there_is_told(context: Context) -> None:
    with pytest.raises(PaimarkError, match="no savepoint 3"):
        planned(context, "delete-savepoint", id=3)


def test_features_that_cannot_be_counted_are_refused_by_name(context: Context, orders: Path) -> None:
    done(context, "create-savepoint")
    path = orders / "schema/schema-0"
    schema = msgspec.json.decode(path.read_bytes())
    schema["options"]["row-tracking.enabled"] = "true"
    path.write_bytes(msgspec.json.encode(schema))
    [reason] = reasons(planned(context, "delete-savepoint", id=1))
    assert "row tracking" in reason


def test_its_guard_goes_with_it_while_a_branch_is_main(
    context: Context, warehouse: Path, orders: Path
) -> None:
    done(context, "create-branch", name="b", tag="v2")
    done(context, "create-savepoint", branch="b")
    rows = {"order_id": [9], "customer": ["c9"], "price": [9.0]}
    commit(warehouse, "shop.orders$branch_b", pa.table(rows, schema=ORDERS_SCHEMA), overwrite=True)
    (orders / "branch/branch-b/snapshot/snapshot-2").unlink()
    # As replacing main leaves it, but for the previous main, which nothing keeps here.
    for path in [*(orders / "snapshot").iterdir(), *(orders / "tag").iterdir()]:
        path.unlink()
    (orders / "schema/schema-0").write_text("Branch b is main of this table\n")
    for tag in (orders / "branch/branch-b/tag").iterdir():
        (orders / "tag" / tag.name).write_bytes(tag.read_bytes())
    (orders / "branch/MAIN-BRANCH").write_text("b\n")
    live = read_rows(warehouse, "shop.orders$branch_b")
    plan = planned(context, "delete-savepoint", id=1)
    assert plan.refusals == ()
    applied(context, plan)
    assert not list(orders.rglob("tag-savepoint.1"))
    done(context, "delete-tag", name="v2")
    assert not list(orders.rglob("tag-v2"))
    assert read_rows(warehouse, "shop.orders$branch_b") == live
    tree = {path for path in needed_by_all(context.files, ORDERS) if "/bucket-" in path}
    assert all((warehouse / path).exists() for path in tree)
    # Those of the branch's first snapshot went with their last tag.
    assert len(tree) == 1


def test_one_file_goes(context: Context) -> None:
    done(context, "create-savepoint")
    plan = planned(context, "delete-savepoint", id=1)
    assert "1 metadata file goes" in texts(plan, "how")[0]
