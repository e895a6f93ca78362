"""INSERT, INSERT OVERWRITE and the DataFrame writer are taken back while nobody has committed since."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.merge.history import events
from paimark.core.actions.plan import Outcome, Plan
from paimark.core.errors import Refused
from paimark.core.statements.insert import action_of_insert
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.operations import read_operations
from paimark.core.travel.parse.sql import read_statement
from tests.actions.acting import applied, item, planned, undoable
from tests.conftest import EVENTS, ORDERS
from tests.long import long_but
from tests.paimon import commit, create_table, read_rows
from tests.spark.engine_fixture import in_order
from tests.wording import about

Rows = list[dict[str, object]]
ROWS = {
    "orders": "(90, 'new', 1), (91, NULL, 2.5)",
    "events": "('2026-05-03', 'x'), ('2026-05-03', 'y')",
}
SCHEMAS = {"orders": ORDERS, "events": EVENTS}


class LaneData:
    """A copy of one of the two tables in a database of its own: `orders` has keys, `events` has none."""

    def __init__(self, context: Context, database: str, name: str = "orders") -> None:
        self.context, self.warehouse = context, Path(context.files.uri)
        self.table = TablePath(database, name)
        shutil.copytree(self.warehouse / f"shop.db/{name}", self.warehouse / self.table.directory)

    def insert(self, sql: str = "", *, branch: str = "", into: str = "INTO") -> Outcome:
        name = f"{self.table.database}.`{self.table.name}{branch}`"
        return self.run(f"INSERT {into} {name} {sql or 'VALUES ' + ROWS[self.table.name]}")

    def run(self, sql: str) -> Outcome:
        inserts = action_of_insert(read_statement(sql))[1]
        plan = inserts.plan(self.context, self.table, {})
        assert plan.refusals == () and plan.undo == f"paimark undo {self.table.full_name}"
        return inserts.apply(self.context, plan, lambda line: None)

    def planned(self, action: str, **arguments: object) -> Plan:
        return planned(self.context, action, table=self.table, **arguments)

    def done(self, action: str, **arguments: object) -> Outcome:
        return applied(self.context, self.planned(action, **arguments))

    def others(self, branch: str = "") -> None:
        row = {"order_id": [1], "customer": ["theirs"], "price": [1.0]}
        commit(self.warehouse, f"{self.table.full_name}{branch}", pa.table(row, schema=ORDERS))

    def rows(self, branch: str = "") -> Rows:
        return in_order(read_rows(self.warehouse, f"{self.table.full_name}{branch}"))

    def head(self) -> int | None:
        return Lineage(self.context.files, self.table.root()).latest_id()

    def log(self) -> list[str]:
        return [each.action for each in read_operations(self.context.files, self.table)]


@pytest.mark.parametrize("name", long_but(["orders", "events"], "orders"))
def test_an_insert_is_taken_back_and_made_again(with_engine: Context, name: str) -> None:
    scene = LaneData(with_engine, f"undone_insert_{name}", name)
    before, first = scene.rows(), scene.head() or 0
    assert scene.insert().undo == f"paimark undo {scene.table.full_name}"
    after = scene.rows()
    scene.insert(into="OVERWRITE")
    overwritten = scene.rows()
    assert len(overwritten) == 2 and len(after) == len(before) + 2
    plan = scene.planned("undo")
    undone, again = f"insert-overwrite in snapshot {first + 2}", f"rows of snapshot {first + 1}"
    assert about(undone, "main", scene.table.full_name, again).search(plan.headline)
    assert f"in snapshot {first + 2} " in item(plan, "rows-replaced").text
    assert scene.done("undo").undo == f"paimark redo {scene.table.full_name}"
    assert scene.rows() == after
    scene.done("undo")
    assert scene.rows() == before and undoable(with_engine, scene.table) == []
    scene.done("redo")
    assert scene.rows() == after
    outcome = scene.done("redo")
    assert outcome.message.startswith(f"Made insert-overwrite in snapshot {first + 2} of ")
    assert outcome.undo == f"paimark undo {scene.table.full_name}"
    assert scene.rows() == overwritten
    scene.done("undo")
    assert scene.rows() == after
    assert scene.log() == ["insert-into", "insert-overwrite", "undo", "undo", "redo", "redo", "undo"]
    # No rows of a branch came or went.
    assert events(with_engine.files, scene.table) == []


def test_an_insert_after_a_savepoint_is_taken_back_first(with_engine: Context) -> None:
    scene = LaneData(with_engine, "undone_savepoint")
    scene.done("create-savepoint")
    before = scene.rows()
    scene.insert()
    assert scene.planned("undo").arguments["undone"] == "insert-into"
    scene.done("undo")
    assert scene.rows() == before
    assert scene.planned("undo").arguments["undone"] == "create-savepoint"


def test_others_committed_since_and_the_way_by_hand_is_named(with_engine: Context) -> None:
    """It is never passed over to what was done before."""
    scene = LaneData(with_engine, "undone_followed")
    saved = scene.done("create-savepoint").result["savepoint_id"]
    scene.insert()
    made = scene.head() or 0
    scene.others()
    [refusal] = scene.planned("undo").refusals
    moved = about(f"since insert-into in snapshot {made}", f"then at snapshot {made}", f"now at {made + 1}")
    assert about("main", "undone_followed.orders").search(refusal.reason) and moved.search(refusal.reason)
    ways = about(
        f"`paimark revert undone_followed.orders --snapshot {made}`",
        f"`paimark rollback undone_followed.orders --to savepoint.{saved}`",
    )
    assert ways.search(refusal.hint)
    # A later one of ours can be taken back, and then the sentence names the earlier one.
    scene.insert("VALUES (95, 'later', 1)")
    scene.done("undo")
    assert scene.planned("undo").arguments["undone"] == "create-savepoint"
    [stays, *_] = scene.planned("undo").warnings
    assert about("not", "last change", f"insert-into in snapshot {made}").search(stays)
    assert about("rows", "followed").search(stays) and ways.search(stays)


def test_an_insert_into_a_branch_is_taken_back_there(with_engine: Context) -> None:
    scene = LaneData(with_engine, "undone_branch")
    scene.done("create-branch", name="fix", tag="v2")
    scene.insert()
    main, fix = scene.rows(), scene.rows("$branch_fix")
    scene.insert(branch="$branch_fix")
    assert scene.rows("$branch_fix") != fix
    assert about("branch fix", "undone_branch.orders", "rows").search(scene.planned("undo").summary)
    scene.done("undo")
    assert (scene.rows(), scene.rows("$branch_fix")) == (main, fix)
    scene.done("redo")
    scene.others("$branch_fix")
    [refusal] = scene.planned("undo").refusals
    assert about("branch fix", "undone_branch.orders", "since insert-into").search(refusal.reason)
    [_, _, _, command, _] = refusal.hint.replace("\\`", "´").split("`")
    # Unlike a shell, shlex leaves the escapes of these between double quotes.
    scene.run(shlex.split(command.replace("´", "`"))[2].replace("\\$", "$"))
    assert scene.rows("$branch_fix") == fix and scene.rows() == main


def test_a_branch_that_is_gone_does_not_stop_the_undo_of_what_was_before(with_engine: Context) -> None:
    scene = LaneData(with_engine, "undone_gone")
    scene.done("create-tag", name="one")
    scene.done("create-branch", name="fix", tag="v2")
    scene.insert(branch="$branch_fix")
    scene.done("delete-branch", name="fix")
    plan = scene.planned("undo")
    assert plan.arguments["undone"] == "create-tag"
    assert about("not", "last change", "delete-branch fix").search(plan.warnings[0])


def test_the_first_rows_of_a_table_are_taken_back(with_engine: Context) -> None:
    scene = LaneData(with_engine, "undone_first")
    create_table(
        scene.warehouse, "undone_first.fresh", ORDERS, primary_keys=["order_id"], options={"bucket": "1"}
    )
    scene.table = TablePath("undone_first", "fresh")
    ROWS["fresh"] = ROWS["orders"]
    scene.insert()
    assert len(scene.rows()) == 2
    assert about("main", "undone_first.fresh", "no rows").search(scene.planned("undo").summary)
    scene.done("undo")
    assert scene.rows() == [] and scene.head() == 2
    scene.done("redo")
    assert len(scene.rows()) == 2


def test_restore_walks_over_inserts(with_engine: Context) -> None:
    scene = LaneData(with_engine, "restored_insert")
    scene.done("create-tag", name="one")
    before = scene.rows()
    scene.insert()
    scene.done("create-tag", name="two")
    scene.insert("VALUES (92, 'more', 1)")
    after = scene.rows()
    scene.done("restore", to=1)
    assert scene.rows() == before
    assert [each.description for each in undoable(with_engine, scene.table)] == []
    scene.done("restore", to=4)
    assert scene.rows() == after


def test_a_merge_between_inserts_is_taken_back_in_its_turn(with_engine: Context) -> None:
    scene = LaneData(with_engine, "undone_merge")
    scene.done("create-branch", name="fix", tag="v2")
    states = [scene.rows()]
    scene.insert()
    states.append(scene.rows())
    scene.insert("VALUES (93, 'fixed', 1)", branch="$branch_fix")
    scene.done("merge-branch", name="fix")
    states.append(scene.rows())
    scene.insert("VALUES (94, 'last', 1)")
    expected = ["insert-into", "merge-branch", "insert-into", "insert-into"]
    for action, state in zip(expected, [states[2], states[1], states[1], states[0]], strict=True):
        assert scene.planned("undo").arguments["undone"] == action
        scene.done("undo")
        assert scene.rows() == state


def test_a_plan_to_undo_is_refused_when_others_committed_since(with_engine: Context) -> None:
    scene = LaneData(with_engine, "undone_late")
    scene.insert()
    plan = scene.planned("undo")
    scene.others()
    with pytest.raises(Refused, match="moved since insert-into"):
        applied(with_engine, plan)
