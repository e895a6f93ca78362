"""What `paimark` changes: every action with its result, plans, and what is refused."""

from __future__ import annotations

import logging
from pathlib import Path

import pyarrow as pa
import pytest

import paimark
from paimark.core.storage.known_options import VERIFY_WAIT_OPTION
from tests.actions.acting import contents
from tests.paimon import create_table, open_table, read_rows
from tests.wording import about

# No engine expires anything here.
OPTIONS = {VERIFY_WAIT_OPTION: "1 ms"}


@pytest.fixture(autouse=True)
def state(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(warehouse.parent / "state"))


@pytest.fixture
def orders(warehouse: Path) -> paimark.Table:
    return paimark.open(warehouse, options=OPTIONS).table("shop.orders")


def test_savepoints_are_made_and_deleted(orders: paimark.Table) -> None:
    saved = orders.create_savepoint(snapshot=3, comment="kept")
    assert (saved.savepoint_id, saved.saved_snapshot_id, saved.branch) == (1, 3, "main")
    assert saved.facts["savepoint_id"] == 1
    assert saved.undo == "paimark undo shop.orders"
    assert orders.savepoints()[0].comment == "kept"
    gone = orders.delete_savepoint(id=saved.savepoint_id)
    assert isinstance(gone, paimark.SavepointDeleted)
    # Its own list of manifests.
    assert (gone.savepoint_id, gone.freed_files, orders.savepoints()) == (1, 1, [])


def test_a_compaction_without_files_has_zeros(warehouse: Path) -> None:
    create_table(warehouse, "shop.bare", pa.schema([("n", pa.int64())]))
    done = paimark.open(warehouse, options=OPTIONS).table("shop.bare").compact()
    assert (done.snapshot_id, done.files_before, done.changelog_records) == (None, 0, 0)


def test_a_savepoint_that_is_not_due_is_not_made(orders: paimark.Table) -> None:
    assert orders.auto_savepoint().savepoint_id is None
    orders.alter_branch_schema(set="'savepoint.create-interval' = '1 min'")
    assert orders.auto_savepoint().savepoint_id == 1


def test_tags_branches_and_schemas_are_made_and_deleted(orders: paimark.Table) -> None:
    assert orders.create_tag(name="first", snapshot=1, retain="7 d").snapshot_id == 1
    made = orders.create_branch(name="fix", tag="first")
    assert (made.branch_name, made.tag_name, made.snapshot_id) == ("fix", "first", 1)
    assert orders.create_branch(name="next", snapshot=4).tag_name == "paimark.merge.next.4"
    assert orders.undo().undone == "create-branch"
    assert orders.alter_branch_schema(add="note STRING", branch="fix").schema_id == 1
    assert orders.delete_branch(name="fix", keep=True).retired_as is not None
    assert orders.undo().undone == "delete-branch"
    assert orders.delete_branch(name="fix").retired_as is None
    assert orders.delete_tag(name="first").tag_name == "first"


def test_several_are_one_change_and_one_undo(orders: paimark.Table) -> None:
    plan = orders.plan("create-tag", name="n-{id}", snapshot=[3, 4])
    made = orders.apply(plan)
    assert isinstance(made, paimark.ManyDone)
    assert [part.facts["tag_name"] for part in made.parts] == ["n-3", "n-4"]
    back = orders.undo()
    assert (back.undone, len(back.parts), len(orders.tags())) == ("create-tag", 2, 1)
    assert isinstance(orders.redo(), paimark.ManyDone)
    assert {each.tag_name for each in orders.tags()} == {"v2", "n-3", "n-4"}
    with pytest.raises(paimark.UsageError):
        orders.plan("delete-tag", name=["n-3", 4])


def test_main_is_replaced_and_taken_back(warehouse: Path, orders: paimark.Table) -> None:
    orders.create_branch(name="fix", tag="v2")
    replaced = orders.replace_main_branch(name="fix")
    assert (replaced.branch_name, replaced.snapshot_id) == ("fix", 2)
    assert replaced.previous_main in [each.branch_name for each in orders.branches()]
    assert orders.rescue_commits(name="strays").commits == 0
    assert orders.undo(replacement=True).undone == "replace-main-branch"
    assert [each.branch_name for each in orders.branches() if each.is_main] == ["main"]


def test_changes_are_walked_back_and_forth(orders: paimark.Table) -> None:
    orders.create_tag(name="a")
    orders.create_tag(name="b")
    assert orders.restore(to=0).walked == 2
    assert isinstance(orders.redo(), paimark.TagCreated)
    assert [each.tag_name for each in orders.tags()] == ["a", "v2"]
    assert orders.recover().recovered == 0


def test_snapshots_expire(orders: paimark.Table) -> None:
    expired = orders.expire_snapshots(retain_last=2)
    assert (expired.expired_snapshots, expired.earliest_snapshot_id) == (3, 4)
    assert orders.expire_snapshots(retain_last=2).expired_snapshots == 0


def test_a_branch_with_nothing_new_is_merged_by_doing_nothing(orders: paimark.Table) -> None:
    orders.create_branch(name="fix", tag="v2")
    assert orders.merge_branch(name="fix").snapshot_id is None


def test_main_ends_at_an_earlier_version(warehouse: Path, orders: paimark.Table) -> None:
    before = read_rows(warehouse, "shop.orders", tag="v2")
    rolled = orders.rollback(to="v2", truncate=True)
    assert (rolled.snapshot_id, rolled.rolled_back_to) == (2, 2)
    assert rolled.archive in [each.branch_name for each in orders.branches()]
    assert orders.at().to_arrow().num_rows == len(before)


def test_a_plan_writes_nothing_and_is_applied_later(warehouse: Path, orders: paimark.Table) -> None:
    before = contents(warehouse)
    plan = orders.plan("delete-tag", name="v2")
    assert (plan.refusals, contents(warehouse)) == ((), before)
    assert isinstance(orders.apply(plan), paimark.TagDeleted)
    assert orders.tags() == []
    plan = orders.plan("create-savepoint")
    assert isinstance(orders.apply(plan), paimark.SavepointCreated)
    with pytest.raises(paimark.Refused, match=about("savepoint 1", "made since", "plan")):
        orders.apply(plan)
    assert len(orders.savepoints()) == 1


def test_a_plan_whose_ground_moved_is_refused(warehouse: Path, orders: paimark.Table) -> None:
    plan = orders.plan("delete-tag", name="v2")
    table = open_table(warehouse, "shop.orders")
    table.delete_tag("v2")
    table.create_tag("v2", 3)
    before = contents(warehouse)
    with pytest.raises(paimark.Refused):
        orders.apply(plan)
    assert contents(warehouse) == before


def test_a_plan_that_is_refused_says_why_and_can_not_be_applied(orders: paimark.Table) -> None:
    plan = orders.plan("create-tag", name="v2")
    [refusal] = plan.refusals
    assert "v2" in refusal.reason
    with pytest.raises(paimark.Refused, match="v2"):
        orders.apply(plan)
    with pytest.raises(paimark.Refused, match="v2"):
        orders.create_tag(name="v2")


def test_a_hint_speaks_of_arguments_and_methods(orders: paimark.Table) -> None:
    with pytest.raises(paimark.Refused) as refused:
        orders.create_tag(name="x", retain="0 d")
    assert about("retain").search(refused.value.hint)


def test_a_plan_of_another_table_is_refused(warehouse: Path, orders: paimark.Table) -> None:
    plan = orders.plan("create-tag", name="now")
    with pytest.raises(paimark.UsageError, match=about("shop.orders", "shop.events")):
        paimark.open(warehouse).table("shop.events").apply(plan)


@pytest.mark.parametrize("way", ["argument", "environment"])
def test_nothing_is_changed_in_read_only_mode(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    if way == "environment":
        monkeypatch.setenv("PAIMARK_READ_ONLY", "1")
    before = contents(warehouse)
    orders = paimark.open(warehouse, read_only=way == "argument").table("shop.orders")
    with pytest.raises(paimark.Refused, match="read-only"):
        orders.create_savepoint()
    with pytest.raises(paimark.Refused, match="read-only"):
        orders.delete_tag(name="v2")
    assert contents(warehouse) == before


@pytest.mark.parametrize(
    ("action", "arguments", "terms"),
    [
        ("delete-tag", {"nam": "v2"}, ("delete-tag", "no argument nam")),
        ("delete-tag", {}, ("delete-tag", "name")),
        ("delete-savepoint", {"id": "1"}, ("id of delete-savepoint", "whole number", "'1'")),
        ("delete-savepoint", {"id": True}, ("id of delete-savepoint", "whole number", "True")),
        ("create-tag", {"name": 5}, ("name of create-tag", "text", "5")),
        ("replace-main-branch", {"name": "fix", "layout": ""}, ("layout of replace-main-branch", "empty")),
        ("delete-branch", {"name": "b", "keep": 1}, ("keep of delete-branch", "true", "false", "1")),
        ("delete_tag", {"name": "v2"}, ("no action delete_tag",)),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    orders: paimark.Table, action: str, arguments: dict[str, object], terms: tuple[str, ...]
) -> None:
    with pytest.raises(paimark.UsageError, match=about(*terms)):
        orders.plan(action, **arguments)


def test_what_one_should_know_is_logged(orders: paimark.Table, caplog: pytest.LogCaptureFixture) -> None:
    orders.create_branch(name="fix", tag="v2")
    orders.alter_branch_schema(set="'savepoint.create-interval' = '1 min'", branch="fix")
    plan = orders.plan("replace-main-branch", name="fix")
    caplog.clear()
    with caplog.at_level(logging.INFO, "paimark"):
        orders.apply(plan)
    ours = [record for record in caplog.records if record.name == "paimark"]
    warned = [record.getMessage() for record in ours if record.levelno == logging.WARNING]
    assert warned[: len(plan.warnings)] == list(plan.warnings) != []
    # Main has another newest snapshot, and its interval asks for a savepoint.
    assert any("as savepoint 1" in line for line in warned)
    assert any(record.levelno == logging.INFO for record in ours)
