"""What Tab offers: pure from text and names, then read from a real table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.storage.local import LocalFiles
from paimark.tui.query.completion import Known, TableNames, complete, read_known, tables_named
from tests.paimon import open_table
from tests.table.branches import create_branch

ORDERS = TableNames(("order_id", "price", "p`rice"), ("savepoint.1", "v2", "snapshot.5"), ("fix",))
KNOWN = Known(
    all_tables=(("shop", "events"), ("shop", "orders"), ("odd", "a b")),
    tables={"shop.orders": ORDERS, "orders": ORDERS},
    system_tables=("files", "snapshots"),
    words=("FROM", "SELECT"),
    database="shop",
)


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("sel", ("SELECT",)),
        ("SELECT * FROM sh", ("shop.events", "shop.orders")),
        ("SELECT * FROM ord", ("orders",)),
        ("SELECT * FROM orders", ("shop.orders",)),
        ("SELECT * FROM Orders", ("orders", "shop.orders")),
        ("SELECT * FROM a", ("odd.`a b`",)),
        ("SELECT * FROM odd.", ("odd.`a b`",)),
        ("SELECT * FROM shop.orders$", ("shop.`orders$branch_fix`", "shop.`orders$files`")),
        ("SELECT * FROM shop.orders VERSION AS OF 'sa", ("savepoint.1",)),
        ("SELECT * FROM shop.orders FOR VERSION AS OF 'sn", ("snapshot.5",)),
        ("SELECT * FROM shop.orders VERSION AS OF v", ("'v2'",)),
        ("SELECT 'sa", ()),
        ("SELECT ", ()),
    ],
)
def test_what_could_go_on(text: str, choices: tuple[str, ...]) -> None:
    offered = complete(text, len(text), KNOWN).choices
    assert offered[: len(choices)] == choices if "$" in text else offered == choices


def test_columns_come_from_the_tables_named_behind_the_caret() -> None:
    sql = "SELECT p FROM shop.orders AS o WHERE o.pr"
    assert complete(sql, len("SELECT p"), KNOWN).choices == ("price", "`p``rice`")
    completion = complete(sql, len(sql), KNOWN)
    assert (completion.start, completion.choices) == (sql.index("o.pr"), ("o.price", "o.`p``rice`"))
    assert complete("SELECT x.pr FROM shop.orders o", len("SELECT x.pr"), KNOWN).choices == ()


def test_several_have_a_beginning_in_common() -> None:
    text = "SELECT * FROM s"
    assert complete(text, len(text), KNOWN).common == "shop."


def test_tables_are_found_in_statements_that_are_not_finished() -> None:
    sql = "SELECT * FROM shop.`orders$branch_fix` f JOIN events ON"
    assert [(each.name, each.alias) for each in tables_named(sql)] == [
        ("shop.orders$branch_fix", "f"),
        ("events", "events"),
    ]


def test_names_are_read_from_the_table(warehouse: Path) -> None:
    open_table(warehouse, "shop.orders").create_tag("savepoint.1", 3)
    create_branch(warehouse, "shop.orders", "fix", "v2")
    files = LocalFiles(str(warehouse))
    known = read_known(files, "SELECT * FROM orders JOIN shop.nothing JOIN `a/b` WHERE", "shop")
    assert known.all_tables == (("shop", "events"), ("shop", "orders"))
    assert known.tables["orders"] == TableNames(
        ("order_id", "customer", "price"),
        ("savepoint.1", "v2", *(f"snapshot.{number}" for number in (5, 4, 3, 2, 1))),
        ("fix",),
    )
    assert known.tables["shop.nothing"] == known.tables["a/b"] == TableNames()


def test_where_no_database_is_chosen_a_table_is_found_by_its_name() -> None:
    sql = "SELECT * FROM ord"
    assert complete(sql, len(sql), replace(KNOWN, database=None)).choices == ("shop.orders",)
