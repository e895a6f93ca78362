"""A merge that is taken back: the branch's schemas stay in main, and a rollback past it is the last word."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from paimark.core.actions.context import Context, Remark
from paimark.core.actions.merge import history
from paimark.core.actions.merge.divergence import find_divergence
from paimark.core.errors import Refused
from paimark.core.storage.local import LocalFiles
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.verify import verify
from tests.actions.acting import ORDERS, Meanwhile, applied, context_on, done, planned
from tests.actions.taking_over import add, main_rows
from tests.actions.test_late_recovery import died, expired
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import open_table
from tests.wording import about

MAIN = ORDERS.root()
STAYS = about("schema 1", "shop.orders", "stays", "job")


@pytest.fixture
def ahead(context: Context) -> Context:
    """Branch `fix` has a column `note` since its schema 1, and one commit, 6, on main's newest, 5."""
    done(context, "create-tag", name="now")
    done(context, "create-branch", name="fix", tag="now")
    done(context, "alter-branch-schema", branch="fix", add="note STRING")
    opened_job(Path(context.files.uri), 100, "shop.orders$branch_fix")()
    return context


def opened_job(
    warehouse: Path, order_id: int, table: str = "shop.orders", *more: str
) -> Callable[[], object]:
    """A job that opens the table now, and commits a row with a note, and `more`, when it is called."""
    columns = ("note", *more)
    builder = open_table(warehouse, table).new_batch_write_builder()
    write, committing = builder.new_write(), builder.new_commit()
    row = {"order_id": [order_id], "customer": ["job"], "price": [1.0], **{each: ["n"] for each in columns}}
    schema = pa.schema([*ORDERS_SCHEMA, *(pa.field(each, pa.string()) for each in columns)])
    write.write_arrow(pa.table(row, schema=schema))
    messages = write.prepare_commit()
    return lambda: committing.commit(messages)


def recovered(context: Context) -> list[str]:
    lines: list[str] = []
    applied(context, planned(context, "recover"), lines)
    return [str(line) for line in lines if isinstance(line, Remark)]


def own_schema(orders: Path, number: int) -> bytes:
    """Main gets a definition of its own, as an engine makes it of the one before."""
    newest = msgspec.json.decode((orders / f"schema/schema-{number - 1}").read_bytes())
    data = msgspec.json.encode({**newest, "id": number, "comment": "main's own"})
    (orders / f"schema/schema-{number}").write_bytes(data)
    return data


@pytest.mark.parametrize("late", [False, True])
def test_a_schema_that_a_job_uses_outlives_its_merge(ahead: Context, warehouse: Path, late: bool) -> None:
    """The job commits after the merge was taken back, or before."""
    died(warehouse, r"orders/schema/schema-1$", "merge-branch", name="fix")
    commit = opened_job(warehouse, 200)
    if not late:
        commit()
    assert any(map(STAYS.search, recovered(ahead)))
    if late:
        commit()
    assert Lineage(ahead.files, MAIN).snapshot(6).schema_id == 1
    assert [row["note"] for row in main_rows(ahead) if row["order_id"] == 200] == ["n"]
    assert verify(ahead, ORDERS).is_whole and planned(ahead, "recover").empty
    again = planned(ahead, "merge-branch", name="fix")
    assert again.arguments["kind"] == "keyed" and again.refusals == ()
    assert find_divergence(ahead.files, ORDERS, "fix").target.schema.id == 1


def test_a_cancelled_merge_leaves_its_schema_and_is_made_again(ahead: Context, warehouse: Path) -> None:
    def cancel() -> None:
        raise KeyboardInterrupt

    plan, lines = planned(ahead, "merge-branch", name="fix"), list[str]()
    dying = Meanwhile(LocalFiles(str(warehouse)), "orders/schema/schema-1", cancel)
    with pytest.raises(KeyboardInterrupt):
        applied(context_on(warehouse, dying), plan, lines)
    assert len([*filter(STAYS.search, lines)]) == 1 and planned(ahead, "recover").empty
    assert Lineage(ahead.files, MAIN).snapshot_ids()[-1] == 5
    # The earlier plan had a schema to copy; a new one has not.
    with pytest.raises(Refused):
        applied(ahead, plan)
    again = planned(ahead, "merge-branch", name="fix")
    assert again.arguments["kind"] == "fast-forward" and again.refusals == ()
    assert not any(step.target.endswith("schema-1") for step in again.steps)
    applied(ahead, again)
    lineage = Lineage(ahead.files, MAIN)
    assert (lineage.snapshot_ids()[-1], lineage.schema_ids()) == (6, [0, 1])
    assert [row["note"] for row in main_rows(ahead) if row["order_id"] == 100] == ["n"]
    assert verify(ahead, ORDERS).is_whole


def test_a_schema_without_a_column_goes_with_its_merge(ahead: Context, warehouse: Path, orders: Path) -> None:
    """Else no reader of main saw that column any more, though nothing was merged."""
    path = orders / "branch/branch-fix/schema/schema-1"
    definition = msgspec.json.decode(path.read_bytes())
    definition["fields"] = [each for each in definition["fields"] if each["name"] != "price"]
    path.write_bytes(msgspec.json.encode(definition))
    before = main_rows(ahead)
    died(warehouse, r"orders/schema/schema-1$", "merge-branch", name="fix", drop_columns=True)
    assert not any(map(STAYS.search, recovered(ahead)))
    assert not (orders / "schema/schema-1").exists() and main_rows(ahead) == before


def test_the_branch_goes_on_from_the_schema_that_stayed(ahead: Context, warehouse: Path) -> None:
    died(warehouse, r"orders/schema/schema-1$", "merge-branch", name="fix")
    done(ahead, "recover")
    done(ahead, "alter-branch-schema", branch="fix", add="more STRING")
    assert [number for number, _ in find_divergence(ahead.files, ORDERS, "fix").new_schemas] == [2]
    done(ahead, "merge-branch", name="fix")
    newest = Lineage(ahead.files, MAIN).latest_schema()
    assert newest is not None and [each.name for each in newest.fields][-2:] == ["note", "more"]


def test_main_that_went_on_to_another_schema_is_told(ahead: Context, warehouse: Path, orders: Path) -> None:
    died(warehouse, r"orders/schema/schema-1$", "merge-branch", name="fix")
    done(ahead, "recover")
    own_schema(orders, 2)
    assert planned(ahead, "merge-branch", name="fix").refusals == ()
    done(ahead, "alter-branch-schema", branch="fix", add="more STRING")
    opened_job(warehouse, 101, "shop.orders$branch_fix", "more")()
    [refusal] = planned(ahead, "merge-branch", name="fix").refusals
    assert about("schema 2 of branch fix", "schema 2 of main", "shop.orders").search(refusal.reason)


def test_a_schema_of_somebody_else_is_no_schema_of_the_merge(
    ahead: Context, warehouse: Path, orders: Path
) -> None:
    """It comes between the check and the write of the branch's."""
    plan, lines, theirs = planned(ahead, "merge-branch", name="fix"), list[str](), list[bytes]()
    files = Meanwhile(
        LocalFiles(str(warehouse)), "savepoint/savepoint-1", lambda: theirs.append(own_schema(orders, 1))
    )
    with pytest.raises(Refused, match=about("somebody else", "schema-1")):
        applied(context_on(warehouse, files), plan, lines)
    assert (orders / "schema/schema-1").read_bytes() == theirs[0]
    assert not any("stays" in line for line in lines) and planned(ahead, "recover").empty
    [refusal] = planned(ahead, "merge-branch", name="fix").refusals
    assert about("schema 1 of branch fix", "schema 1 of main", "shop.orders").search(refusal.reason)


def committed_and_dead(context: Context, warehouse: Path) -> None:
    """A fast-forward along snapshots 6 and 7 is noted as committed, and its end is still to come."""
    done(context, "create-tag", name="now")
    done(context, "create-branch", name="fix", tag="now")
    for number in (100, 101):
        add(context, "shop.orders$branch_fix", number)
    done(context, "create-tag", name="mine", branch="fix")
    died(warehouse, r"STEP-[0-9a-f]*-4$", "merge-branch", name="fix")
    assert Lineage(context.files, MAIN).snapshot_ids()[-1] == 7


@pytest.mark.parametrize("to", [4, 5])
def test_a_merge_that_main_was_rolled_back_past_is_not_finished(
    context: Context, warehouse: Path, to: int
) -> None:
    committed_and_dead(context, warehouse)
    open_table(warehouse, "shop.orders").rollback_to(to)
    rows = main_rows(context)
    assert about("merge-branch", "not committed", "taken back").search(done(context, "recover").message)
    lineage = Lineage(context.files, MAIN)
    assert lineage.snapshot_ids()[-1] == to and main_rows(context) == rows
    # A tag of a snapshot that main does not have would prove a common past that is none.
    assert not {"mine", "paimark.merge.fix.7"} & {*lineage.tag_names()}
    assert history.events(context.files, ORDERS) == []
    assert verify(context, ORDERS).problems == ()
    if to == 4:
        # The rollback took the tag of the savepoint of snapshot 5.
        done(context, "recover")
    assert planned(context, "recover").empty
    if to == 5:
        assert planned(context, "merge-branch", name="fix").arguments["kind"] == "fast-forward"


def test_a_merge_whose_first_snapshots_expired_is_finished(
    context: Context, warehouse: Path, orders: Path
) -> None:
    committed_and_dead(context, warehouse)
    add(context, "shop.orders", 300)
    shutil.rmtree(orders / "consumer")
    expired(orders, *range(1, 8))
    assert about("merged branch fix", "into main", "shop.orders").search(done(context, "recover").message)
    assert Lineage(context.files, MAIN).snapshot_ids() == [8]
    [event] = history.events(context.files, ORDERS)
    assert (event.main.id, planned(context, "recover").empty) == (7, True)
