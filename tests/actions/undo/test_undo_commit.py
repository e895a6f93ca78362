"""Merges, overwrites and rollbacks are taken back while main has not moved, and can be done again."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.merge.history import events
from paimark.core.actions.plan import Plan
from paimark.core.errors import Refused
from paimark.core.spark.client.client import Engine
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.verify import verify
from tests.actions.acting import applied, done, item, planned, undoable
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit, create_table, read_rows
from tests.spark.engine_fixture import in_order
from tests.wording import about

Rows = list[dict[str, object]]


class LaneData:
    """`orders` of a database of its own, with a branch `fix` at main's head."""

    def __init__(self, context: Context, database: str) -> None:
        self.context, self.warehouse = context, Path(context.files.uri)
        self.table = TablePath(database, "orders")
        shutil.copytree(self.warehouse / "shop.db/orders", self.warehouse / self.table.directory)
        self.done("create-tag", name="fork")
        self.done("create-branch", name="fix", tag="fork")

    def done(self, action: str, **arguments: object) -> Plan:
        plan = self.planned(action, **arguments)
        applied(self.context, plan)
        return plan

    def planned(self, action: str, **arguments: object) -> Plan:
        return planned(self.context, action, table=self.table, **arguments)

    def add(self, key: int, customer: str, branch: str = "") -> None:
        row = {"order_id": [key], "customer": [customer], "price": [1.0]}
        commit(self.warehouse, f"{self.table.full_name}{branch}", pa.table(row, schema=ORDERS_SCHEMA))

    def rows(self, branch: str = "") -> Rows:
        return in_order(read_rows(self.warehouse, f"{self.table.full_name}{branch}"))

    def head(self) -> int | None:
        return Lineage(self.context.files, self.table.root()).latest_id()


FIX = "$branch_fix"


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("first", ("merge-engine", "first-row")),
        pytest.param("vectors", ("deletion-vectors.enabled", "true"), marks=pytest.mark.long),
    ],
)
def test_a_fast_forward_of_a_table_without_merges_is_made_again_by_its_rows(
    with_engine: Context, name: str, option: tuple[str, str]
) -> None:
    """After the undo main is no longer the state that the branch was made from, and takes no single rows."""
    place, table = with_engine.files.uri, TablePath("undone_unmerged", name)
    options = dict([("bucket", "1"), option])
    create_table(place, table.full_name, ORDERS_SCHEMA, primary_keys=["order_id"], options=options)

    def add(key: int, branch: str | None = None) -> None:
        root = table.full_name if branch is None else f"{table.full_name}$branch_{branch}"
        row = {"order_id": [key], "customer": ["a"], "price": [1.0]}
        commit(place, root, pa.table(row, schema=ORDERS_SCHEMA))
        done(with_engine, "compact", table, branch=branch, full=True)

    def ids() -> list[object]:
        return sorted(each["order_id"] for each in read_rows(place, table.full_name))

    def merge() -> Plan:
        return planned(with_engine, "merge-branch", table, name="fix")

    add(1)
    done(with_engine, "create-tag", table, name="fork")
    done(with_engine, "create-branch", table, name="fix", tag="fork")
    add(2, "fix")
    assert merge().arguments["kind"] == "fast-forward"
    done(with_engine, "merge-branch", table, name="fix")
    for _ in range(2):
        done(with_engine, "undo", table)
        assert (
            ids() == [1]
            and planned(with_engine, "merge-branch", table, name="fix").arguments["kind"] == "keyed"
        )
        plan = planned(with_engine, "redo", table)
        assert about("redo merge-branch", "main", table.full_name).search(plan.headline)
        applied(with_engine, plan)
        # What the branch had is merged, and no more.
        assert ids() == [1, 2] and merge().empty
    assert planned(with_engine, "undo", table).headline.startswith("Take back merge-branch of fix (")
    done(with_engine, "undo", table)
    done(with_engine, "delete-branch", table, name="fix")
    assert verify(with_engine, table).is_whole


def test_a_fast_forward_is_taken_back_and_made_again(with_engine: Context) -> None:
    scene = LaneData(with_engine, "undone_forward")
    before = scene.rows()
    scene.add(1, "fixed", FIX)
    scene.add(50, "new", FIX)
    plan = scene.done("merge-branch", name="fix")
    assert plan.arguments["kind"] == "fast-forward" and plan.undo == "paimark undo undone_forward.orders"
    merged = scene.rows()
    undone = scene.done("undo")
    assert about("take back merge-branch", "fix", "undone_forward.orders", "snapshot 5").search(
        undone.headline
    )
    assert "merge-branch of fix changed" in item(undone, "rows-replaced").text
    assert scene.rows() == before
    # No id was used again, and the branch and its pin are as they were.
    assert scene.head() == 8
    assert scene.rows(FIX) == merged
    assert Lineage(with_engine.files, scene.table.root()).has_tag("paimark.merge.fix.7")
    scene.add(51, "later", FIX)
    scene.add(60, "main")
    assert scene.done("merge-branch", name="fix").arguments["kind"] == "keyed"
    keys = {row["order_id"]: row["customer"] for row in scene.rows()}
    assert (keys[1], keys[50], keys[51], keys[60]) == ("fixed", "new", "later", "main")
    assert scene.planned("merge-branch", name="fix").empty


def test_changes_are_walked_back_one_by_one(with_engine: Context) -> None:
    scene = LaneData(with_engine, "undone_chain")
    states = [scene.rows()]

    def step(action: str, **arguments: object) -> None:
        scene.done(action, **arguments)
        states.append(scene.rows())

    scene.add(70, "branch", FIX)
    step("merge-branch", name="fix")
    scene.done("create-tag", name="again")
    step("rollback", to="v2")
    scene.add(71, "branch", FIX)
    step("merge-branch", name="fix", on_conflict="branch")
    step("replace-main-branch", name="fix", layout="overwrite")
    step("rollback", to="snapshot.8", truncate=True)
    assert all(one != other for one, other in pairwise(states))
    said = [each.description for each in undoable(with_engine, scene.table)]
    assert said == [
        "merge-branch of fix",
        "rollback to v2",
        "merge-branch of fix",
        "replace-main-branch of fix",
        "rollback to snapshot.8",
    ]
    for expected in reversed(states[:-1]):
        while scene.planned("undo").arguments["undone"] == "create-tag":
            scene.done("undo")
        assert scene.planned("undo").refusals == ()
        scene.done("undo")
        assert scene.rows() == expected
    assert undoable(with_engine, scene.table) == []
    # The base is the fork again: all that the branch ever added comes.
    scene.done("merge-branch", name="fix")
    assert {70, 71} <= {row["order_id"] for row in scene.rows()}


def test_what_main_moved_on_from_stays(with_engine: Context) -> None:
    scene = LaneData(with_engine, "undone_moved")
    scene.add(80, "branch", FIX)
    scene.done("merge-branch", name="fix")
    plan = scene.planned("undo")
    scene.add(81, "main")
    rows = scene.rows()
    with pytest.raises(Refused, match=about("since merge-branch of fix", "then at snapshot 6", "now at 7")):
        applied(with_engine, plan)
    [refusal] = scene.planned("undo").refusals
    assert about("`paimark rollback undone_moved.orders --to savepoint.1`").search(refusal.hint)
    assert scene.rows() == rows
    # It blocks no replacement of main that came before: that one is asked for by name.
    scene.done("replace-main-branch", name="fix")
    scene.add(82, "in the branch", FIX)
    scene.done("rollback", to="fork")
    with pytest.raises(Refused, match=about("rollback to fork", "later")):
        scene.done("undo", replacement=True)
    scene.add(83, "in the branch", FIX)
    assert about("since rollback to fork").search(scene.planned("undo").refusals[0].reason)
    scene.done("undo", replacement=True)
    assert scene.rows() == rows
    assert [each.description for each in undoable(with_engine, scene.table)] == ["merge-branch of fix"]


def test_a_commit_while_it_is_taken_back_is_not_overwritten(with_engine: Context, engine: Engine) -> None:
    scene = LaneData(with_engine, "undone_raced")
    scene.add(90, "branch", FIX)
    scene.done("merge-branch", name="fix")
    plan, known = scene.planned("undo"), events(with_engine.files, scene.table)

    def racing() -> Engine:
        scene.add(91, "main")
        return engine

    with pytest.raises(Refused, match=about("main", "undone_raced.orders", "while")):
        applied(replace(with_engine, engine=racing), plan)
    assert {90, 91} <= {row["order_id"] for row in scene.rows()}
    assert events(with_engine.files, scene.table) == known
    assert done(with_engine, "recover", table=scene.table).result["recovered"] == 0
