"""The difference of two versions in the console, with the suite's Spark; and what it says of made-up rows."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.errors import NotFound, Refused
from paimark.core.export.difference_rows import as_fields, in_short
from paimark.core.spark.client.client import Engine
from paimark.core.spark.protocol import Failed
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import point_of
from paimark.core.text import Fitted
from paimark.core.travel.diff.diff import make_difference, require_old
from paimark.core.travel.diff.rows import DiffRow
from paimark.core.travel.diff.versions import parse_version
from paimark.tui.dialogs.difference import shown
from paimark.tui.dialogs.difference.difference_screen import DifferenceScreen
from paimark.tui.dialogs.difference.page import DifferenceReading
from paimark.tui.dialogs.difference.shown import why_not
from paimark.tui.panes.query import QueryPane
from paimark.tui.widgets.detail_strip import Fact
from tests.actions.acting import context_on, done
from tests.conftest import ORDERS
from tests.paimon import commit, create_table, open_table
from tests.spark.engine_fixture import ask
from tests.table.branches import create_branch
from tests.tui.driving import Sitting, sitting, with_engine
from tests.wording import about


def orders(*rows: tuple[int, str | None, float]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(ORDERS.names, row, strict=True)) for row in rows], schema=ORDERS)


async def to_table(console: Sitting, table: str) -> None:
    await console.press("colon")
    await console.type(table)
    # Of the session's many databases it may be the last one listed.
    await console.sees(f" {table} ", " table ")
    await console.press("enter")
    await console.sees(f"● {table.partition('.')[2]}")


@pytest.mark.long
async def test_a_difference_is_read_a_page_at_a_time_and_its_totals_are_of_all_rows(
    engine_warehouse: Path, engine: Engine, tmp_path: Path
) -> None:
    name = "looked.big"
    create_table(engine_warehouse, name, ORDERS, primary_keys=["order_id"], options={"bucket": "1"})
    commit(engine_warehouse, name, orders(*((number, "a", 1.0) for number in range(700))))
    open_table(engine_warehouse, name).create_tag("start", 1)
    create_branch(engine_warehouse, name, "fix", "start")
    changed = [(number, "a" if number else None, 2.0 + number) for number in range(600)]
    added = [(number, "b", 1.0) for number in range(700, 1050)]
    commit(engine_warehouse, f"{name}$branch_fix", orders(*changed, *added))
    session = with_engine(engine_warehouse, engine)
    async with sitting(engine_warehouse, (120, 40), session=session) as console:
        await console.sees("▾ ")
        await to_table(console, name)
        pane_text = "SELECT 'not saved yet'"
        await console.press("6")
        await console.sees("[6 ")
        await console.app.query_one(QueryPane).prepare(pane_text)
        await console.press("escape", "3")
        await console.sees("fix", "! exposed")
        await console.press("j", "D")
        await console.sees(
            "Difference of looked.big: from main to fix",
            "350 added, 0 removed, 600 changed",
            "+ added      350",
            "  price      600",
            "  customer     1",
            "~ changed         0  customer: a -> null, price: 1.0 -> 2.0",
            about("rows 1 to 500 of 950", "order of keys"),
            about("main:", "1 of 1 file"),
        )
        assert "SELECT" not in console.text
        await console.press("greater_than_sign")
        await console.sees("rows 501 to 950 of 950", "~ changed       500  price: 1.0 -> 502.0")
        await console.press("G")
        await console.sees("+ added        1049  customer: b, price: 1.0")
        await console.press("greater_than_sign")
        await console.sees(about("no", "more rows"))
        # A column: the rows in which it changed, then by how much it did.
        await console.press("tab", "G", "enter")
        await console.sees("1 row in which customer changed", "0  customer: a -> null")
        await console.press("tab", "k", "enter")
        await console.sees("rows 1 to 500 of 600 in which price changed")
        await console.press("o")
        await console.sees("most changed first", "~ changed       599  price: 1.0 -> 601.0")
        await console.press("i")
        await console.sees("changed row 599", "price in main", "price in fix", "601.0", "customer ")
        await console.press("escape", "ctrl+e")
        await console.sees("All 950 rows that differ")
        await console.type(f"{tmp_path}/all.json")
        await console.press("enter")
        await console.sees("Wrote 950 rows to")
        written = json.loads((tmp_path / "all.json").read_text())
        assert [row["order_id"] for row in written[:2]] == [0, 1]
        assert written[0]["changed_columns"] == "customer, price"
        await console.press("escape")
        await console.sees("[3 Branches")
        assert console.app.query_one(QueryPane).editor.text == pane_text
        # Asked for, its statement is there to be run.
        await console.press("D")
        await console.sees("rows 1 to 500 of 950")
        await console.press("s")
        await console.sees("[6 ", "FULL OUTER JOIN")
        statement = console.app.query_one(QueryPane).editor.text
        assert statement.startswith("-- looked.big: from main to fix")
        assert not isinstance(ask(engine, statement).end, Failed)
        await _export_a_query(console, tmp_path)


async def _export_a_query(console: Sitting, place: Path) -> None:
    """More rows than are shown: the statement runs again for all of them."""
    pane = console.app.query_one(QueryPane)
    await pane.prepare("SELECT id FROM range(700)")
    await console.press("ctrl+r")
    await console.sees("first 500 rows of more")
    await console.press("ctrl+e")
    await console.sees(about("all rows", "500"))
    await console.type(f"{place}/all.csv")
    await console.press("enter")
    await console.sees("Wrote 700 rows to")
    assert len((place / "all.csv").read_text().splitlines()) == 701
    # In this terminal there is nothing to lend; the statement stays.
    await console.press("escape", "6", "f4")
    await console.sees(about("can't", "editor"))
    # Tab: the names of the table that the statement reads.
    await pane.prepare("SELECT * FROM looked.big VERSION AS OF 'sta")
    await console.press("tab")
    await console.until(lambda: pane.editor.text.endswith("'start"))


async def test_without_keys_whole_rows_are_counted_and_a_difference_can_be_cancelled(
    engine_warehouse: Path, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_table(engine_warehouse, "looked.log", ORDERS)
    for count in (2, 3):
        commit(engine_warehouse, "looked.log", orders(*((1, "a", 1.0) for _ in range(count))))
    session = with_engine(engine_warehouse, engine)
    async with sitting(engine_warehouse, (80, 24), session=session) as console:
        await console.sees("▾ ")
        await to_table(console, "looked.log")
        await console.press("1", "g")
        await console.sees("1 of 2")
        await console.press("j", "D")
        await console.sees(
            "3 added, 0 removed   snapshot.1 has 2 rows, main 5",
            about("whole rows"),
            "+ added      3  order_id: 1",
        )
        await console.sees(about("snapshot.1:", "0 of 1 file", "both"))
        screen = console.app.screen
        assert isinstance(screen, DifferenceScreen)
        await console.press("r", "ctrl+c")
        await console.sees("cancelled", "r tries again")
        await console.press("r")
        await console.sees("3 added, 0 removed", about("1 different row", "order of columns"))
        # A long export: who closes the difference is told that it ended.
        may_end = threading.Event()
        monkeypatch.setattr(DifferenceReading, "write", lambda *_: may_end.wait(60))
        await console.press("ctrl+e")
        await console.type(f"{tmp_path}/all.csv")
        await console.press("enter")
        await console.sees("Writing ", "ctrl+c cancels")
        await console.press("ctrl+c")
        await console.sees("cancelling, ")
        assert "ctrl+c cancels" not in console.text
        await console.press("y", "greater_than_sign", "o")
        await console.sees(about("writing", "all.csv", "cancelled"))
        await console.press("escape")
        await console.sees(about("all.csv", "not written", "closed"))
        may_end.set()


async def test_marked_rows_become_what_they_were(engine_warehouse: Path, engine: Engine) -> None:
    name = "looked.repaired"
    create_table(engine_warehouse, name, ORDERS, primary_keys=["order_id"], options={"bucket": "1"})
    commit(engine_warehouse, name, orders((1, "a", 1.0), (2, "b", 2.0), (3, "c", 3.0)))
    commit(engine_warehouse, name, orders((1, "x", 1.0), (2, "x", 2.0), (3, "x", 3.0)))
    session = with_engine(engine_warehouse, engine)
    async with sitting(engine_warehouse, (80, 24), session=session) as console:
        await console.sees("▾ ")
        await to_table(console, name)
        await console.press("1", "g", "equals_sign")
        await console.sees("0 added, 0 removed, 3 changed", "3  customer: c -> x")
        await console.press("space", "space", "space", "k", "space")
        await console.sees("* ~ changed         1", "  ~ changed           2", "* ~ changed         3")
        await console.press("t")
        await console.sees("restore-rows · looked.repaired", about("2 rows", "become"))


@pytest.mark.parametrize(
    ("table", "versions", "why"),
    [
        ("orders", ("3", "other"), ("3", "other", "two branches")),
        ("events", ("1", "1"), ("primary key",)),
        ("orders", ("1", "3"), ()),
    ],
)
def test_where_rows_can_be_taken_back(
    warehouse: Path, table: str, versions: tuple[str, str], why: tuple[str, ...]
) -> None:
    create_branch(warehouse, "shop.orders", "other", "v2")
    files, path = LocalFiles(str(warehouse)), TablePath("shop", table)
    old, new = (parse_version(files, path, each) for each in versions)
    difference = make_difference(files, path, old, new)
    assert about(*why).search(why_not(difference)) and bool(why) == bool(why_not(difference))


def test_versions_that_others_put_in_the_place_of_those_compared_are_noticed(warehouse: Path) -> None:
    files, path, context = LocalFiles(str(warehouse)), TablePath("shop", "orders"), context_on(warehouse)
    old, new = (parse_version(files, path, each) for each in ("5", "main"))
    difference = make_difference(files, path, old, new)
    was = difference.old.snapshot
    assert was is not None
    require_old(files, difference)
    difference.require_read(point_of(was))
    done(context, "rollback", to="snapshot.4", truncate=True)
    with pytest.raises(NotFound):
        require_old(files, difference)
    commit(warehouse, "shop.orders", orders((9, "x", 9.0)))
    now = Lineage(files, path.root()).snapshot(5)
    another = about("snapshot.5", "shop.orders", "another version")
    with pytest.raises(Refused, match=another):
        require_old(files, difference)
    with pytest.raises(Refused, match=another):
        difference.require_read(point_of(now))


def test_a_row_says_what_changed_in_it_and_whole_rows_say_all() -> None:
    old, new = {"price": -64.5, "note": None, "same": 1}, {"price": 64.5, "note": "x", "same": 1}
    both = DiffRow("changed", {"id": 7}, old, new, ("price", "note"))
    assert in_short(both) == "price: -64.5 -> 64.5, note: null -> x"
    assert in_short(both, "note").startswith("note: ")
    assert as_fields(both, has_key=True)["changes"] == {
        "price": {"old": -64.5, "new": 64.5},
        "note": {"old": None, "new": "x"},
    }
    assert in_short(DiffRow("removed", {"id": 7}, old, None)) == "price: -64.5, note: null, same: 1"
    assert len(in_short(DiffRow("added", {}, None, {"a": "x" * 10_000}))) < 300
    assert shown.copied(both).split("\t") == ["changed", "7", "price: -64.5 -> 64.5, note: null -> x"]


def test_a_text_that_would_look_like_another_value_is_in_quotes(warehouse: Path) -> None:
    """`null -> null` and `a -> a` would say that nothing changed."""
    files, table = LocalFiles(str(warehouse)), TablePath("shop", "orders")
    old, new = (parse_version(files, table, each) for each in ("1", "2"))
    difference = make_difference(files, table, old, new)
    texts = {
        "null": '"null"',
        "": '""',
        "a ": '"a "',
        "l1\nl2": '"l1\\nl2"',
        "\x1b[3m": '"\\u001b[3m"',
        "a b": "a b",
    }
    for text, quoted in texts.items():
        row = DiffRow("changed", {"id": text}, {"note": None}, {"note": text}, ("note",))
        assert in_short(row) == f"note: null -> {quoted}"
        assert Fact("note in snapshot.2", quoted, text) in shown.facts_of(difference, row).facts
        assert as_fields(row, has_key=True)["changes"] == {"note": {"old": None, "new": text}}


def test_long_values_of_a_change_show_where_they_differ() -> None:
    day, text = "2026-11-26 09:25:35.12345", "x" * 500
    old, new = {"at": day + "6", "t": text}, {"at": day + "7", "t": text + "y"}
    row = DiffRow("changed", {"id": 7}, old, new, ("at", "t"))
    line = in_short(row)
    assert f"at: {day}6 -> {day}7, t: …" in line and line.endswith("xxxy")
    assert isinstance(line, Fitted)
    assert line.fitted(40) == "at: …9:25:35.123456 -> …9:25:35.123457,…"
    assert in_short(row, "t").startswith("t: …")
