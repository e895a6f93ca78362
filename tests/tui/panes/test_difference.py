"""A branch's difference from main as rows, and a result exported whole: by keys, with the suite's Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

from core.spark.client.client import Engine
from tests.conftest import ORDERS
from tests.paimon import commit, create_table, open_table
from tests.table.branches import create_branch
from tests.tui.driving import sitting, with_engine
from tui.panes.query import QueryPane


def orders(*rows: tuple[int, str, float]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(ORDERS.names, row, strict=True)) for row in rows], schema=ORDERS)


async def test_a_branch_is_compared_with_main_and_the_rows_exported(
    engine_warehouse: Path, engine: Engine, tmp_path: Path
) -> None:
    create_table(engine_warehouse, "looked.t", ORDERS, primary_keys=["order_id"], options={"bucket": "1"})
    commit(engine_warehouse, "looked.t", orders((1, "a", 1.0), (2, "b", 2.0)))
    open_table(engine_warehouse, "looked.t").create_tag("start", 1)
    create_branch(engine_warehouse, "looked.t", "fix", "start")
    commit(engine_warehouse, "looked.t$branch_fix", orders((2, "b", -2.0), (3, "c", 3.0)))
    session = with_engine(engine_warehouse, engine)
    async with sitting(engine_warehouse, (120, 40), session=session) as console:
        await console.sees("▾ ")
        await console.press("colon")
        await console.type("looked.t")
        # Of the session's many databases it may be the last one listed.
        await console.sees(" looked.t ", " table ")
        await console.press("enter")
        await console.sees("● t", "1 of 1")
        await console.press("3")
        await console.sees("fix", "! exposed")
        await console.press("j", "D")
        await console.sees("-- looked.t: from main to fix", "1 added, 0 removed, 1 changed")
        await console.sees("✓ 2 rows", "old_price", "new_price", "-2.0", "changed  ")
        pane = console.app.query_one(QueryPane)
        await console.until(lambda: pane.grid.has_focus)
        await console.press("ctrl+e")
        await console.sees("The 2 rows of the result")
        await console.type(f"{tmp_path}/difference.json")
        await console.press("enter")
        await console.sees("Wrote 2 rows to")
        written = json.loads((tmp_path / "difference.json").read_text())
        assert [row["change"] for row in written] == ["changed", "added"]
        # More rows than are shown: the statement runs again for all of them.
        await pane.prepare("SELECT id FROM range(700)")
        await console.press("ctrl+r")
        await console.sees("first 500 rows of more")
        await console.press("ctrl+e")
        await console.sees("All rows, more than the 500 shown")
        await console.type(f"{tmp_path}/all.csv")
        await console.press("enter")
        await console.sees("Wrote 700 rows to")
        assert len((tmp_path / "all.csv").read_text().splitlines()) == 701
        # In this terminal there is nothing to lend; the statement stays.
        await console.press("escape", "6", "f4")
        await console.sees("can't be lent to an editor")
        # Tab: the names of the table that the statement reads.
        await pane.prepare("SELECT * FROM looked.t VERSION AS OF 'sta")
        await console.press("tab")
        await console.until(lambda: pane.editor.text.endswith("'start"))


async def test_the_totals_of_a_difference_are_of_all_its_rows_not_of_those_shown(
    engine_warehouse: Path, engine: Engine
) -> None:
    create_table(engine_warehouse, "looked.big", ORDERS, primary_keys=["order_id"], options={"bucket": "1"})
    commit(engine_warehouse, "looked.big", orders(*((number, "a", 1.0) for number in range(700))))
    open_table(engine_warehouse, "looked.big").create_tag("start", 1)
    changed = [(number, "a", 2.0) for number in range(600)]
    commit(
        engine_warehouse, "looked.big", orders(*changed, *((number, "b", 1.0) for number in range(700, 1050)))
    )
    create_table(engine_warehouse, "looked.log", ORDERS)
    for count in (2, 600):
        commit(engine_warehouse, "looked.log", orders(*((number, "a", 1.0) for number in range(count))))
    session = with_engine(engine_warehouse, engine)
    async with sitting(engine_warehouse, (120, 40), session=session) as console:
        await console.sees("▾ ")
        for table, counts in {
            "looked.big": "350 added, 0 removed, 600 changed",
            "looked.log": "600 added, 0 removed",
        }.items():
            await console.press("colon")
            await console.type(table)
            await console.sees(f" {table} ", " table ")
            await console.press("enter")
            await console.sees(f"● {table.removeprefix('looked.')}")
            await console.press("1", "g")
            await console.sees("1 of 2")
            await console.press("j", "D")
            await console.sees(f"-- {table}: from snapshot.1 to main", counts, "✓ first 500 rows of more")
            # What was counted and what is shown are of one snapshot, whatever is committed meanwhile.
            assert "VERSION AS OF 'snapshot.2'" in console.app.query_one(QueryPane).editor.text
            await console.until(lambda: console.app.query_one(QueryPane).grid.has_focus)
