"""After a truncation, stock Paimon reads main's earlier rows, and its clean-ups spare the archive."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from paimark.core.actions.context import Context
from paimark.core.table.layout import TablePath
from tests.actions.acting import applied, context_on, done, planned
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


def test_a_stock_cleaning_that_did_not_see_the_archive_takes_nothing_of_it(
    context: Context, warehouse: Path, judge: Judge
) -> None:
    """It lists the branches, then the archive is made, then it reads main: main still has all by then."""
    waiting = replace(context, verify_wait=0.01)
    before = judge.read(warehouse, "shop.orders")
    plan = planned(waiting, "rollback", to="v2", truncate=True)
    with judge.cleaning(warehouse, "shop.orders") as go_on:

        class Lines(list[str]):
            def append(self, line: str) -> None:
                if line.startswith("waiting"):
                    go_on()

        archive = applied(waiting, plan, Lines()).result["archive"]
    assert judge.read(warehouse, f"shop.orders$branch_{archive}") == before
    assert judge.read(warehouse, "shop.orders", tag="v2") == judge.read(warehouse, "shop.orders")
