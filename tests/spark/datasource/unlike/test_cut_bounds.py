"""Texts whose upper bound stock Paimon cuts off wrongly are found by the Python source all the same."""

from __future__ import annotations

from pathlib import Path

from paimark.core.spark.datasource.conditions import PypaimonCondition
from paimark.core.spark.datasource.paimon import plan_splits, read_splits
from paimark.core.spark.datasource.scan import WarehouseAccess, make_scan
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge

TEXT = "b" * 15 + "\ud7ffx"
CONDITIONS = [
    PypaimonCondition("equal", "c", (TEXT,)),
    PypaimonCondition("is_in", "c", (["A", TEXT],)),
    PypaimonCondition("greater_or_equal", "c", (TEXT,)),
    PypaimonCondition("greater_than", "c", ("b" * 15 + "c",)),
    PypaimonCondition("startswith", "c", ("b" * 15 + "\ud7ff",)),
]


def test_a_bound_that_java_cuts_wrongly_rules_nothing_out(tmp_path: Path, judge: Judge) -> None:
    judge.create(tmp_path, "d.t", {"c": "STRING"}, options={"bucket": "-1"})
    for text in (TEXT, "a"):
        judge.put(tmp_path, "d.t", [("+I", [text])])
    files, root = LocalFiles(str(tmp_path)), TablePath("d", "t").root()
    latest = Lineage(files, root).latest()
    scan = make_scan(WarehouseAccess(files, str(tmp_path), {}), root, latest, pinned=False)
    for each in CONDITIONS:
        splits = plan_splits(scan, [each])
        assert len(splits[0].files) == 1, each
        rows = [row["c"] for batch in read_splits(scan, [each], splits) for row in batch.to_pylist()]
        assert rows == [TEXT], each
