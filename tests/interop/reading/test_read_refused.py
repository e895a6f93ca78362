"""A table that pypaimon can't read is refused in a sentence; stock Paimon's compaction makes it readable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paimark.core.errors import Refused
from paimark.core.spark.datasource.paimon import plan_splits, read_splits
from paimark.core.spark.datasource.scan import WarehouseAccess, make_scan
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge
from tests.wording import about

COLUMNS = {"k": "INT", "v": "INT", "s": "STRING"}


def ours(warehouse: Path, **wanted: Any) -> list[list[Any]]:
    """All rows of `d.t` as Python reads them."""
    files, root = LocalFiles(str(warehouse)), TablePath("d", "t").root()
    access = WarehouseAccess(files, str(warehouse), {})
    scan = make_scan(access, root, Lineage(files, root).latest(), pinned=False)
    batches = read_splits(scan, plan_splits(scan))
    return sorted(list(row.values()) for batch in batches for row in batch.to_pylist())


def test_rows_that_take_values_back(tmp_path: Path, judge: Judge) -> None:
    options = {"bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
    judge.create(tmp_path, "d.t", COLUMNS, keys=["k"], options=options)
    judge.put(tmp_path, "d.t", [("+I", [1, 10, "a"]), ("+I", [2, 20, "b"])])
    judge.put(tmp_path, "d.t", [("-D", [1, 3, None]), ("-D", [3, 5, None])])
    rows = sorted(judge.rows(tmp_path, "d.t"))
    assert [row[:2] for row in rows] == [[1, 7], [2, 20]]
    with pytest.raises(Refused, match=about("d.t", "rows", "retract")) as refused:
        ours(tmp_path)
    assert "compact" in refused.value.hint
    judge.compact(tmp_path, "d.t")
    assert ours(tmp_path) == rows
