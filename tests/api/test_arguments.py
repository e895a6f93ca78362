"""Whatever is given to `paimark`: an error of the documented family, and none of Python's own."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import paimark
from paimark.core.actions.registry import ACTIONS
from paimark.core.regular_files import is_in_the_way, open_regular
from paimark.core.spark.client.client import Engine
from tests.wording import about

# Of any type; each is wrong everywhere, or does what it says.
STRANGE: list[Any] = [
    0,
    -1,
    10**30,
    1.5,
    True,
    "",
    " ",
    "../x",
    "x\0y",
    "\ud800",
    b"x",
    ["a"],
    {"a": 1},
    object(),
    int,
]
METHODS: dict[str, Callable[[Any, Any, Any], object]] = {
    "open": lambda warehouse, table, value: paimark.open(value),
    "options": lambda warehouse, table, value: paimark.open(warehouse.uri, options=value),
    "an option": lambda warehouse, table, value: paimark.open(warehouse.uri, options={"s3.endpoint": value}),
    "read_only": lambda warehouse, table, value: paimark.open(warehouse.uri, read_only=value),
    "spark_master": lambda warehouse, table, value: paimark.open(warehouse.uri, spark_master=value),
    "spark_conf": lambda warehouse, table, value: paimark.open(warehouse.uri, spark_conf={value: "1"}),
    "table": lambda warehouse, table, value: warehouse.table(value),
    "tables": lambda warehouse, table, value: warehouse.tables(value),
    "snapshots": lambda warehouse, table, value: table.snapshots(limit=value),
    "at": lambda warehouse, table, value: table.at(value),
    "at_time": lambda warehouse, table, value: table.at_time(value),
    "columns": lambda warehouse, table, value: table.at().to_arrow(columns=value),
    "a column": lambda warehouse, table, value: table.at().to_arrow(columns=[value]),
    "limit": lambda warehouse, table, value: table.at().to_arrow(["price"], limit=value),
    "reader": lambda warehouse, table, value: table.at().to_arrow_batch_reader(["price"], limit=value),
    "plan": lambda warehouse, table, value: table.plan(value),
    "apply": lambda warehouse, table, value: table.apply(value),
}
# To a program without types.
OPEN: Any = paimark.open
LISTS = ("snapshots", "savepoints", "tags", "schemas", "space", "at")


@pytest.fixture(autouse=True)
def state(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(warehouse.parent))


@pytest.mark.parametrize("name", METHODS)
def test_a_method_says_what_is_wrong(warehouse: Path, name: str) -> None:
    opened = paimark.open(warehouse)
    for value in STRANGE:
        if name == "spark_conf" and isinstance(value, list | dict):
            continue
        try:
            METHODS[name](opened, opened.table("shop.orders"), value)
        except paimark.PaimarkError as error:
            assert error.message, value


@pytest.mark.parametrize("name", LISTS)
def test_a_list_says_what_is_wrong_with_a_branch(warehouse: Path, name: str) -> None:
    orders = paimark.open(warehouse).table("shop.orders")
    for value in STRANGE:
        with pytest.raises(paimark.PaimarkError) as refused:
            getattr(orders, name)(branch=value)
        assert refused.value.hint, value


@pytest.mark.parametrize("action", ACTIONS)
def test_a_plan_says_what_is_wrong(warehouse: Path, action: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(engine: Engine) -> None:
        raise paimark.Unavailable("Spark would count rows", "")

    # A condition that is right is none of this test's.
    monkeypatch.setattr(Engine, "_started", refuse)
    orders = paimark.open(warehouse).table("shop.orders")
    needed = {each.name: "v2" for each in ACTIONS[action].arguments if each.required}
    for argument in ACTIONS[action].arguments:
        for value in STRANGE:
            try:
                orders.plan(action, **(needed | {argument.name: value}))
            except paimark.PaimarkError as error:
                assert error.message, value


@pytest.mark.parametrize(
    ("call", "terms"),
    [
        (lambda warehouse: OPEN(" "), ("warehouse*", "address", "empty")),
        (lambda warehouse: OPEN(b"s3://key:secret@x"), ("warehouse", "text", "bytes")),
        (
            lambda warehouse: OPEN(warehouse, options=["a"]),
            ("options", "texts", "list"),
        ),
        (
            lambda warehouse: OPEN(warehouse, options={"a": True}),
            ("options", "texts", "str", "bool"),
        ),
        (lambda warehouse: OPEN(warehouse, read_only="no"), ("read_only", "True", "False", "'no'")),
        (lambda warehouse: OPEN(warehouse).table(5), ("table", "text", "int")),
        (lambda warehouse: OPEN(warehouse).tables(5), ("database", "text", "int")),
        (
            lambda warehouse: OPEN(warehouse).table("shop.orders").tags(branch=5),
            ("branch", "text", "int"),
        ),
        (
            lambda warehouse: OPEN(warehouse).table("shop.orders").apply({}),
            ("apply", "plan", "dict"),
        ),
        (
            lambda warehouse: OPEN(warehouse).table("shop.orders").plan(5),
            ("action", "text", "int"),
        ),
    ],
)
def test_it_is_said_in_words(warehouse: Path, call: Callable[[Any], object], terms: tuple[str, ...]) -> None:
    with pytest.raises(paimark.UsageError) as refused:
        call(warehouse)
    assert about(*terms).search(refused.value.message)
    assert refused.value.hint or "True" in terms


def test_a_table_that_was_dropped_is_not_there(warehouse: Path) -> None:
    orders = paimark.open(warehouse).table("shop.orders")
    shutil.rmtree(warehouse / "shop.db/orders")
    calls: list[Callable[[], object]] = [
        *(orders.snapshots, orders.savepoints, orders.branches, orders.tags, orders.schemas, orders.space),
        *(orders.operations, orders.at, orders.create_savepoint, orders.auto_savepoint, orders.recover),
        *(orders.undo, orders.redo, lambda: orders.plan("undo")),
    ]
    for call in calls:
        with pytest.raises(paimark.NotFound, match=r"shop\.orders"):
            call()


def test_nothing_to_do_again_is_said(warehouse: Path) -> None:
    with pytest.raises(paimark.Refused, match=about("no undo", "redone")):
        paimark.open(warehouse).table("shop.orders").redo()


def test_passwords_do_not_travel_in_a_pickle(warehouse: Path) -> None:
    opened = paimark.open(warehouse)
    orders = opened.table("shop.orders")
    for each in (opened, orders, orders.at()):
        with pytest.raises(paimark.UsageError, match="can't be pickled"):
            pickle.dumps(each)
        assert repr(copy.deepcopy(each)) == repr(each)
    snapshots, plan = orders.snapshots(), orders.plan("delete-tag", name="v2")
    assert pickle.loads(pickle.dumps((snapshots, plan))) == (snapshots, plan)
    refused = pickle.loads(pickle.dumps(paimark.Refused("no", "so")))
    assert (refused.message, refused.hint) == ("no", "so")


def test_more_rows_than_a_number_of_c_holds(warehouse: Path) -> None:
    version = paimark.open(warehouse).table("shop.orders").at()
    assert version.to_arrow(limit=10**30).num_rows == version.to_arrow().num_rows > 0


def test_a_name_that_no_file_can_have() -> None:
    """As `resolve` of a merge."""
    with pytest.raises(OSError, match=about("no name", "file")):
        open_regular("x\0y", os.O_RDONLY)
    assert not is_in_the_way("x\0y")
