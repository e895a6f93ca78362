"""A merge of a branch that dropped, narrowed or renamed columns is chosen by name, and taken back whole."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.errors import UsageError
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.verify import verify
from tests.actions.acting import applied, item, planned
from tests.paimon import open_table, read_rows
from tests.spark.engine_fixture import in_order
from tests.wording import about

Rows = list[dict[str, Any]]


class LaneData:
    """`orders` of a database of its own, and branch `fix` at main's head."""

    def __init__(self, context: Context, database: str, *, keyed: bool = True) -> None:
        self.context, self.warehouse = context, Path(context.files.uri)
        self.table = TablePath(database, "orders")
        shutil.copytree(self.warehouse / "shop.db/orders", self.warehouse / self.table.directory)
        self.done("create-tag", name="fork")
        self.done("create-branch", name="fix", tag="fork")

    def planned(self, action: str, /, **arguments: object) -> Plan:
        return planned(self.context, action, table=self.table, **arguments)

    def done(self, action: str, /, **arguments: object) -> Plan:
        plan = self.planned(action, **arguments)
        applied(self.context, plan)
        return plan

    def alter(self, **arguments: str) -> None:
        self.done("alter-branch-schema", branch="fix", **arguments)

    def alter_by_stock(self, branch: str | None, number: int, column: int, **changes: str) -> None:
        """A stock engine makes schema `number` of the one before, which is no operation of ours."""
        directory = self.warehouse / self.table.root(branch).schemas
        schema = msgspec.json.decode((directory / f"schema-{number - 1}").read_bytes())
        schema["fields"][column].update(changes)
        (directory / f"schema-{number}").write_bytes(msgspec.json.encode({**schema, "id": number}))

    def add(self, branch: str = "$branch_fix", /, **row: object) -> None:
        """One commit of one row, with the definition that the branch or main has now."""
        table = open_table(self.warehouse, f"{self.table.full_name}{branch}")
        builder = table.new_batch_write_builder()
        writer, committer = builder.new_write(), builder.new_commit()
        arrow = pa.table({name: [value] for name, value in row.items()})
        kinds = dict.fromkeys(("customer", "note"), pa.string()) | {"order_id": pa.int64()}
        kinds |= dict.fromkeys(("price", "cost"), pa.float64())
        if any(field.name == "price" and str(field.type) == "FLOAT" for field in table.fields):
            kinds["price"] = pa.float32()
        writer.write_arrow(arrow.cast(pa.schema([(name, kinds[name]) for name in row])))
        committer.commit(writer.prepare_commit())
        writer.close()
        committer.close()

    def rows(self) -> Rows:
        """Main's rows, as pypaimon reads them."""
        return in_order(read_rows(self.warehouse, self.table.full_name))

    def columns(self) -> dict[str, str]:
        schema = Lineage(self.context.files, self.table.root()).latest_schema()
        assert schema is not None
        return {field.name: str(field.type) for field in schema.fields}


def test_a_merge_that_drops_a_column_is_refused_by_its_name_without_the_choice(with_engine: Context) -> None:
    scene = LaneData(with_engine, "drop_refused")
    scene.alter(drop="price")
    scene.add(order_id=9, customer="x")
    [refusal] = scene.planned("merge-branch", name="fix").refusals
    assert about("main", "drop_refused.orders", "column price", "branch fix").search(refusal.reason)
    assert refusal.code == "columns-would-go" and "--drop-columns" in refusal.hint
    chosen = scene.planned("merge-branch", name="fix", drop_columns=True)
    assert chosen.refusals == () and chosen.undo == "paimark undo drop_refused.orders"
    lost = item(chosen, "column-hidden")
    assert about("column price", "newest rows", "snapshot 5").search(lost.text)
    assert lost.kind == "loses" and chosen.ask.phrase == "fix" and chosen.take_back.how == "undo"


def test_a_choice_that_has_no_effect_is_refused(with_engine: Context) -> None:
    scene = LaneData(with_engine, "drop_nothing")
    scene.add(order_id=9, customer="x", price=1.0)
    with pytest.raises(UsageError, match=about("branch fix", "drop_nothing.orders", "no column")):
        scene.planned("merge-branch", name="fix", drop_columns=True)


@pytest.mark.parametrize("main_moves", [pytest.param(False, marks=pytest.mark.long), True])
def test_the_undo_brings_the_column_and_all_its_values_back_and_a_redo_drops_it_again(
    with_engine: Context, main_moves: bool
) -> None:
    scene = LaneData(with_engine, f"drop_undone_{main_moves}".lower())
    scene.alter(drop="price", add="note STRING")
    scene.add(order_id=1, customer="fixed", note="n")
    if main_moves:
        scene.add("", order_id=70, customer="main", price=7.0)
    before = scene.rows()
    merge = scene.done("merge-branch", name="fix", drop_columns=True)
    assert merge.arguments["kind"] == ("keyed" if main_moves else "fast-forward")
    merged = scene.rows()
    assert all("price" not in row for row in merged)
    undo = scene.planned("undo")
    assert item(undo, "columns").text == "readers of main's columns: column price is new"
    applied(with_engine, undo)
    # What the branch added stays, as ever: a job may have opened the table with it.
    assert scene.rows() == [{**row, "note": None} for row in before]
    assert [*scene.columns()] == ["order_id", "customer", "price", "note"]
    assert verify(with_engine, scene.table).is_whole
    scene.done("redo")
    assert scene.rows() == merged and "price" not in scene.columns()
    scene.done("undo")
    assert scene.rows() == [{**row, "note": None} for row in before]
    assert verify(with_engine, scene.table).is_whole


def test_a_rollback_past_the_merge_brings_it_back_though_main_moved(with_engine: Context) -> None:
    scene = LaneData(with_engine, "drop_rolled")
    before = scene.rows()
    scene.alter(drop="price")
    scene.add(order_id=1, customer="fixed")
    scene.done("merge-branch", name="fix", drop_columns=True)
    scene.add("", order_id=80, customer="later")
    [refusal] = scene.planned("undo").refusals
    assert "rollback drop_rolled.orders --to savepoint.1" in refusal.hint
    merged = scene.rows()
    scene.done("rollback", to="savepoint.1")
    assert scene.rows() == before
    # It can be merged again, and then the column goes again.
    assert "would lose column price" in scene.planned("merge-branch", name="fix").refusals[0].reason
    scene.done("undo")
    after = scene.rows()
    prices = {row["order_id"]: row.pop("price") for row in after}
    assert after == merged
    # Rows that were written without the column have no value; files from before the merge have theirs.
    assert (prices[1], prices[80]) == (None, None)
    assert prices[2] == next(row["price"] for row in before if row["order_id"] == 2)


@pytest.mark.long
def test_a_narrower_type_is_a_loss_too_and_becomes_wide_again(with_engine: Context) -> None:
    scene = LaneData(with_engine, "drop_narrow")
    scene.alter_by_stock("fix", 1, 2, type="FLOAT")
    scene.add("", order_id=70, customer="main", price=1 / 3)
    before = scene.rows()
    scene.add(order_id=1, customer="fixed", price=2.5)
    lost = "would lose values of column price, which becomes FLOAT"
    assert lost in scene.planned("merge-branch", name="fix").refusals[0].reason
    scene.done("merge-branch", name="fix", drop_columns=True)
    assert scene.columns()["price"] == "FLOAT"
    scene.done("undo")
    assert (scene.columns()["price"], scene.rows()) == ("DOUBLE", before)


def test_a_name_that_the_merge_brought_is_told_and_goes_with_its_undo(with_engine: Context) -> None:
    scene = LaneData(with_engine, "drop_renamed")
    before = scene.rows()
    scene.alter(rename="price TO cost")
    scene.add(order_id=1, customer="fixed", cost=2.5)
    plan = scene.done("merge-branch", name="fix")
    assert item(plan, "columns").text.endswith("column price is called cost")
    assert "cost" in scene.columns()
    scene.done("undo")
    assert scene.rows() == before
    scene.done("redo")
    assert "cost" in scene.columns()


def test_a_name_that_somebody_gave_since_stays(with_engine: Context) -> None:
    scene = LaneData(with_engine, "drop_named")
    scene.alter(drop="price")
    scene.add(order_id=1, customer="fixed")
    scene.done("merge-branch", name="fix", drop_columns=True)
    scene.alter_by_stock(None, 2, 1, name="client")
    scene.done("undo")
    assert [*scene.columns()] == ["order_id", "client", "price"]


def test_an_overwrite_names_what_main_loses_and_is_taken_back(with_engine: Context) -> None:
    scene = LaneData(with_engine, "drop_overwrite")
    before = scene.rows()
    scene.alter(drop="price")
    scene.add(order_id=1, customer="fixed")
    scene.add("", order_id=70, customer="main", price=7.0)
    plan = scene.done("replace-main-branch", name="fix", layout="overwrite")
    assert item(plan, "column-hidden").names == ("column price",)
    scene.done("undo")
    assert [row for row in scene.rows() if row["order_id"] != 70] == before


@pytest.mark.long
def test_a_branch_is_merged_again_after_main_alone_changed_its_columns(with_engine: Context) -> None:
    scene = LaneData(with_engine, "main_alters")
    expected = {row["order_id"]: {**row, "note": None} for row in scene.rows()}

    def merged(number: int, **row: object) -> None:
        scene.add("", order_id=70 + number, **row)
        scene.add(order_id=number, customer="fixed", price=2.0)
        expected[70 + number] = {"order_id": 70 + number, **row}
        expected[number] = {"order_id": number, "customer": "fixed", "note": None}
        scene.done("merge-branch", name="fix")

    scene.done("alter-branch-schema", add="note STRING")
    merged(1, customer="main", price=1.0, note="n")
    scene.done("alter-branch-schema", drop="price")
    merged(2, customer="main", note="n")
    without_price = [
        {name: row[name] for name in ("order_id", "customer", "note")} for row in expected.values()
    ]
    assert scene.rows() == in_order(without_price)
    assert verify(with_engine, scene.table).is_whole
