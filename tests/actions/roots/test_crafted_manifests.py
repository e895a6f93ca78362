"""A manifest that names a file of somebody else: nothing but files of the table's own buckets is deleted."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from paimark.core.actions.context import Context
from tests.actions.acting import applied, contents, planned
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit

Craft = Callable[[dict[str, Any], Path], None]


def craft(orders: Path, change: Craft) -> None:
    """Change the record of every data file in all manifests."""
    for path in orders.glob("manifest/manifest-[!l]*"):
        reader = fastavro.reader(io.BytesIO(path.read_bytes()))
        schema, records = reader.writer_schema, list(reader)
        for record in records:
            assert isinstance(record, dict)
            change(record["_FILE"], orders)
        buffer = io.BytesIO()
        assert schema is not None
        fastavro.writer(buffer, schema, records)
        path.write_bytes(buffer.getvalue())


def external(address: str) -> Craft:
    def change(file: dict[str, Any], orders: Path) -> None:
        file["_EXTERNAL_PATH"] = address.format(warehouse=orders.parent.parent, outside=_outside(orders))

    return change


def named(prefix: str) -> Craft:
    def change(file: dict[str, Any], orders: Path) -> None:
        file["_FILE_NAME"] = prefix + file["_FILE_NAME"]

    return change


def beside(name: str) -> Craft:
    def change(file: dict[str, Any], orders: Path) -> None:
        file["_EXTRA_FILES"] = [name]

    return change


def _outside(orders: Path) -> Path:
    return orders.parent.parent.parent / "outside"


CRAFTED = {
    "another table": external("{warehouse}/shop.db/victim/schema/schema-0"),
    "another table's address": external("file:{warehouse}/shop.db/victim/snapshot/snapshot-1"),
    "up and down again": external("{warehouse}/shop.db/orders/../victim/schema/schema-0"),
    "its own schema": external("{warehouse}/shop.db/orders/schema/schema-0"),
    "its own branch": external("{warehouse}/shop.db/orders/branch/branch-b/schema/schema-0"),
    "its own savepoint": external("{warehouse}/shop.db/orders/savepoint/savepoint-1"),
    "outside": external("file:{outside}/precious"),
    "outside without a scheme": external("{outside}/precious"),
    "name": named("../../victim/bucket-0/"),
    "name that goes down": named("deep/"),
    "extra": beside("../schema/schema-0"),
}


@pytest.fixture
def outside(orders: Path) -> Path:
    (directory := _outside(orders)).mkdir()
    (directory / "precious").write_bytes(b"x")
    return directory


@pytest.mark.parametrize("crafted", CRAFTED)
def test_an_expiry_keeps_what_is_not_the_tables_own_and_says_so(
    context: Context, warehouse: Path, orders: Path, outside: Path, crafted: str
) -> None:
    shutil.copytree(orders, warehouse / "shop.db/victim")
    shutil.copytree(orders / "bucket-0", orders / "bucket-0/deep")
    craft(orders, CRAFTED[crafted])
    rows = {"order_id": [9], "customer": ["c9"], "price": [9.0]}
    commit(warehouse, "shop.orders", pa.table(rows, schema=ORDERS_SCHEMA), overwrite=True)
    own, others = contents(orders), (contents(warehouse / "shop.db/victim"), contents(outside))

    plan = planned(context, "expire-snapshots", retain_last=1)
    told: list[str] = []
    applied(context, plan, told)

    assert (contents(warehouse / "shop.db/victim"), contents(outside)) == others
    gone = own.keys() - contents(orders).keys()
    assert all(each.startswith(("bucket-", "manifest/", "snapshot/snapshot-")) for each in gone)
    assert not any(each.startswith("bucket-0/deep/") for each in gone)
    assert any("no file of shop.orders" in each for each in plan.kept)
    assert any("no file of shop.orders" in each for each in told)
