"""The snapshots of stock writers, with merged manifests and compactions, are one unbroken chain."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.chain import breaks
from paimark.core.table.manifests.manifests import read_manifest_list
from paimark.core.table.records import Snapshot
from tests.conftest import ORDERS
from tests.interop.actions.test_garbage_collection import KINDS, grow, make_table
from tests.interop.judge import Judge
from tests.paimon import commit

TABLE = TablePath("shop", "t")
# With it, entries of deleted files are removed too.
FULLY = {"manifest.full-compaction-threshold-size": "1 b"}


def names(files: LocalFiles, *lists: str) -> set[str]:
    return {meta.file_name for each in lists for meta in read_manifest_list(files, TABLE.manifest(each))}


def merges(files: LocalFiles, snapshots: list[Snapshot]) -> int:
    """The number of snapshots whose base has other manifests than the previous snapshot."""
    return sum(
        names(files, before.base_manifest_list, before.delta_manifest_list)
        != names(files, after.base_manifest_list)
        for before, after in pairwise(snapshots)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_stock_commits_break_no_chain(judge: Judge, tmp_path: Path, kind: str) -> None:
    table = make_table(tmp_path, kind, **FULLY)
    grow(judge, tmp_path, table, kind, range(1, 8))
    if kind in ("primary key", "append"):
        rows = pa.table({"order_id": [1], "customer": ["x"], "price": [1.0]}, schema=ORDERS)
        commit(tmp_path, table, rows, overwrite=True)
        grow(judge, tmp_path, table, kind, range(8, 11))
    files = LocalFiles(str(tmp_path))
    snapshots = list(Lineage(files, TABLE.root()).snapshots())
    assert merges(files, snapshots) >= 3
    assert breaks(files, TABLE.root(), snapshots) == []
