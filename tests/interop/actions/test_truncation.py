"""After a truncation, stock Paimon reads main's earlier rows, and its clean-ups spare the archive."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from core.actions.context import Context
from core.table.layout import TablePath
from tests.actions.acting import context_on, done
from tests.interop.judge import Judge


@pytest.fixture
def context(warehouse: Path) -> Context:
    return context_on(warehouse)


def test_stock_engines_read_both_sides_of_a_cut(context: Context, warehouse: Path, judge: Judge) -> None:
    shutil.copytree(warehouse / "shop.db" / "orders", warehouse / "cut.db" / "orders")
    table = TablePath("cut", "orders")
    name = table.full_name
    # A compaction drops main's files from before the cut: only the pin keeps them for the archive.
    done(context, "create-savepoint", table=table, snapshot=1)
    done(context, "create-savepoint", table=table)
    head, then = judge.read(warehouse, name), judge.read(warehouse, name, snapshot=2)
    first = judge.read(warehouse, name, snapshot=1)
    archive = done(context, "rollback", table=table, to="v2", truncate=True).result["archive"]
    rest = f"{name}$branch_{archive}"
    assert judge.read(warehouse, name) == then
    assert judge.read(warehouse, rest) == head
    judge.write(warehouse, name, [{"order_id": 99, "customer": "stock", "price": 2.0}])
    now = judge.read(warehouse, name)
    assert len(now) == len(then) + 1
    for each in (name, rest):
        judge.compact(warehouse, each)
    judge.expire(warehouse, name)
    judge.clean_orphans(warehouse, name)
    assert judge.read(warehouse, name) == now
    assert judge.read(warehouse, rest) == head
    assert judge.read(warehouse, rest, snapshot=5) == head
    assert judge.read(warehouse, name, tag="savepoint.1") == first
    assert judge.read(warehouse, name, tag="v2") == then


def test_stock_engines_read_main_after_it_is_taken_back(
    context: Context, warehouse: Path, judge: Judge
) -> None:
    before = {number: judge.read(warehouse, "shop.orders", snapshot=number) for number in (1, 3, 5)}
    done(context, "rollback", to="v2", truncate=True)
    done(context, "undo")
    assert judge.read(warehouse, "shop.orders") == before[5]
    assert {number: judge.read(warehouse, "shop.orders", snapshot=number) for number in before} == before
    judge.write(warehouse, "shop.orders", [{"order_id": 99, "customer": "stock", "price": 2.0}])
    judge.compact(warehouse, "shop.orders")
    judge.expire(warehouse, "shop.orders")
    judge.clean_orphans(warehouse, "shop.orders")
    assert len(judge.read(warehouse, "shop.orders")) == len(before[5]) + 1
