"""`expire-snapshots` takes the oldest and spares what anything else needs."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.garbage import sweep
from paimark.core.actions.plan import Plan
from paimark.core.actions.registry import action
from paimark.core.errors import NotFound, PaimarkError, Refused, UsageError
from paimark.core.figures import moment
from paimark.core.storage.files import Files
from paimark.core.storage.local import LocalFiles
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import all_roots
from paimark.core.table.manifests.files import each_needed_file, missing_files
from tests.actions.acting import (
    EVENTS,
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
from tests.actions.histories import needed_by_all
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.faults.fault_files import Death, DiesAfter
from tests.paimon import commit, open_table, read_rows
from tests.storage.wrapped import Wrapped
from tests.wording import about


def snapshots(orders: Path) -> list[int]:
    return Lineage(LocalFiles(str(orders.parent.parent)), ORDERS.root()).snapshot_ids()


def reasons(plan: Plan) -> list[str]:
    return [refusal.reason for refusal in plan.refusals]


def missing(files: Files) -> list[str]:
    """Files that any reference needs and that are gone."""
    paths = []
    for root in all_roots(files, ORDERS):
        lineage = Lineage(files, root)
        for record in [*lineage.snapshots(), *(tag for _, tag in lineage.tags())]:
            paths += missing_files(files, each_needed_file(files, root, record))
    return paths


def set_options(orders: Path, **options: str) -> None:
    path = orders / "schema/schema-0"
    schema = msgspec.json.decode(path.read_bytes())
    schema["options"].update({name.replace("_", "."): value for name, value in options.items()})
    path.write_bytes(msgspec.json.encode(schema))


def set_time(orders: Path, snapshot_id: int, time_ms: int) -> None:
    path = orders / f"snapshot/snapshot-{snapshot_id}"
    path.write_bytes(msgspec.json.encode({**msgspec.json.decode(path.read_bytes()), "timeMillis": time_ms}))


def test_the_plan_frees_exactly_what_it_says(context: Context, warehouse: Path, orders: Path) -> None:
    replace_rows(warehouse)
    rows = read_rows(warehouse, "shop.orders")
    plan = planned(context, "expire-snapshots", retain_last=1)
    before = contents(orders)
    outcome = applied(context, plan)
    gone = before.keys() - contents(orders).keys()
    freed = {path for path in gone if not path.startswith("snapshot/")}
    assert gone - freed == {f"snapshot/snapshot-{number}" for number in range(1, 6)}
    assert plan.freed_files == len(freed) == outcome.result["freed_files"]
    assert plan.freed_bytes == sum(len(before[path]) for path in freed) == outcome.result["freed_bytes"]
    # Those of snapshots 1 and 2 are the tag's, which stays.
    assert len([path for path in freed if path.startswith("bucket-")]) == 6
    assert read_rows(warehouse, "shop.orders") == rows
    assert missing(context.files) == []


def test_nothing_unreferenced_is_left(context: Context, warehouse: Path, orders: Path) -> None:
    done(context, "create-savepoint", snapshot=4)
    replace_rows(warehouse)
    done(context, "expire-snapshots", retain_last=1)
    done(context, "delete-savepoint", id=1)
    done(context, "delete-tag", name="v2")
    there = {f"shop.db/orders/{name}" for name in contents(orders) if name.startswith(("manifest", "bucket"))}
    assert there == {path for path in needed_by_all(context.files, ORDERS) if "/savepoint/" not in path}


def test_hints_are_right_afterwards(context: Context, orders: Path) -> None:
    latest = (orders / "snapshot/LATEST").read_bytes()
    done(context, "expire-snapshots", retain_last=2)
    assert (orders / "snapshot/EARLIEST").read_bytes() == b"4"
    assert (orders / "snapshot/LATEST").read_bytes() == latest
    assert snapshots(orders) == [4, 5]


def test_savepoints_tags_and_branches_keep_their_files(
    context: Context, warehouse: Path, orders: Path
) -> None:
    done(context, "create-savepoint", snapshot=3)
    done(context, "create-branch", name="b", tag="v2")
    rows = read_rows(warehouse, "shop.orders$branch_b")
    replace_rows(warehouse)
    plan = planned(context, "expire-snapshots", retain_last=1)
    applied(context, plan)
    assert missing(context.files) == []
    assert read_rows(warehouse, "shop.orders$branch_b") == rows
    assert (item(plan, "version-gone").count, item(plan, "final").is_grave) == (3, True)
    assert texts(plan, "keeps") == ["snapshot 2 (tag v2); snapshot 3 (savepoint 1); snapshot 6"]
    # Tag v2, savepoint 1, branch b, and main.
    assert texts(plan, "frees")[0].endswith("; 4 others need the rest")


def test_a_branch_expires_and_main_keeps_its_files(context: Context, warehouse: Path) -> None:
    done(context, "create-branch", name="b", tag="v2")
    for number in (3, 4):
        rows = {"order_id": [number], "customer": ["b"], "price": [1.0]}
        commit(warehouse, "shop.orders$branch_b", pa.table(rows, schema=ORDERS_SCHEMA), overwrite=True)
    main, branch = read_rows(warehouse, "shop.orders"), read_rows(warehouse, "shop.orders$branch_b")
    plan = planned(context, "expire-snapshots", branch="b")
    assert plan.empty and about("every snapshot", "branch's", "options").search(plan.kept[0])
    outcome = done(context, "expire-snapshots", branch="b", retain_last=1)
    assert outcome.result["expired_snapshots"] == 2
    assert read_rows(warehouse, "shop.orders") == main
    assert read_rows(warehouse, "shop.orders$branch_b") == branch
    assert missing(context.files) == []


def test_partitions_expire_alike(context: Context, warehouse: Path) -> None:
    day = {"day": ["2026-05-01"], "kind": ["new"]}
    commit(warehouse, "shop.events", pa.table(day), overwrite=True)
    rows = read_rows(warehouse, "shop.events")
    done(context, "expire-snapshots", table=EVENTS, retain_last=1)
    files = list((warehouse / "shop.db/events").glob("day=2026-05-01/bucket-0/*"))
    assert len(files) == 1
    assert read_rows(warehouse, "shop.events") == rows


def test_the_tables_own_options_decide_when_nothing_is_given(context: Context, orders: Path) -> None:
    now = int(time.time() * 1000)
    for number in range(1, 6):
        set_time(orders, number, now - (6 - number) * 3_600_000)
    plan = planned(context, "expire-snapshots")
    [kept] = plan.kept
    assert plan.empty and about("newest 10 snapshots", "table's options", "5", "--retain-last").search(kept)
    set_options(orders, **{"snapshot.num-retained.min": "1", "snapshot.time-retained": "600 min"})
    (kept,) = planned(context, "expire-snapshots").kept
    assert about("committed since", "table's options", moment(now - 5 * 3_600_000)).search(kept)
    set_options(orders, **{"snapshot.num-retained.min": "1", "snapshot.time-retained": "150 min"})
    assert planned(context, "expire-snapshots").arguments["end"] == 4
    set_options(orders, **{"snapshot.num-retained.max": "1"})
    assert planned(context, "expire-snapshots").arguments["end"] == 5
    set_options(orders, **{"snapshot.num-retained.min": "2"})
    with pytest.raises(Refused, match=about("least 2", "most 1")) as refused:
        planned(context, "expire-snapshots")
    assert about("--retain-last").search(refused.value.hint)


def test_a_snapshot_from_a_time_to_come_keeps_what_is_behind_it_and_that_is_said(
    context: Context, orders: Path
) -> None:
    now = int(time.time() * 1000)
    for number in range(1, 6):
        set_time(orders, number, now - (6 - number) * 3_600_000)
    set_time(orders, 2, now + 10 * 365 * 86_400_000)
    plan = planned(context, "expire-snapshots", older_than="1 ms")
    assert plan.arguments["end"] == 2
    future = moment(now + 10 * 365 * 86_400_000)
    assert about("snapshot 2", "later", future, "to come", "--retain-last").search(plan.kept[-1])
    assert planned(context, "expire-snapshots", retain_last=1).arguments["end"] == 5


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        ({"older_than": "150 min"}, 4),
        ({"older_than": "150 min", "retain_last": 4}, 2),
        ({"older_than": "1 ms"}, 5),
        ({"retain_last": 3}, 3),
        ({"retain_last": 50}, 1),
        ({"older_than": "2001-01-01"}, 1),
    ],
)
def test_what_is_asked_for_decides(
    context: Context, orders: Path, arguments: dict[str, object], end: int
) -> None:
    now = int(time.time() * 1000)
    for number in range(1, 6):
        set_time(orders, number, now - (6 - number) * 3_600_000)
    plan = action("expire-snapshots").plan(context, ORDERS, arguments)
    assert plan.arguments["end"] == end
    assert plan.empty == (end == 1)
    applied(context, plan)
    assert snapshots(orders)[0] == end


def test_a_consumer_is_waited_for(context: Context, orders: Path) -> None:
    (orders / "consumer").mkdir()
    (orders / "consumer/consumer-job").write_text(json.dumps({"nextSnapshot": 3}))
    (orders / "consumer/consumer-ahead").write_text(json.dumps({"nextSnapshot": 9}))
    plan = planned(context, "expire-snapshots", retain_last=1)
    assert plan.arguments["end"] == 3
    assert about("snapshot 3", "later", "consumer job").search(plan.kept[-1])
    (orders / "consumer/consumer-late").write_text(json.dumps({"nextSnapshot": 2}))
    with pytest.raises(Refused, match="are needed"):
        applied(context, plan)
    (orders / "consumer/consumer-late").write_text("{")
    with pytest.raises(PaimarkError, match="consumer-late"):
        planned(context, "expire-snapshots", retain_last=1)


def test_a_savepoint_made_while_it_runs_keeps_its_files(context: Context, warehouse: Path) -> None:
    replace_rows(warehouse)
    plan = planned(context, "expire-snapshots", retain_last=1)

    def save() -> None:
        done(context, "create-savepoint", snapshot=4)

    files = Meanwhile(context.files, "branch/ACTION", save)
    applied(context_on(warehouse, files), plan)
    tag = Lineage(context.files, ORDERS.root()).tag("savepoint.1")
    assert missing_files(context.files, each_needed_file(context.files, ORDERS.root(), tag)) == []


class AfterDelete(Wrapped):
    """A store on which somebody else does something right after the `count`-th file is deleted."""

    def __init__(self, inner: Files, count: int, deed: Callable[[], None]) -> None:
        super().__init__(inner)
        self._left = count
        self._deed = deed

    def delete(self, path: str) -> None:
        self.inner.delete(path)
        self._left -= 1
        if self._left == 0:
            self._deed()


# Of snapshot 2 a tag keeps all files, so that it can be saved up to the end; of 4 nothing does.
@pytest.mark.parametrize(("snapshot", "count"), [*((4, each) for each in range(1, 20, 3)), (2, 3), (2, 12)])
def test_a_savepoint_made_at_any_moment_is_whole_or_refused(
    context: Context, warehouse: Path, monkeypatch: pytest.MonkeyPatch, snapshot: int, count: int
) -> None:
    # What seconds tell apart for real: a look at the names before each file.
    monkeypatch.setattr(sweep, "_LOOK_EVERY", 0.0)
    monkeypatch.setattr(sweep, "_AT_ONCE", 1)
    replace_rows(warehouse)
    told: list[str] = []

    def save() -> None:
        try:
            told.append(done(context, "create-savepoint", snapshot=snapshot).message)
        except (Refused, NotFound) as error:
            told.append(error.message)

    plan = planned(context, "expire-snapshots", retain_last=1)
    applied(context_on(warehouse, AfterDelete(context.files, count, save)), plan)
    assert missing(context.files) == []
    [line] = told
    is_saved = Lineage(context.files, ORDERS.root()).has_tag("savepoint.1")
    assert is_saved == line.startswith("Saved snapshot")
    assert is_saved or snapshot == 4


def test_a_claim_counts_as_the_tag_it_will_become(context: Context, warehouse: Path) -> None:
    replace_rows(warehouse)
    path = ORDERS.savepoint_claim(1)
    snapshot = Lineage(context.files, ORDERS.root()).snapshot(4)
    kept: list[bytes] = []
    files = Meanwhile(context.files, "CLAIM-1", lambda: kept.append(context.files.read(path)))
    done(context_on(warehouse, files), "create-savepoint", snapshot=4)
    done(context, "delete-savepoint", id=1)
    context.files.create(path, kept[0])
    done(context, "expire-snapshots", retain_last=1)
    assert missing_files(context.files, each_needed_file(context.files, ORDERS.root(), snapshot)) == []


def test_changelogs_that_outlive_snapshots_are_refused_by_name(context: Context, orders: Path) -> None:
    set_options(orders, **{"changelog.num-retained.max": "100"})
    [reason] = reasons(planned(context, "expire-snapshots", retain_last=1))
    assert about("shop.orders", "changelogs", "longer", "changelog.num-retained.max").search(reason)


def test_a_long_lived_changelog_keeps_its_files(context: Context, warehouse: Path, orders: Path) -> None:
    (orders / "changelog").mkdir()
    data = (orders / "snapshot/snapshot-2").read_bytes()
    replace_rows(warehouse)
    snapshot = Lineage(context.files, ORDERS.root()).snapshot(2)
    needed = list(each_needed_file(context.files, ORDERS.root(), snapshot))
    done(context, "expire-snapshots", retain_last=1)
    (orders / "changelog/changelog-2").write_bytes(data)
    done(context, "delete-tag", name="v2")
    assert missing_files(context.files, needed) == []
    replace_rows(warehouse)
    [reason] = reasons(planned(context, "expire-snapshots", retain_last=1))
    assert about("main", "shop.orders", "changelogs", "expired snapshots").search(reason)


def test_a_plan_made_before_others_expired_is_refused(context: Context, orders: Path) -> None:
    plan = planned(context, "expire-snapshots", retain_last=1)
    done(context, "expire-snapshots", retain_last=3)
    before = contents(orders)
    with pytest.raises(Refused, match=about("main", "shop.orders", "plan")):
        applied(context, plan)
    assert contents(orders) == before


def test_commits_that_come_meanwhile_change_nothing(context: Context, warehouse: Path, orders: Path) -> None:
    plan = planned(context, "expire-snapshots", retain_last=1)
    replace_rows(warehouse)
    applied(context, plan)
    assert snapshots(orders) == [5, 6]
    assert missing(context.files) == []


@pytest.mark.parametrize(("name", "value"), [("retain_last", 0), ("older_than", "soon")])
def test_words_that_make_no_sense_are_refused(context: Context, name: str, value: object) -> None:
    with pytest.raises(UsageError):
        action("expire-snapshots").plan(context, ORDERS, {name: value})


def test_a_table_without_snapshots_has_nothing_to_expire(context: Context, orders: Path) -> None:
    for path in (orders / "snapshot").iterdir():
        path.unlink()
    plan = planned(context, "expire-snapshots", retain_last=1)
    assert plan.empty and not plan.kept
    assert applied(context, plan).result["expired_snapshots"] == 0


def test_ids_given_twice_are_not_taken_for_one_lineage(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """A rollback that left the old tags: what neighbours hold decides nothing there."""
    done(context, "create-tag", name="v4", snapshot=4)
    done(context, "create-tag", name="v5", snapshot=5)
    for number in (4, 5):
        (orders / f"snapshot/snapshot-{number}").unlink()
    (orders / "snapshot/LATEST").write_bytes(b"3")
    replace_rows(warehouse)
    assert snapshots(orders) == [1, 2, 3, 4]
    done(context, "expire-snapshots", retain_last=1)
    done(context, "delete-tag", name="v4")
    assert missing(context.files) == []


def test_the_clock_of_the_machine_is_the_contexts(context: Context) -> None:
    early = replace(context, clock=lambda: 1_000_000_000_000)
    assert planned(early, "expire-snapshots", older_than="1 d").empty


def test_what_was_asked_for_keeps_all_and_says_so(context: Context) -> None:
    plan = planned(context, "expire-snapshots", retain_last=5)
    [kept] = plan.kept
    assert plan.empty and about("newest 5 snapshots").search(kept)
    done(context, "expire-snapshots", retain_last=1)
    plan = planned(context, "expire-snapshots", older_than="1 s")
    [kept] = plan.kept
    assert plan.empty and about("newest snapshot", "no other").search(kept)


@pytest.mark.parametrize("dies_after", ["STEP-.*-2$", "snapshot/EARLIEST$"])
def test_what_main_was_rolled_back_to_meanwhile_is_not_expired(
    context: Context, warehouse: Path, orders: Path, dies_after: str
) -> None:
    """By another engine, after the expiry was committed and before anything of that snapshot went."""
    open_table(warehouse, "shop.orders").create_tag("then", 3)
    then = read_rows(warehouse, "shop.orders", tag="then")
    (orders / "tag/tag-then").unlink()
    with pytest.raises(Death):
        done(context_on(warehouse, DiesAfter(context.files, dies_after)), "expire-snapshots", retain_last=1)
    (orders / "snapshot/LATEST").write_text("3")
    for number in (5, 4):
        (orders / f"snapshot/snapshot-{number}").unlink()

    done(context, "recover")

    assert snapshots(orders) == [3]
    assert (orders / "snapshot/EARLIEST").read_text() == "3"
    assert read_rows(warehouse, "shop.orders") == then
    assert missing(context.files) == []


@pytest.mark.parametrize("later", [1, 2, 3])
def test_a_recovery_expires_nothing_that_came_after_a_rollback(
    context: Context, warehouse: Path, orders: Path, later: int
) -> None:
    """The new snapshots have the ids of those of the plan, up to the one that it keeps, or not so far."""
    with pytest.raises(Death):
        done(context_on(warehouse, DiesAfter(context.files, "STEP-.*-2$")), "expire-snapshots", retain_last=1)
    open_table(warehouse, "shop.orders").rollback_to(2)
    # So that the store's clock goes on.
    time.sleep(0.05)
    for _ in range(later):
        replace_rows(warehouse)

    done(context, "recover")

    # The newest stays whatever comes.
    assert snapshots(orders) == [*range(3, 3 + later)]
    assert (orders / "snapshot/EARLIEST").read_text() == "3"
    assert missing(context.files) == []


def test_a_recovery_goes_on_after_the_clock_was_set_back(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Then the snapshots to delete seem to be younger than the expiry, whose lists of them are gone."""
    before = read_rows(warehouse, "shop.orders")
    with pytest.raises(Death):
        done(context_on(warehouse, DiesAfter(context.files, "STEP-.*-5$")), "expire-snapshots", retain_last=1)
    to_come = time.time() + 3600
    for path in (orders / "snapshot").glob("snapshot-*"):
        os.utime(path, (to_come, to_come))

    done(context, "recover")

    assert snapshots(orders) == [5]
    assert read_rows(warehouse, "shop.orders") == before
    assert missing(context.files) == []


def test_a_recovery_expires_nothing_of_another_branch_that_got_the_name(
    context: Context, warehouse: Path, orders: Path
) -> None:
    """Another engine deleted the one whose expiry died, and made another one."""
    done(context, "create-branch", name="b", tag="v2")
    for _ in range(3):
        replace_rows(warehouse, "$branch_b")
    plan = planned(context, "expire-snapshots", branch="b", retain_last=1)
    died = Meanwhile(context.files, "-2", _dies)
    with pytest.raises(SystemExit):
        applied(context_on(warehouse, died), plan)
    shutil.rmtree(orders / "branch/branch-b")
    open_table(warehouse, "shop.orders").branch_manager().create_branch("b", "v2")
    for _ in range(2):
        replace_rows(warehouse, "$branch_b")
    before = contents(orders / "branch/branch-b")
    assert not planned(context, "recover").empty
    done(context, "recover")
    assert contents(orders / "branch/branch-b") == before


def _dies() -> None:
    """As a process does that is killed: nothing is taken back."""
    raise SystemExit
