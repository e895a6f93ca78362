"""Partitions by numbers with a point: read, or refused by name where their directory is not found."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimark.core.errors import Refused
from paimark.core.spark.datasource.scan import WarehouseAccess, make_scan
from paimark.core.spark.datasource.table_rows import row_batches
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge


def test_a_file_that_is_not_found_is_not_called_lost(tmp_path: Path, judge: Judge) -> None:
    judge.create(tmp_path, "d.t", {"k": "INT", "p": "DOUBLE"}, partitions=["p"])
    judge.put(tmp_path, "d.t", [("+I", [1, 1.5]), ("+I", [2, 1e20])])
    assert _rows(tmp_path) == sorted(judge.rows(tmp_path, "d.t")) == [[1, 1.5], [2, 1e20]]
    judge.put(tmp_path, "d.t", [("+I", [3, "NaN"])])
    with pytest.raises(
        Refused, match=r"d\.t is partitioned by p, which is DOUBLE: data-.* is not in the directory"
    ):
        _rows(tmp_path)


def _rows(warehouse: Path) -> list[list[object]]:
    files, root = LocalFiles(str(warehouse)), TablePath("d", "t").root()
    latest = Lineage(files, root).latest()
    scan = make_scan(WarehouseAccess(files, str(warehouse), {}), root, latest, pinned=False)
    return sorted(list(row.values()) for batch in row_batches(scan) for row in batch.to_pylist())
