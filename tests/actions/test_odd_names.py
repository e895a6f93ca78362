"""Tables whose names hold dots, backticks and blanks: their plans apply, and their hints can be typed."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.actions.context import Context
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import TablePath
from tests.actions.acting import done, planned


@given(st.text("ab.`' -é", min_size=1, max_size=6), st.text("ab.`' -é", min_size=1, max_size=6))
def test_a_full_name_is_parsed_back(database: str, name: str) -> None:
    if not database.strip() or not name.strip() or database.startswith(".") or name.startswith("."):
        return
    table = TablePath(database, name)
    assert parse_table_name(table.full_name) == table
    assert parse_table_name(shlex.split(table.word)[0]) == table


@pytest.mark.parametrize("name", ["my.orders", "my`orders", "my orders"])
def test_plans_apply_on_it(context: Context, warehouse: Path, name: str) -> None:
    (warehouse / "shop.db/orders").rename(warehouse / f"shop.db/{name}")
    table = TablePath("shop", name)
    done(context, "create-savepoint", table)
    done(context, "create-branch", table, name="fix", tag="savepoint.1")
    plan = planned(context, "replace-main-branch", table, name="fix")
    assert shlex.split(plan.undo) == ["paimark", "undo", table.full_name]
    done(context, "replace-main-branch", table, name="fix")
    done(context, "undo", table)
