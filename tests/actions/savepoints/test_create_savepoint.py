"""A savepoint keeps what it says, under an id of its own, or nothing of it is there."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import fastavro
import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.registry import action
from paimark.core.errors import NotFound, Refused, UsageError
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.savepoints import SavepointManager
from tests.actions.acting import (
    EVENTS,
    ORDERS,
    Meanwhile,
    applied,
    codes,
    contents,
    context_on,
    done,
    planned,
    texts,
)
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit, create_table, open_table
from tests.wording import about


def test_it_holds_the_newest_snapshot_with_a_tag_of_the_same_bytes(context: Context, orders: Path) -> None:
    outcome = done(context, "create-savepoint", comment=" before the fix ")

    assert outcome.result == {
        "savepoint_id": 1,
        "saved_snapshot_id": 5,
        "schema_id": 0,
        "record_count": 20,
        "branch": "main",
    }
    assert (orders / "tag/tag-savepoint.1").read_bytes() == (orders / "snapshot/snapshot-5").read_bytes()
    savepoint = SavepointManager(context.files, ORDERS).savepoint(1)
    assert (savepoint.comment, savepoint.created_by, savepoint.branch) == ("before the fix", "manual", "main")
    assert savepoint.snapshot_time == Lineage(context.files, ORDERS.root()).snapshot(5).time_millis
    assert savepoint.verified_at is not None and savepoint.verified_at >= savepoint.save_time
    assert (orders / "savepoint/LATEST").read_bytes() == b"1"
    assert not list(orders.glob("savepoint/CLAIM-*"))


def test_its_manifest_list_is_the_snapshots_base_and_delta_in_one(context: Context, orders: Path) -> None:
    done(context, "create-savepoint")

    snapshot = Lineage(context.files, ORDERS.root()).snapshot(5)
    savepoint = SavepointManager(context.files, ORDERS).savepoint(1)
    both = [snapshot.base_manifest_list, snapshot.delta_manifest_list]
    wanted = [record for name in both for record in _records(orders / "manifest" / name)]
    assert len(wanted) == 5
    assert _records(orders / "savepoint" / savepoint.full_manifest_list) == wanted


def test_rows_of_an_expired_snapshot_are_read_by_the_savepoints_tag(
    context: Context, warehouse: Path, orders: Path
) -> None:
    done(context, "create-savepoint", snapshot=2)
    for number in (1, 2, 3):
        (orders / f"snapshot/snapshot-{number}").unlink()

    table = open_table(warehouse, "shop.orders").copy({"scan.tag-name": "savepoint.1"})
    builder = table.new_read_builder()
    rows = builder.new_read().to_arrow(builder.new_scan().plan().splits()).to_pylist()
    assert {row["order_id"]: row["price"] for row in rows} == {1: 11.0, 2: 22.0, 3: 23.0, 4: 24.0, 5: 25.0}


def test_ids_go_on_over_all_roots_and_past_foreign_tags_claims_and_the_hint(
    context: Context, orders: Path
) -> None:
    done(context, "create-branch", name="b", tag="v2")
    assert done(context, "create-savepoint").result["savepoint_id"] == 1
    assert done(context, "create-savepoint", branch="b").result["savepoint_id"] == 2
    (orders / "branch/branch-b/tag/tag-savepoint.5").write_bytes((orders / "tag/tag-v2").read_bytes())
    assert done(context, "create-savepoint").result["savepoint_id"] == 6
    (orders / "savepoint/CLAIM-9").write_bytes(b"{}")
    assert done(context, "create-savepoint").result["savepoint_id"] == 10
    (orders / "savepoint/LATEST").write_bytes(b"20")
    assert done(context, "create-savepoint").result["savepoint_id"] == 21
    assert (orders / "savepoint/LATEST").read_bytes() == b"21"


def test_the_hint_is_not_lowered_by_a_slower_creator(context: Context, warehouse: Path, orders: Path) -> None:
    def another_finishes() -> None:
        assert done(context, "create-savepoint").result["savepoint_id"] == 2

    slow = context_on(warehouse, Meanwhile(context.files, "CLAIM-1", another_finishes))
    with_gap = done(slow, "create-savepoint").result["savepoint_id"]

    assert with_gap == 3, "the hint says that 2 was given: whether 1 was can't be told any more"
    assert (orders / "savepoint/LATEST").read_bytes() == b"3"
    assert not list(orders.glob("savepoint/CLAIM-*"))


def test_a_tag_that_appears_under_the_claimed_id_is_left_alone(
    context: Context, warehouse: Path, orders: Path
) -> None:
    foreign = (orders / "tag/tag-v2").read_bytes()

    def a_stock_engine_tags() -> None:
        (orders / "tag/tag-savepoint.1").write_bytes(foreign)

    files = Meanwhile(context.files, "CLAIM-1", a_stock_engine_tags)
    assert done(context_on(warehouse, files), "create-savepoint").result["savepoint_id"] == 2
    assert (orders / "tag/tag-savepoint.1").read_bytes() == foreign


def test_an_older_snapshot_is_proven_file_by_file_twice(context: Context) -> None:
    told: list[str] = []
    plan = planned(context, "create-savepoint", snapshot=3)
    assert about("every file", "twice").search(texts(plan, "how")[0])

    applied(replace(context, verify_wait=0.001), plan, told)

    assert len([*filter(about("all 11 files", "snapshot 3").search, told)]) == 3
    assert any(line.startswith("waiting 0.001 s") for line in told)


def test_a_lost_snapshot_is_refused_and_nothing_stays(context: Context, orders: Path) -> None:
    # Of the first commit, so that snapshot 4 needs it whatever order a listing has.
    data = min(orders.glob("bucket-0/*.parquet"), key=lambda path: path.stat().st_mtime_ns)
    data.unlink()
    before = contents(orders)

    with pytest.raises(Refused, match=about("snapshot 4", "kept", data.name)):
        done(context, "create-savepoint", snapshot=4)

    assert contents(orders) == before


def test_a_branch_that_lost_files_to_main_is_not_said_to_be_kept(context: Context, orders: Path) -> None:
    done(context, "create-branch", name="b", tag="v2")
    told: list[str] = []
    applied(context, planned(context, "create-savepoint", branch="b"), told)
    assert len([*filter(about("all 8 files", "snapshot 2").search, told)]) == 2

    tag = Lineage(context.files, ORDERS.root()).tag("v2")
    (orders / "manifest" / tag.base_manifest_list).unlink()
    with pytest.raises(Refused, match=about("snapshot 2", "shop.orders", "kept")):
        done(context, "create-savepoint", branch="b")
    assert not (orders / "branch/branch-b/tag/tag-savepoint.2").exists()


def test_an_expiry_that_was_faster_undoes_an_explicit_one(
    context: Context, warehouse: Path, orders: Path
) -> None:
    snapshot = Lineage(context.files, ORDERS.root()).snapshot(3)
    delta = orders / "manifest" / snapshot.delta_manifest_list
    files = Meanwhile(context.files, "tag-savepoint.1", delta.unlink)

    with pytest.raises(Refused, match=about("snapshot 3", "shop.orders", "kept")):
        done(context_on(warehouse, files), "create-savepoint", snapshot=3)

    assert not (orders / "tag/tag-savepoint.1").exists()
    assert not [path for path in orders.glob("savepoint/*") if path.name != "LATEST"]


def test_an_expiry_that_was_faster_makes_it_take_the_newer_newest(
    context: Context, warehouse: Path, orders: Path
) -> None:
    snapshot = Lineage(context.files, ORDERS.root()).snapshot(5)

    def commit_and_expire() -> None:
        rows = {"order_id": [99], "customer": ["c"], "price": [1.0]}
        commit(warehouse, "shop.orders", pa.table(rows, schema=ORDERS_SCHEMA))
        (orders / "manifest" / snapshot.delta_manifest_list).unlink()
        (orders / "snapshot/snapshot-5").unlink()

    files = Meanwhile(context.files, "tag-savepoint.1", commit_and_expire)
    outcome = done(context_on(warehouse, files), "create-savepoint")

    assert outcome.result["saved_snapshot_id"] == 6
    assert [path.name for path in orders.glob("tag/tag-savepoint.*")] == ["tag-savepoint.1"]


def test_a_commit_after_the_plan_does_not_change_what_is_saved(
    context: Context, warehouse: Path, orders: Path
) -> None:
    plan = planned(context, "create-savepoint")
    rows = {"order_id": [99], "customer": ["c"], "price": [1.0]}
    commit(warehouse, "shop.orders", pa.table(rows, schema=ORDERS_SCHEMA))

    assert applied(context, plan).result["saved_snapshot_id"] == 5


def test_a_snapshot_that_is_another_since_the_plan_is_refused(context: Context, orders: Path) -> None:
    plan = planned(context, "create-savepoint")
    fourth = (orders / "snapshot/snapshot-4").read_text()
    (orders / "snapshot/snapshot-5").write_text(re.sub(r'"id" ?: ?4', '"id": 5', fourth))
    with pytest.raises(Refused, match=about("main", "shop.orders", "plan")):
        applied(context, plan)

    (orders / "snapshot/snapshot-5").unlink()
    before = contents(orders)
    with pytest.raises(Refused, match=about("main", "shop.orders", "plan")):
        applied(context, plan)
    assert contents(orders) == before


def test_main_moving_to_a_branch_since_the_plan_is_refused(context: Context, orders: Path) -> None:
    done(context, "create-branch", name="b", tag="v2")
    plan = planned(context, "create-savepoint", snapshot=2)
    (orders / "branch/MAIN-BRANCH").write_bytes(b"b")

    with pytest.raises(Refused, match=about("main", "shop.orders", "plan")):
        applied(context, plan)


def test_a_file_lying_outside_the_warehouse_can_only_be_kept_with_the_newest(
    context: Context, warehouse: Path, tmp_path: Path
) -> None:
    outside = {
        "data-file.external-paths": f"file://{tmp_path}/outside",
        "data-file.external-paths.strategy": "round-robin",
    }
    create_table(warehouse, "shop.far", ORDERS_SCHEMA, options=outside)
    for number in (1, 2):
        rows = {"order_id": [number], "customer": ["c"], "price": [1.0]}
        commit(warehouse, "shop.far", pa.table(rows, schema=ORDERS_SCHEMA))
    far = TablePath("shop", "far")

    assert done(context, "create-savepoint", table=far).result["savepoint_id"] == 1
    with pytest.raises(Refused, match=about("snapshot 1", "1 file", "outside")):
        done(context, "create-savepoint", table=far, snapshot=1)


def test_the_plan_says_what_a_person_should_know(context: Context, orders: Path) -> None:
    done(context, "create-savepoint")
    done(context, "create-branch", name="b", tag="v2")
    plan = planned(context, "create-savepoint")
    assert about("main", "shop.orders", "savepoint 2 (snapshot 5, 20 records)").search(plan.headline)
    until, already = plan.kept
    assert about("rows", "expiry", "until", "savepoint 2").search(until)
    assert about("savepoint 1", "same snapshot").search(already)
    assert (plan.undo, codes(plan), codes(planned(context, "create-savepoint", branch="b"))) == (
        *("paimark undo shop.orders", [], []),
    )

    schema = orders / "branch/branch-b/schema/schema-0"
    schema.write_bytes((orders / "schema/schema-0").read_bytes())
    assert codes(planned(context, "create-savepoint", branch="b"), "affects") == ["stock-expiry"]


def test_what_is_not_there_is_said(context: Context, warehouse: Path) -> None:
    with pytest.raises(NotFound, match=about("main", "shop.orders", "no snapshot 9")) as missing:
        planned(context, "create-savepoint", snapshot=9)
    assert missing.value.hint == "It has 1 to 5."
    with pytest.raises(NotFound, match="no branch x"):
        planned(context, "create-savepoint", branch="x")
    with pytest.raises(UsageError, match=about("snapshot", "whole number")):
        planned(context, "create-savepoint", snapshot="three")
    with pytest.raises(NotFound):
        planned(context, "create-savepoint", table=TablePath("shop", "nothing"))

    create_table(warehouse, "shop.empty", ORDERS_SCHEMA)
    plan = planned(context, "create-savepoint", table=TablePath("shop", "empty"))
    assert about("main", "shop.empty", "no snapshot").search(plan.refusals[0].reason)
    with pytest.raises(Refused, match=about("shop.empty", "no snapshot")):
        applied(context, plan)


def test_an_append_table_by_day_is_saved_and_proven_by_its_partitions(
    context: Context, warehouse: Path
) -> None:
    assert done(context, "create-savepoint", table=EVENTS, snapshot=1).result["record_count"] == 3
    next(iter((warehouse / "shop.db/events/day=2026-05-01").rglob("*.parquet"))).unlink()
    with pytest.raises(Refused, match="day=2026-05-01"):
        done(context, "create-savepoint", table=EVENTS, snapshot=1)


def test_ten_processes_at_once_make_ten_savepoints(warehouse: Path, orders: Path) -> None:
    # Nothing that takes a second to import: they are to meet.
    code = (
        "import sys; from paimark.core.actions.context import open_context\n"
        "from paimark.core.actions.registry import action; from paimark.core.table.layout import TablePath\n"
        "context = open_context(sys.argv[1], {}, read_only=False); create = action('create-savepoint')\n"
        "plan = create.plan(context, TablePath('shop', 'orders'), {})\n"
        "print(create.apply(context, plan, lambda line: None).result['savepoint_id'])"
    )
    command = [sys.executable, "-c", code, str(warehouse)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(10)]
    given = sorted(int(process.communicate()[0]) for process in processes)

    assert len(set(given)) == 10
    manager = SavepointManager(LocalFiles(str(warehouse)), ORDERS)
    made = manager.all()
    assert [each.id for each in made] == given
    assert [each.id for each in manager.of_root(ORDERS.root())] == given
    assert len({each.full_manifest_list for each in made}) == 10
    for each in made:
        assert len(_records(orders / "savepoint" / each.full_manifest_list)) == 5
    assert (orders / "savepoint/LATEST").read_bytes() == str(given[-1]).encode()
    assert not list(orders.glob("savepoint/CLAIM-*"))


def test_each_one_is_told_in_the_audit_log(context: Context) -> None:
    done(context, "create-savepoint", comment="c")
    done(context, "create-savepoint")

    first, second = (json.loads(line) for line in context.audit_path.read_text().splitlines())
    assert first["action"] == "create-savepoint" and first["table"] == "shop.orders"
    assert (first["before"], first["after"]) == ("no savepoint", "savepoint 1 of snapshot 5")
    assert second["before"] == "newest savepoint 1"
    assert (first["user"], first["arguments"]["comment"]) == (context.user, "c")
    assert first["milliseconds"] >= 0


@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "device", "directory"])
def test_what_is_no_audit_log_is_refused_before_anything_is_changed(
    context: Context, orders: Path, tmp_path: Path, kind: str
) -> None:
    log = context.audit_path
    log.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(log)
    elif kind == "link to a pipe":
        os.mkfifo(tmp_path / "pipe")
        log.symlink_to(tmp_path / "pipe")
    elif kind == "device":
        log.symlink_to("/dev/null")
    else:
        log.mkdir()
    before = contents(orders)
    changes: dict[str, dict[str, object]] = {
        "create-savepoint": {},
        "create-tag": {"name": "t"},
        "create-branch": {"name": "b", "tag": "v2"},
        "delete-tag": {"name": "v2"},
    }
    for name, arguments in changes.items():
        with pytest.raises(Refused, match=about("audit log", context.audit_path, "regular file")):
            applied(context, action(name).plan(context, ORDERS, arguments))
    assert contents(orders) == before


def test_a_log_that_becomes_a_pipe_meanwhile_is_not_waited_for(context: Context) -> None:
    plan = planned(context, "create-savepoint")
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        if not context.audit_path.exists():
            context.audit_path.parent.mkdir(parents=True, exist_ok=True)
            os.mkfifo(context.audit_path)

    assert action("create-savepoint").apply(context, plan, tell).result["savepoint_id"] == 1
    assert about("audit", "not", "written").search(told[-1])


def test_an_audit_log_that_cant_be_written_does_not_fail_the_change(context: Context, orders: Path) -> None:
    told: list[str] = []
    elsewhere = replace(context, audit_path=orders / "schema/schema-0" / "audit.jsonl")

    outcome = applied(elsewhere, planned(context, "create-savepoint"), told)

    assert outcome.result["savepoint_id"] == 1
    assert about("audit", "not", "written").search(told[-1])


def _records(path: Path) -> list[object]:
    return list(fastavro.reader(io.BytesIO(path.read_bytes())))
