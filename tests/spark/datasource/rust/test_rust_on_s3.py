"""pypaimon-rust on S3: where it is told who reads, and with the rows of the Python reading."""

from __future__ import annotations

import logging
import uuid
from pathlib import Path

import pytest
from msgspec.structs import replace

from core.spark.datasource.paimon import open_table, plan_splits, read_splits
from core.spark.datasource.rust.choice import Choice
from core.spark.datasource.rust.stores import why_not_store
from core.spark.datasource.scan import WarehouseAccess, make_scan
from core.storage.open import open_files
from core.table.layout import TablePath
from core.table.lineage.lineage import Lineage
from tests.actions.acting import contents
from tests.storage.stores import BUCKET, S3Server

TRIED = {
    "s3.access-key": "a",
    "s3.secret-key": "b",
    "s3.path.style.access": "true",
    "s3.endpoint": "http://h",
}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (TRIED, ""),
        (TRIED | {"fs.oss.endpoint": "e"}, ""),
        ({}, "it needs s3.access-key as an option"),
        (TRIED | {"s3.secret-key": ""}, "it needs s3.secret-key as an option"),
        (TRIED | {"s3.session-token": "t"}, "it is not tried with s3.session-token"),
        (TRIED | {"fs.s3a.endpoint": "http://other"}, "it is not tried with fs.s3a.endpoint"),
        (
            TRIED | {"s3.path.style.access": "false"},
            "it is not tried on S3 without s3.path.style.access = true",
        ),
    ],
)
def test_it_is_told_all_that_says_who_reads_and_where(options: dict[str, str], reason: str) -> None:
    assert why_not_store("s3://lake/w", options) == reason
    assert why_not_store("/lake/w", options) == ""
    assert why_not_store("hdfs://n:1/w", options) == "it is not tried on hdfs"


@pytest.mark.usefixtures("by_rust")
@pytest.mark.parametrize("scheme", ["s3", "s3a"])
def test_its_rows_on_s3_are_pythons(
    scheme: str, s3: S3Server, warehouse_template: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = open_files(f"{scheme}://{BUCKET}/{uuid.uuid4().hex}", s3.options())
    for path, data in contents(warehouse_template).items():
        files.replace(path, data)
    root = TablePath("shop", "orders").root()
    access = WarehouseAccess(files, files.uri, s3.options())
    by_both = make_scan(access, root, Lineage(files, root).latest(), pinned=False)
    by_python = replace(by_both, rust=False)
    splits = plan_splits(by_both, ())
    assert Choice(by_both, open_table(by_both)).said(splits) == "by pypaimon-rust"
    with caplog.at_level(logging.WARNING, "paimark"):
        rows = [
            [row for batch in read_splits(scan, (), splits) for row in batch.to_pylist()]
            for scan in (by_both, by_python)
        ]
    # It has not left them to Python.
    assert not caplog.records
    assert len(rows[0]) > 4
    assert sorted(rows[0], key=repr) == sorted(rows[1], key=repr)
