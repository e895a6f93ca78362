"""A table of hostile names in a store, read by pypaimon-rust, by Python, and on the disk by stock Paimon."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from paimark.core.spark.datasource.paimon import open_table, plan_splits, read_splits
from paimark.core.spark.datasource.rust.choice import Choice
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from paimark.core.storage.open import open_files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.actions.acting import contents
from tests.interop.judge import Judge
from tests.paimon import commit, create_table

NAME = "odd.t"
SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), nullable=False),
        pa.field("part", pa.string(), nullable=False),
        ("v", pa.string()),
    ]
)
# What a store, or an address, might read as more than itself.
PARTS = ("a b", "%41{c}", "é?#&=+'~")


def keyed_table(warehouse: Path) -> None:
    """Two commits whose rows hide one another, in each of the partitions."""
    create_table(
        warehouse, NAME, SCHEMA, primary_keys=["k", "part"], partition_keys=["part"], options={"bucket": "1"}
    )
    for first, value in ((0, "old"), (2, "new")):
        keys = range(first, first + 4)
        rows = [{"k": key, "part": part, "v": value} for part in PARTS for key in keys]
        commit(warehouse, NAME, pa.Table.from_pylist(rows, schema=SCHEMA))


def scan_in(uri: str, options: Mapping[str, str]) -> Scan:
    files, root = open_files(uri, options), TablePath("odd", "t").root()
    return make_scan(WarehouseAccess(files, uri, options), root, Lineage(files, root).latest(), pinned=False)


def upload(warehouse: Path, uri: str, options: Mapping[str, str]) -> None:
    files = open_files(uri, options)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda item: files.create(*item), contents(warehouse).items()))


def require_alike(
    warehouse: Path, uri: str, options: Mapping[str, str], judge: Judge, caplog: pytest.LogCaptureFixture
) -> None:
    """Upload it and read it: pypaimon-rust reads all of it, and the rows are the others'."""
    upload(warehouse, uri, options)
    scan = scan_in(uri, options)
    splits = plan_splits(scan, ())
    assert Choice(scan, open_table(scan)).describe(splits) == "by pypaimon-rust"
    with caplog.at_level(logging.WARNING, "paimark"):
        by_rust = rows_of(scan, splits)
    # It has not left them to Python.
    assert not caplog.records
    assert len(by_rust) == 6 * len(PARTS)
    assert by_rust == rows_of(replace(scan, rust=False), splits)
    assert by_rust == sorted(judge.rows(warehouse, NAME), key=repr)


def rows_of(scan: Scan, splits: list[Any]) -> list[list[Any]]:
    found = [list(row.values()) for batch in read_splits(scan, (), splits) for row in batch.to_pylist()]
    return sorted(found, key=repr)
