"""`verify` tells commits that were overwritten, what guards a replaced main, and files that nobody knows."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.storage.open import open_files
from paimark.core.table.layout import BARRIER_ID
from paimark.core.verify import VerifyReport, verify
from tests.actions.acting import ORDERS, contents, context_on, done
from tests.actions.taking_over import branched
from tests.cli.command import Paimark
from tests.cli.conftest import paimark
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit
from tests.wording import about

__all__ = ["paimark"]

DAY = 24 * 3600 * 1000
BARRIER = ORDERS.root().snapshot(BARRIER_ID)


def overwrite(orders: Path, number: int, *, deletes: bool = False) -> None:
    """Put another commit in the place of the newest, after one more was built on it."""
    warehouse, path = orders.parents[1], orders / f"snapshot/snapshot-{number}"
    rows = {"order_id": [900], "customer": ["theirs"], "price": [1.0]}
    commit(warehouse, "shop.orders", pa.table(rows, schema=ORDERS_SCHEMA), overwrite=deletes)
    theirs = path.read_bytes()
    path.unlink()
    (orders / "snapshot/LATEST").write_text(str(number - 1))
    for order_id in (700, 701):
        rows = {"order_id": [order_id], "customer": ["ours"], "price": [1.0]}
        commit(warehouse, "shop.orders", pa.table(rows, schema=ORDERS_SCHEMA))
    path.write_bytes(theirs)


def problems_of(report: VerifyReport) -> list[tuple[str, str]]:
    return [(each.cause, each.path) for each in report.problems]


@pytest.mark.parametrize("deletes", [False, True])
def test_a_commit_that_was_overwritten_is_lost(context: Context, orders: Path, deletes: bool) -> None:
    overwrite(orders, 6, deletes=deletes)
    report = verify(context, ORDERS)
    assert problems_of(report) == [("lost", ORDERS.root().snapshot(6))]
    assert about("snapshot 7", "another snapshot 6").search(report.problems[0].detail)


def test_it_is_told_once_however_many_branches_hold_it(context: Context, orders: Path) -> None:
    overwrite(orders, 6)
    done(context, "create-tag", name="fork")
    branched(context, tag="fork")
    done(context, "replace-main-branch", name="fix")
    assert [cause for cause, _ in problems_of(verify(context, ORDERS))] == ["lost"]


def test_it_has_an_exit_code_of_its_own(paimark: Paimark, warehouse: Path, orders: Path) -> None:
    overwrite(orders, 6)
    ran = paimark("verify", "shop.orders", "--warehouse", warehouse, "--output", "json")
    assert (ran.code, [row["finding"] for row in ran.rows]) == (5, ["lost"])
    assert about("1 commit", "overwrote another", "two engines", "lock").search(ran.err)
    ran = paimark("doctor", "shop.orders", "--deep", "--warehouse", warehouse, "--output", "json")
    [broken] = [row for row in ran.rows if row["state"] == "broken"]
    assert ran.code == 1 and "lock.enabled" in broken["hint"]
    min(orders.glob("bucket-1/data-*")).unlink()
    assert paimark("verify", "shop.orders", "--warehouse", warehouse).code == 1


def test_a_whole_table_has_no_heading_over_nothing(paimark: Paimark, warehouse: Path) -> None:
    ran = paimark("verify", "shop.orders", "--warehouse", warehouse)
    assert (ran.code, ran.out) == (0, "")


def test_a_stale_tag_of_the_replaced_main_is_read_by_its_schemas(context: Context, orders: Path) -> None:
    """An open session made it, of a schema that the new main never had."""
    branched(context)
    done(context, "alter-branch-schema", add="note STRING")
    rows = {"order_id": [900], "customer": ["a"], "price": [1.0], "note": ["b"]}
    commit(orders.parents[1], "shop.orders", pa.table(rows))
    newest = (orders / f"snapshot/snapshot-{(orders / 'snapshot/LATEST').read_text()}").read_bytes()
    done(context, "replace-main-branch", name="fix")
    (orders / "tag/tag-stale").write_bytes(newest)
    assert problems_of(verify(context, ORDERS)) == []


def test_what_stops_open_sessions_must_stand_while_a_branch_is_main(context: Context, orders: Path) -> None:
    branched(context)
    done(context, "replace-main-branch", name="fix")
    barrier = orders / f"snapshot/snapshot-{BARRIER_ID}"
    data = barrier.read_bytes()
    report = verify(replace(context, clock=lambda: context.clock() + 2 * DAY), ORDERS)
    assert report.is_whole and report.orphans == () and report.leftovers == ()
    barrier.unlink()
    report = verify(context, ORDERS)
    assert problems_of(report) == [("missing", BARRIER)]
    assert about("`paimark auto-savepoint shop.orders`").search(report.problems[0].detail)
    done(context, "undo")
    assert verify(context, ORDERS).is_whole
    barrier.write_bytes(data)
    assert problems_of(verify(context, ORDERS)) == [("damaged", BARRIER)]


STRANGE = ["branch/notes.txt", "branch/MAIN-BRANCH.bak", "savepoint/notes", "snapshot/odd", "schema/x-1"]


def test_control_files_that_nobody_knows_are_told(context: Context, orders: Path) -> None:
    done(context, "create-savepoint")
    branched(context, tag="savepoint.1")
    done(context, "merge-branch", name="fix")
    assert verify(context, ORDERS, older_than=0).orphans == ()
    for name in (*STRANGE, "branch/branch-fix/tag/odd"):
        (orders / name).write_bytes(b"?")
    told = {each.path: each.owner for each in verify(context, ORDERS, older_than=0).orphans}
    names = [*STRANGE, "branch/branch-fix/tag/odd"]
    assert told == {f"{ORDERS.directory}/{name}": told[f"{ORDERS.directory}/{names[0]}"] for name in names}
    assert "another program" in told[f"{ORDERS.directory}/branch/notes.txt"]


def test_orphans_have_an_age_on_stores_of_every_kind(warehouse: Path, tmp_path: Path) -> None:
    files = open_files(f"memory://{tmp_path.name}/warehouse")
    for path, data in contents(warehouse).items():
        files.create(path, data)
    files.create(f"{ORDERS.directory}/bucket-0/data-lost-0.parquet", b"12345")
    now = int(time.time() * 1000)
    for days, is_old in ((0, False), (2, True)):
        context = replace(context_on(warehouse, files), clock=lambda days=days: now + days * DAY)  # type: ignore[misc]
        report = verify(context, ORDERS)
        assert (report.orphan_count, report.young_count) == (is_old, not is_old)
        [orphan] = [*report.orphans, *report.young]
        assert orphan.age is not None and abs(orphan.age - days * DAY) < 60_000
