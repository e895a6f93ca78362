"""While a branch is main, the table directory holds exactly what stock engines must find there."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from paimark.core.actions.change import journal
from paimark.core.actions.context import Context
from paimark.core.actions.roots import guard_tags
from paimark.core.actions.roots.guard_tags import Repair
from paimark.core.actions.savepoints import auto_savepoint
from paimark.core.errors import Unavailable
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names, main_branch_name
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, Meanwhile, applied, contents, context_on, done, planned
from tests.actions.taking_over import add, branched, left_stray
from tests.actions.test_late_recovery import died
from tests.storage.wrapped import Wrapped
from tests.wording import about

FOREIGN = about("tag foreign", "no tag", "main")


@pytest.fixture
def replaced(context: Context) -> Context:
    """Branch `fix` is main, with a tag of its own that has a time to live."""
    branched(context)
    done(context, "create-tag", name="own", branch="fix", retain="9 d")
    done(context, "replace-main-branch", name="fix")
    return context


def test_a_table_of_which_no_branch_is_main_needs_none(context: Context) -> None:
    assert guard_tags.mismatches(context.files, ORDERS) == []


def test_what_is_wrong_is_said_and_reconciled(replaced: Context, orders: Path) -> None:
    whole = contents(orders)
    (orders / "tag/tag-own").unlink()
    (orders / "tag/tag-v2").write_bytes(b"{}")
    (orders / "tag/tag-foreign").write_bytes(whole["tag/tag-own"])
    own, v2, foreign = guard_tags.mismatches(replaced.files, ORDERS)
    assert about("tag own", "main", "no guard").search(own) and about("tag v2", "main", "no guard").search(v2)
    assert FOREIGN.search(foreign)
    guard_tags.reconcile(replaced.files, ORDERS, ORDERS.root("fix"))
    assert contents(orders) == whole
    guard_tags.reconcile(replaced.files, ORDERS, ORDERS.root("fix"))
    assert contents(orders) == whole


def test_a_guard_whose_tag_has_gone_goes_too(replaced: Context, orders: Path) -> None:
    (orders / "branch/branch-fix/tag/tag-own").unlink()
    guard_tags.reconcile(replaced.files, ORDERS, ORDERS.root("fix"))
    assert [path.name for path in (orders / "tag").iterdir()] == ["tag-v2"]


def test_the_last_tag_of_a_savepoint_is_never_taken_for_a_guard(replaced: Context, orders: Path) -> None:
    done(replaced, "create-savepoint")
    (orders / "branch/branch-fix/tag/tag-savepoint.1").unlink()
    guard_tags.reconcile(replaced.files, ORDERS, ORDERS.root("fix"))
    assert (orders / "tag/tag-savepoint.1").exists()


@pytest.mark.parametrize("deed", ["without", "beside"])
def test_a_notice_that_does_not_stand_alone_is_said(replaced: Context, orders: Path, deed: str) -> None:
    if deed == "without":
        (orders / "schema/schema-0").unlink()
    else:
        (orders / "schema/schema-1").write_bytes(b"{}")
    [sentence] = guard_tags.mismatches(replaced.files, ORDERS)
    assert about("stock engines", "schema-0").search(sentence)


def watched(context: Context) -> None:
    """One round of a watcher."""
    stop = threading.Event()

    def tables() -> list[TablePath]:
        # Asked once to look after them, and once for how long to sleep.
        if asked:
            stop.set()
        asked.append(True)
        return [ORDERS]

    asked: list[bool] = []
    auto_savepoint.watch(context, tables, stop, lambda line: None)


def deed(action: str, /, **arguments: Any) -> Callable[[Context], object]:
    return lambda context: done(context, action, **arguments)


ADDING = {
    "create-savepoint": deed("create-savepoint"),
    "create-tag": deed("create-tag", name="new"),
    "auto-savepoint": deed("auto-savepoint"),
    "a watcher": watched,
}
HOLDING = {
    "delete-savepoint": deed("delete-savepoint", id=1),
    "delete-tag": deed("delete-tag", name="mine"),
    "expire-snapshots": deed("expire-snapshots", retain_last=1),
}


def spoil(orders: Path) -> None:
    """What another engine leaves of the guards: one is missing, one is older than its tag, one is too many.

    What that last one kept is gone. The notice is missing too.
    """
    (orders / "tag/tag-own").unlink()
    (orders / "tag/tag-v2").write_bytes(b"{}")
    fields = msgspec.json.decode((orders / "branch/branch-fix/tag/tag-own").read_bytes())
    lost = {**fields, "baseManifestList": "manifest-list-gone", "deltaManifestList": "manifest-list-gone-too"}
    (orders / "tag/tag-foreign").write_bytes(msgspec.json.encode(lost))
    (orders / "schema/schema-0").unlink()


@pytest.mark.parametrize("name", [*ADDING, *HOLDING])
def test_whoever_looks_after_savepoints_and_tags_puts_the_guards_right(
    replaced: Context, orders: Path, name: str
) -> None:
    done(replaced, "create-savepoint")
    done(replaced, "create-tag", name="mine")
    add(replaced, "shop.orders$branch_fix", 200)
    spoil(orders)
    {**ADDING, **HOLDING}[name](replaced)
    wrong = guard_tags.mismatches(replaced.files, ORDERS)
    assert len(wrong) == (name in ADDING) and all(map(FOREIGN.search, wrong))


def test_what_goes_for_guarding_nothing_is_in_the_plan(replaced: Context, orders: Path) -> None:
    add(replaced, "shop.orders$branch_fix", 200)
    spoil(orders)
    before = contents(orders)
    plan = planned(replaced, "expire-snapshots", retain_last=1)
    assert [(step.verb, step.target) for step in plan.steps[:3]] == [
        ("copy", "shop.db/orders/tag/tag-own"),
        ("copy", "shop.db/orders/tag/tag-v2"),
        ("delete", "shop.db/orders/tag/tag-foreign"),
    ]
    assert plan.refusals == () and contents(orders) == before
    assert applied(replaced, plan).result["freed_files"] == plan.freed_files


def test_beside_a_change_that_may_move_main_nothing_is_put_right(replaced: Context, orders: Path) -> None:
    spoil(orders)
    plan = planned(replaced, "undo")
    hold = journal.take(replaced, ORDERS, plan, journal.new_token(), plan.kind, {})
    before = contents(orders / "tag")
    done(replaced, "auto-savepoint")
    assert contents(orders / "tag") == before
    hold.release()
    done(replaced, "auto-savepoint")
    assert contents(orders / "tag") != before


def test_a_stale_writers_tag_is_left_to_be_rescued(context: Context, orders: Path) -> None:
    branched(context)
    left_stray(context, lambda: done(context, "replace-main-branch", name="fix"))
    stray = Lineage(context.files, ORDERS.root()).latest()
    assert stray is not None
    (orders / "tag/tag-stray").write_bytes(stray.to_json())
    done(context, "create-tag", name="mine")
    done(context, "delete-tag", name="mine")
    assert (orders / "tag/tag-stray").exists()


def test_repair_that_overlaps_an_undo_leaves_main_open(
    context: Context, orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever repairs has read that a branch is main; another takes that back; then the repair writes."""
    branched(context)
    done(context, "replace-main-branch", name="fix")
    late = (orders / "branch/branch-fix/tag/tag-v2").read_bytes()
    put = guard_tags._put

    def put_late(files: Files, path: str, data: bytes) -> None:
        if main_branch_name(files, ORDERS) is not None:
            done(context, "undo", replacement=True)
        put(files, path, data)

    missing = Repair({ORDERS.root().tag("late"): late})
    monkeypatch.setattr(guard_tags, "repair_needed", lambda files, table: missing)
    monkeypatch.setattr(guard_tags, "_put", put_late)
    guard_tags.repair(context.files, ORDERS)
    monkeypatch.undo()
    assert main_branch_name(context.files, ORDERS) is None
    assert "late" not in Lineage(context.files, ORDERS.root()).tag_names()
    assert "snapshot-9000000000" not in contents(orders / "snapshot")
    add(context, "shop.orders", 5555)
    assert verify(context, ORDERS).problems == ()


class AnswerLost(Wrapped):
    """A store that replaces a guard, and does not say so."""

    def replace(self, path: str, data: bytes) -> None:
        super().replace(path, data)
        if path.endswith("orders/tag/tag-late"):
            raise Unavailable("the answer is lost", "")


def test_a_tag_that_is_taken_back_leaves_no_guard(replaced: Context, warehouse: Path, orders: Path) -> None:
    with pytest.raises(Unavailable):
        done(context_on(warehouse, AnswerLost(replaced.files)), "create-tag", name="late")
    assert not (orders / "tag/tag-late").exists()
    assert not (orders / "branch/branch-fix/tag/tag-late").exists()


@pytest.mark.parametrize("by", ["recover", "create-savepoint"])
def test_a_tag_that_came_to_the_old_main_after_its_archive_outlives_a_new_one_of_its_name(
    context: Context, warehouse: Path, orders: Path, by: str
) -> None:
    """Another engine tagged the old main when the archive was written, and the replacement died."""
    branched(context)
    died(warehouse, r"branch/MAIN-BRANCH$", "replace-main-branch", name="fix")
    old = (orders / "snapshot/snapshot-4").read_bytes()
    (orders / "tag/tag-late").write_bytes(old)
    done(context, "create-tag", name="late")
    new = (orders / "branch/branch-fix/tag/tag-late").read_bytes()
    assert (orders / "tag/tag-late").read_bytes() == old != new
    if by != "recover":
        done(context, by)
    done(context, "recover")
    [archive] = [each for each in branch_names(context.files, ORDERS) if each != "fix"]
    assert (orders / f"branch/branch-{archive}/tag/tag-late").read_bytes() == old
    assert (orders / "tag/tag-late").read_bytes() == new
    assert guard_tags.mismatches(context.files, ORDERS) == [] and verify(context, ORDERS).problems == ()


def test_a_tag_of_a_main_that_comes_back_outlives_a_new_one_of_its_name(
    replaced: Context, warehouse: Path, orders: Path
) -> None:
    """Somebody tags the branch just when the undo of the replacement has copied the old main's tags back."""
    [archive] = [each for each in branch_names(replaced.files, ORDERS) if each != "fix"]
    old = (orders / f"branch/branch-{archive}/snapshot/snapshot-4").read_bytes()
    (orders / f"branch/branch-{archive}/tag/tag-late").write_bytes(old)

    def tag() -> None:
        done(replaced, "create-tag", name="late")

    undoing = context_on(warehouse, Meanwhile(replaced.files, "orders/tag/tag-late", tag))
    done(undoing, "undo", replacement=True)
    assert main_branch_name(replaced.files, ORDERS) is None
    assert (orders / "tag/tag-late").read_bytes() == old and verify(replaced, ORDERS).problems == ()
