"""What another engine overwrites right after we created it is not called done, and nothing of it is lost."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.errors import Refused
from paimark.core.storage.local import LocalFiles
from paimark.core.table.commits import Landed, find_commit
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.chain import Break, breaks
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, Meanwhile, applied, context_on, done, planned
from tests.actions.taking_over import add, branched
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit, read_rows
from tests.wording import about

MAIN = ORDERS.root()


def theirs(orders: Path, number: int, order_id: int = 900) -> bytes:
    """The snapshot that a stock writer is about to put to its place: it has all but done so."""
    rows = {"order_id": [order_id], "customer": ["theirs"], "price": [1.0]}
    commit(orders.parents[1], "shop.orders", pa.table(rows, schema=ORDERS_SCHEMA))
    path = orders / f"snapshot/snapshot-{number}"
    data = path.read_bytes()
    path.unlink()
    (orders / "snapshot/LATEST").write_text(str(number - 1))
    return data


def overwriting(context: Context, orders: Path, number: int, data: bytes) -> Context:
    """A context in which snapshot `number` of main is overwritten right after it was created."""
    path = orders / f"snapshot/snapshot-{number}"
    files = Meanwhile(context.files, f"shop.db/orders/snapshot/snapshot-{number}", lambda: put(path, data))
    return context_on(orders.parents[1], files)


def put(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def customers(orders: Path) -> list[int]:
    return sorted(row["order_id"] for row in read_rows(orders.parents[1], "shop.orders"))


def test_a_merge_whose_first_commit_is_overwritten_is_not_done(context: Context, orders: Path) -> None:
    done(context, "create-tag", name="fork")
    branched(context, tag="fork")
    before, data = customers(orders), theirs(orders, 6)
    with pytest.raises(Refused, match=about("snapshot 6", "own")):
        done(overwriting(context, orders, 6, data), "merge-branch", name="fix")
    assert (orders / "snapshot/snapshot-6").read_bytes() == data
    (orders / "snapshot/LATEST").write_text("6")
    assert customers(orders) == [*before, 900]
    assert planned(context, "recover").empty and verify(context, ORDERS).is_whole
    assert planned(context, "merge-branch", name="fix").arguments["kind"] != "nothing"


def test_a_merge_ends_before_the_commit_that_is_overwritten(context: Context, orders: Path) -> None:
    done(context, "create-tag", name="fork")
    branched(context, tag="fork")
    for order_id in (101, 102):
        add(context, "shop.orders$branch_fix", order_id)
    plan = planned(context, "merge-branch", name="fix")
    branch = orders / "branch/branch-fix/snapshot"
    # Their commit on what main has of the branch by then.
    put(orders / "snapshot/snapshot-6", (branch / "snapshot-6").read_bytes())
    (orders / "snapshot/LATEST").write_text("6")
    data = theirs(orders, 7)
    (orders / "snapshot/snapshot-6").unlink()
    (orders / "snapshot/LATEST").write_text("5")
    outcome = applied(overwriting(context, orders, 7, data), plan)
    assert about("snapshot 6", "somebody", "main", "merge again").search(outcome.message)
    assert outcome.falls_short
    assert (orders / "snapshot/snapshot-7").read_bytes() == data
    assert not (orders / "snapshot/snapshot-8").exists()
    assert verify(context, ORDERS).is_whole


def test_a_definition_that_is_overwritten_was_not_changed(context: Context, orders: Path) -> None:
    path = orders / "schema/schema-1"
    other = {**msgspec.json.decode((orders / "schema/schema-0").read_bytes()), "id": 1, "comment": "theirs"}
    data = msgspec.json.encode(other)
    files = Meanwhile(context.files, "schema/schema-1", lambda: put(path, data))
    with pytest.raises(Refused, match=about("another engine", "main", "shop.orders", "definition 1")):
        done(context_on(orders.parents[1], files), "alter-branch-schema", add="note STRING")
    assert path.read_bytes() == data and planned(context, "recover").empty


def test_a_branch_whose_snapshot_is_overwritten_is_not_made(context: Context, orders: Path) -> None:
    path = orders / "branch/branch-fix/snapshot/snapshot-2"
    files = Meanwhile(context.files, "branch-fix/snapshot/snapshot-2", lambda: put(path, b"{}"))
    plan = planned(context, "create-branch", name="fix", tag="v2")
    with pytest.raises(Refused, match=about("somebody else", "snapshot-2")):
        applied(context_on(orders.parents[1], files), plan)
    # Theirs stays.
    assert path.read_bytes() == b"{}" and planned(context, "recover").empty


def test_nobody_can_tell_of_a_commit_that_was_overwritten_when_another_had_built_on_it(
    context: Context, orders: Path
) -> None:
    data = theirs(orders, 6)
    add(context, "shop.orders", 700)
    add(context, "shop.orders", 701)
    lineage = Lineage(LocalFiles(str(orders.parents[1])), MAIN)
    assert breaks(lineage.files, MAIN, list(lineage.snapshots())) == []
    assert find_commit(context.files, MAIN, "ours", 5).landed is Landed.NO
    put(orders / "snapshot/snapshot-6", data)
    # Theirs added a file, and so did the one that is gone.
    assert breaks(lineage.files, MAIN, list(lineage.snapshots())) == [Break(6, 1, 1)]
    fate = find_commit(context.files, MAIN, "ours", 5)
    assert (fate.landed, fate.overwritten) == (Landed.UNKNOWN, (6,))
