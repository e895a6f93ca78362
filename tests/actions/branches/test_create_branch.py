"""A branch from a tag of main stands on its own feet, whatever main has lost since."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from pypaimon.catalog.catalog_exception import TableNotExistException

from paimark.core.actions.change import journal
from paimark.core.actions.change.journal import new_token
from paimark.core.actions.change.owner import running, this_process
from paimark.core.actions.context import Context
from paimark.core.actions.registry import action
from paimark.core.actions.roots.savepoint_claim import Claim
from paimark.core.cli.checks import doctor
from paimark.core.cli.options import GlobalOptions
from paimark.core.errors import NotFound, Refused, Unavailable
from paimark.core.table.definition.retention import RETENTION_OFF, retention_options
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.branches import branch_rows
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_names
from paimark.core.table.manifests.files import snapshot_facts
from paimark.core.verify import verify
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
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit, create_table, open_table, read_rows
from tests.table.branches import fast_forward
from tests.wording import about

NEVER = "2147483647"


def test_its_rows_are_those_of_the_tag_and_it_takes_commits(context: Context, warehouse: Path) -> None:
    done(context, "create-branch", name="fix", tag="v2")

    branch = "shop.orders$branch_fix"
    assert sorted(row["order_id"] for row in read_rows(warehouse, branch)) == [1, 2, 3, 4, 5]
    rows = {"order_id": [1], "customer": ["fixed"], "price": [0.5]}
    commit(warehouse, branch, pa.table(rows, schema=ORDERS_SCHEMA))
    assert {"order_id": 1, "customer": "fixed", "price": 0.5} in read_rows(warehouse, branch)
    assert len(read_rows(warehouse, "shop.orders")) == 8
    assert Lineage(context.files, ORDERS.root("fix")).snapshot_ids() == [2, 3]


def test_it_copies_byte_for_byte_and_switches_stock_expiry_off(context: Context, orders: Path) -> None:
    done(context, "create-branch", name="fix", tag="v2")

    root = orders / "branch/branch-fix"
    assert (root / "tag/tag-v2").read_bytes() == (orders / "tag/tag-v2").read_bytes()
    assert (root / "snapshot/snapshot-2").read_bytes() == (orders / "snapshot/snapshot-2").read_bytes()
    assert [(root / f"snapshot/{hint}").read_bytes() for hint in ("EARLIEST", "LATEST")] == [b"2", b"2"]
    mains = msgspec.json.decode((orders / "schema/schema-0").read_bytes())
    assert msgspec.json.decode((root / "schema/schema-0").read_bytes()) == {
        **mains,
        "options": {**mains["options"], **RETENTION_OFF},
    }
    assert not (orders / "branch/ACTION").exists()


def test_it_is_made_from_an_expired_snapshot(context: Context, warehouse: Path, orders: Path) -> None:
    expected = Lineage(context.files, ORDERS.root()).snapshot(2)
    for number in (1, 2, 3):
        (orders / f"snapshot/snapshot-{number}").unlink()

    done(context, "create-branch", name="fix", tag="v2")

    assert Lineage(context.files, ORDERS.root("fix")).snapshot(2) == expected
    assert len(read_rows(warehouse, "shop.orders$branch_fix")) == 5


def test_a_tag_with_a_time_to_live_leaves_it_out_of_the_snapshot(context: Context, orders: Path) -> None:
    done(context, "create-tag", name="short", snapshot=3, retain="7 d")
    expected = msgspec.json.decode((orders / "snapshot/snapshot-3").read_bytes())
    (orders / "snapshot/snapshot-3").unlink()

    plan = planned(context, "create-branch", name="fix", tag="short")
    assert item(plan, "tag-needed").names == ("paimark.merge.fix.3",)
    assert "by tag paimark.merge.fix.3: tag short lives until " in texts(plan, "keeps")[0]
    applied(context, plan)

    root = orders / "branch/branch-fix"
    assert msgspec.json.decode((root / "snapshot/snapshot-3").read_bytes()) == expected
    assert (root / "tag/tag-short").read_bytes() == (orders / "tag/tag-short").read_bytes()


@pytest.mark.parametrize("name", ["2026-05-01", "short"])
def test_what_engines_delete_by_themselves_is_pinned_while_the_branch_lives(
    context: Context, warehouse: Path, orders: Path, name: str
) -> None:
    """A tag that has its time, or that they made: no other tag of main keeps the files of the branch."""
    if name == "short":
        done(context, "create-tag", name=name, snapshot=3, retain="7 d")
    else:
        open_table(warehouse, "shop.orders").create_tag(name, 3)
    done(context, "create-branch", name="fix", tag=name)
    expected = read_rows(warehouse, "shop.orders$branch_fix")

    main, branch = (Lineage(context.files, ORDERS.root(each)) for each in (None, "fix"))
    assert {"paimark.merge.fix.3", name} <= {*main.tag_names()} and branch.has_tag("paimark.merge.fix.3")
    assert main.tag("paimark.merge.fix.3").tag_time_retained is None
    done(context, "delete-tag", name=name)
    replace_rows(warehouse)
    done(context, "expire-snapshots", retain_last=1)
    assert read_rows(warehouse, "shop.orders$branch_fix") == expected
    assert planned(context, "delete-tag", name="paimark.merge.fix.3").refusals
    done(context, "delete-branch", name="fix")
    assert main.tag_names() == ["v2"]


def test_a_branch_that_is_not_made_leaves_no_pin(context: Context, warehouse: Path, orders: Path) -> None:
    done(context, "create-tag", name="short", snapshot=3, retain="7 d")
    before = contents(orders)
    plan = planned(context, "create-branch", name="b", tag="short")
    files = Meanwhile(context.files, "tag/tag-paimark.merge.b.3", (orders / "tag/tag-short").unlink)
    with pytest.raises(Refused, match=about("tag-short", "plan")):
        applied(context_on(warehouse, files), plan)
    del before["tag/tag-short"]
    assert contents(orders) == before


@pytest.mark.parametrize("lost", ["tag", "tag with its list", "pin", "data file"])
def test_what_an_expiry_deletes_that_did_not_know_the_pin_is_not_branched_from(
    context: Context, warehouse: Path, orders: Path, lost: str
) -> None:
    """It has read the tags right before: then it deletes the tag, and files that only this kept."""
    done(context, "create-tag", name="short", snapshot=3, retain="7 d")
    replace_rows(warehouse)
    done(context, "delete-tag", name="v2")
    done(context, "expire-snapshots", retain_last=1)
    tag = Lineage(context.files, ORDERS.root()).tag("short")
    data_file = next(each.name for each in snapshot_facts(context.files, ORDERS, tag))
    goes = {
        "tag": ["tag/tag-short"],
        "tag with its list": ["tag/tag-short", f"manifest/{tag.base_manifest_list}"],
        "pin": ["tag/tag-paimark.merge.b.3"],
        "data file": [f"bucket-*/{data_file}"],
    }
    before = contents(orders)

    def tell(line: str) -> None:
        if line.startswith("waiting"):
            assert not (orders / "branch/branch-b").exists()
            for path in goes[lost]:
                [gone] = orders.glob(path)
                gone.unlink()

    plan = planned(context, "create-branch", name="b", tag="short")
    with pytest.raises(Refused):
        action(plan.action).apply(replace(context, verify_wait=0.001), plan, tell)
    assert {*contents(orders)} <= {*before}, "nothing is left of it"


def test_a_branch_of_a_tag_that_nobody_deletes_by_himself_does_not_wait(context: Context) -> None:
    said: list[str] = []
    plan = planned(context, "create-branch", name="b", tag="v2")
    action(plan.action).apply(replace(context, verify_wait=1000), plan, said.append)
    assert not [line for line in said if line.startswith("waiting")]


def test_a_pin_of_another_snapshot_is_left_alone(context: Context, warehouse: Path, orders: Path) -> None:
    done(context, "create-tag", name="short", snapshot=3, retain="7 d")
    (orders / "tag/tag-paimark.merge.b.3").write_bytes((orders / "snapshot/snapshot-2").read_bytes())
    before = contents(orders)
    with pytest.raises(Refused, match=about("tag-paimark.merge.b.3", "another", "snapshot 2")):
        done(context, "create-branch", name="b", tag="short")
    assert contents(orders) == before


def test_a_tag_whose_time_is_over_is_refused(context: Context) -> None:
    done(context, "create-tag", name="short", retain="1 h")
    later = context.clock() + 2 * 3_600_000
    plan = planned(replace(context, clock=lambda: later), "create-branch", name="fix", tag="short")
    assert about("tag short", "time", "deleted").search(plan.refusals[0].reason)


def test_a_savepoint_is_a_tag(context: Context, orders: Path) -> None:
    done(context, "create-savepoint")
    outcome = done(context, "create-branch", name="fix", tag="savepoint.1")
    assert outcome.result == {"branch_name": "fix", "tag_name": "savepoint.1", "snapshot_id": 5}


def test_a_savepoint_that_is_still_being_made_is_not_branched_from(context: Context, orders: Path) -> None:
    done(context, "create-savepoint")
    claim = Claim(
        id=1,
        token=new_token(),
        snapshot_id=5,
        tag_digest="",
        full_manifest_list="manifest-list-x",
        save_time=0,
        created_by="manual",
        owner=this_process(context),
    )
    (orders / "savepoint/CLAIM-1").write_bytes(claim.to_json())
    plan = planned(context, "create-branch", name="fix", tag="savepoint.1")
    assert about("savepoint 1", "being made").search(plan.refusals[0].reason)


def test_one_schema_is_told_as_one(context: Context) -> None:
    said: list[str] = []
    applied(context, planned(context, "create-branch", name="fix", tag="v2"), said)
    assert any(about("copied", "schema 0", "retention").search(line) for line in said)


def _with_newer_files(context: Context, warehouse: Path) -> TablePath:
    """pypaimon stamps files with the schema its session had: schema 1 in files of snapshots of schema 0."""
    create_table(warehouse, "shop.wide", ORDERS_SCHEMA)
    wide = TablePath(ORDERS.database, "wide")
    first = warehouse / "shop.db/wide/schema/schema-0"
    newer = {**msgspec.json.decode(first.read_bytes()), "id": 1}
    (first.parent / "schema-1").write_bytes(msgspec.json.encode(newer))
    rows = {"order_id": [1], "customer": ["c"], "price": [1.0]}
    commit(warehouse, "shop.wide", pa.table(rows, schema=ORDERS_SCHEMA))
    snapshot = warehouse / "shop.db/wide/snapshot/snapshot-1"
    stale = {**msgspec.json.decode(snapshot.read_bytes()), "schemaId": 0}
    snapshot.write_bytes(msgspec.json.encode(stale))
    done(context, "create-tag", table=wide, name="t")
    return wide


@pytest.mark.parametrize("has_commits", [True, False])
def test_a_recovery_leaves_a_branch_alone_that_another_engine_made_since(
    context: Context, warehouse: Path, has_commits: bool
) -> None:
    """Other engines copy the schemas up to that of the snapshot, and no more."""
    wide, branch = _with_newer_files(context, warehouse), warehouse / "shop.db/wide/branch/branch-b"

    def dies() -> None:
        raise SystemExit

    plan = planned(context, "create-branch", table=wide, name="b", tag="t")
    with suppress(SystemExit):
        applied(context_on(warehouse, Meanwhile(context.files, "branch-b/tag/tag-t", dies)), plan)
    shutil.rmtree(branch)
    open_table(warehouse, "shop.wide").branch_manager().create_branch("b", "t")
    if has_commits:
        rows = {"order_id": [2], "customer": ["by a job"], "price": [0.5]}
        commit(warehouse, "shop.wide$branch_b", pa.table(rows, schema=ORDERS_SCHEMA))
    before = contents(branch)
    assert not planned(context, "recover", table=wide).empty
    done(context, "recover", table=wide)
    assert contents(branch) == before


def test_schemas_up_to_the_highest_in_any_data_file_are_copied(context: Context, warehouse: Path) -> None:
    wide, first = _with_newer_files(context, warehouse), warehouse / "shop.db/wide/schema/schema-0"

    done(context, "create-branch", table=wide, name="b", tag="t")

    lineage = Lineage(context.files, wide.root("b"))
    assert lineage.schema_ids() == [0, 1]
    options = [lineage.schema(number).options for number in (0, 1)]
    assert "snapshot.num-retained.max" not in options[0]
    assert options[1]["snapshot.num-retained.max"] == NEVER
    assert read_rows(warehouse, "shop.wide$branch_b") == [{"order_id": 1, "customer": "c", "price": 1.0}]

    (first.parent / "schema-0").unlink()
    plan = planned(context, "create-branch", table=wide, name="c", tag="t")
    assert about("shop.db/wide/schema/schema-0", "exist").search(plan.refusals[0].reason)


def test_a_tag_that_lost_its_manifests_is_refused(context: Context, orders: Path) -> None:
    tag = Lineage(context.files, ORDERS.root()).tag("v2")
    (orders / "manifest" / tag.delta_manifest_list).unlink()
    plan = planned(context, "create-branch", name="b", tag="v2")
    assert about("tag v2", "shop.db/orders/manifest/").search(plan.refusals[0].reason)


def test_a_tag_of_another_branch_is_not_found_and_said(context: Context) -> None:
    done(context, "create-branch", name="b", tag="v2")
    done(context, "create-tag", name="on_b", branch="b")
    with pytest.raises(NotFound, match="no tag on_b") as missing:
        planned(context, "create-branch", name="c", tag="on_b")
    assert about("branch b", "main").search(missing.value.hint)
    with pytest.raises(NotFound) as near:
        planned(context, "create-branch", name="c", tag="V2")
    assert about("v2").search(near.value.hint)


def test_a_branch_that_is_there_is_refused_and_stays_as_it_is(context: Context, orders: Path) -> None:
    early = planned(context, "create-branch", name="b", tag="v2")
    done(context, "create-branch", name="b", tag="v2")
    before = contents(orders)

    with pytest.raises(Refused, match=about("shop.orders", "branch b already")):
        done(context, "create-branch", name="b", tag="v2")
    with pytest.raises(Refused, match=about("shop.orders", "branch b already")):
        applied(context, early)
    assert contents(orders) == before


def test_a_branch_made_by_a_stock_engine_meanwhile_is_left_alone(
    context: Context, warehouse: Path, orders: Path
) -> None:
    def stock_creates() -> None:
        open_table(warehouse, "shop.orders").branch_manager().create_branch("b", "v2")

    plan = planned(context, "create-branch", name="b", tag="v2")
    files = Meanwhile(context.files, "branch/ACTION", stock_creates)
    with pytest.raises(Refused, match=about("branch b already")):
        applied(context_on(warehouse, files), plan)

    assert {path.name for path in orders.glob("branch/branch-b/*/*")} >= {"schema-0", "tag-v2", "snapshot-2"}
    assert not (orders / "branch/ACTION").exists()


@pytest.mark.parametrize(
    "after", ["schema/schema-0", "tag/tag-v2", "snapshot/snapshot-2", "snapshot/EARLIEST", "snapshot/LATEST"]
)
def test_a_job_that_writes_to_it_meanwhile_fails_or_is_read(
    context: Context, warehouse: Path, orders: Path, after: str
) -> None:
    """A commit that succeeds is not hidden: it stands on the tag's rows, and everybody reads it."""
    committed = []

    def job_commits() -> None:
        findings = list(doctor._table(GlobalOptions(warehouse=str(warehouse)), "shop.orders"))
        assert verify(context, ORDERS).is_whole and "broken" not in {each.state for each in findings}
        rows = {"order_id": [1], "customer": ["by a job"], "price": [0.5]}
        with suppress(TableNotExistException):
            commit(warehouse, "shop.orders$branch_b", pa.table(rows, schema=ORDERS_SCHEMA))
            committed.append("by a job")

    plan = planned(context, "create-branch", name="b", tag="v2")
    applied(context_on(warehouse, Meanwhile(context.files, f"branch-b/{after}", job_commits)), plan)

    assert committed or after != "schema/schema-0", "nobody can open it before it has a schema"
    rows = read_rows(warehouse, "shop.orders$branch_b")
    assert [row["customer"] for row in rows if row["order_id"] == 1] == (committed or ["c1"])
    assert len(rows) == 5


def test_a_branch_whose_tag_main_lost_is_told(context: Context, warehouse: Path, orders: Path) -> None:
    """Another engine deleted it, or rolled main back past it: a stock expiry takes files of the branch."""

    def told() -> list[tuple[str, str]]:
        findings = doctor._table(GlobalOptions(warehouse=str(warehouse)), "shop.orders")
        return [(each.detail, each.hint) for each in findings if each.state == "warning"]

    done(context, "create-branch", name="b", tag="v2")
    assert told() == []
    (orders / "tag/tag-v2").unlink()
    [(detail, hint)] = told()
    assert about("main", "lost", "tag v2", "expiry").search(detail)
    assert about("paimark create-tag shop.orders --name v2 --snapshot 2").search(hint)
    done(context, "create-tag", name="v2", snapshot=2)
    assert told() == []
    for path in (orders / "tag/tag-v2", *(orders / f"snapshot/snapshot-{number}" for number in (2, 3, 4, 5))):
        path.unlink()
    assert about("main", "lost", "snapshot", "paimark expire-snapshots").search(told()[0][1])


def test_what_a_fast_forward_of_another_engine_leaves_is_told(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """No tag holds what main and the branch are by then, and the branch's options keep main from expiring."""

    def told() -> list[tuple[str, str]]:
        findings = doctor._table(GlobalOptions(warehouse=str(warehouse)), "shop.orders")
        return [(each.detail, each.hint) for each in findings if each.state == "warning"]

    def warned(action: str, **arguments: object) -> bool:
        warnings = planned(context, action, ORDERS, **arguments).warnings
        return any(about("main", "snapshot 3", "no tag").search(each) for each in warnings)

    def job_commits() -> None:
        rows = {"order_id": [1], "customer": ["by a job"], "price": [0.5]}
        commit(warehouse, "shop.orders$branch_b", pa.table(rows, schema=ORDERS_SCHEMA))

    done(context, "create-branch", name="b", tag="v2")
    job_commits()
    fast_forward(orders, "b")
    (endless, unset), (unheld, tag_it) = told()
    assert about("stock engines", "expire nothing", "fast-forward").search(endless)
    assert about("tag", f'paimark alter-branch-schema shop.orders --unset "{retention_options()}"').search(
        unset
    )
    assert about("main", "snapshot 3", "no tag").search(unheld)
    assert about("paimark create-tag shop.orders --name shared-3 --snapshot 3").search(tag_it)
    assert {row.branch_name: row.health for row in branch_rows(context.files, ORDERS)} == {
        "main": "endless",
        "b": "unheld",
    }
    assert not warned("create-savepoint", branch="b"), "its tag goes to main, too"
    job_commits()
    assert warned("create-savepoint", branch="b")
    assert warned("create-tag", branch="b", name="new")
    assert not warned("create-savepoint")
    done(context, "create-tag", name="shared-3", snapshot=3)
    done(context, "alter-branch-schema", unset=retention_options())
    assert told() == []
    assert not warned("create-savepoint", branch="b")
    assert {row.health for row in branch_rows(context.files, ORDERS)} == {"ok"}


def test_a_failure_after_a_job_wrote_to_it_leaves_the_jobs_rows(
    context: Context, warehouse: Path, orders: Path
) -> None:
    def job_commits_and_store_fails() -> None:
        rows = {"order_id": [1], "customer": ["by a job"], "price": [0.5]}
        commit(warehouse, "shop.orders$branch_b", pa.table(rows, schema=ORDERS_SCHEMA))
        raise Unavailable("the store is gone")

    plan = planned(context, "create-branch", name="b", tag="v2")
    files = Meanwhile(context.files, "branch-b/schema/schema-0", job_commits_and_store_fails)
    applied(context_on(warehouse, files), plan)

    assert "by a job" in [row["customer"] for row in read_rows(warehouse, "shop.orders$branch_b")]
    assert not (orders / "branch/ACTION").exists()


def test_a_tag_deleted_meanwhile_undoes_the_branch_with_its_directory(
    context: Context, warehouse: Path, orders: Path
) -> None:
    plan = planned(context, "create-branch", name="b", tag="v2")
    files = Meanwhile(context.files, "branch-b/tag/tag-v2", (orders / "tag/tag-v2").unlink)

    with pytest.raises(Refused, match=about("tag-v2", "plan")):
        applied(context_on(warehouse, files), plan)

    assert branch_names(context.files, ORDERS) == []
    assert not (orders / "branch/branch-b").exists(), "stock orphan cleaning stops at an empty branch"
    assert not (orders / "branch/ACTION").exists()


def test_a_tag_that_is_another_since_the_plan_is_refused(context: Context, orders: Path) -> None:
    plan = planned(context, "create-branch", name="b", tag="v2")
    (orders / "tag/tag-v2").write_bytes((orders / "snapshot/snapshot-4").read_bytes())
    before = contents(orders)
    with pytest.raises(Refused, match=about("main", "shop.orders", "plan")):
        applied(context, plan)
    assert contents(orders) == before


def test_two_exclusive_changes_never_run_at_once(context: Context, orders: Path) -> None:
    plan = planned(context, "create-branch", name="b", tag="v2")
    token = new_token()
    with running(context, ORDERS, token):
        hold = journal.take(context, ORDERS, plan, token, "create-branch", {})
        second = planned(context, "create-branch", name="c", tag="v2")
        with pytest.raises(Refused, match=about("shop.orders", "held", "create-branch", "process*")):
            applied(context, plan)
    reason, hint = second.refusals[0].reason, second.refusals[0].hint
    assert about("shop.orders", "held", "create-branch").search(reason)
    assert about("wait", "`paimark recover shop.orders`").search(hint)
    assert not list(orders.glob("branch/branch-*"))
    hold.release()
    assert not planned(context, "create-branch", name="c", tag="v2").refusals


def test_hostile_names_are_refused(context: Context, orders: Path) -> None:
    before = contents(orders)
    for name in ("", " ", "main", "12", "a/b", "../x", "a\\b", "a$b", "a\x1b[31m", ".a", "é" * 101):
        plan = planned(context, "create-branch", name=name, tag="v2")
        assert len(plan.refusals) == 1, name
        with pytest.raises(Refused):
            applied(context, plan)
    assert contents(orders) == before


def test_when_a_tag_ends_is_reckoned_from_javas_numbers(context: Context, orders: Path) -> None:
    tag = msgspec.json.decode((orders / "tag/tag-v2").read_bytes())
    # Jackson leaves out seconds that are zero.
    tag |= {"tagCreateTime": [2030, 1, 2, 3, 4], "tagTimeRetained": 90.5}
    (orders / "tag/tag-v2").write_bytes(msgspec.json.encode(tag))
    ends = datetime(2030, 1, 2, 3, 4) + timedelta(seconds=90.5)
    for seconds, refused in ((-1, False), (1, True)):
        now = int((ends.timestamp() + seconds) * 1000)
        plan = planned(replace(context, clock=partial(int, now)), "create-branch", name="b", tag="v2")
        assert bool(plan.refusals) == refused
