"""Values of some columns written anew, and columns renamed since: no older value is taken for a newer one."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from msgspec.structs import replace

from paimark.core.errors import Refused
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from paimark.core.spark.datasource.table_rows import row_batches
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge
from tests.paimon import commit, create_table, open_table

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.int32()), ("w", pa.int32())])
OPTIONS = {"bucket": "-1", "row-tracking.enabled": "true", "data-evolution.enabled": "true"}


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """`d.t`, with `w` of its two rows written anew."""
    create_table(tmp_path, "d.t", SCHEMA, options=OPTIONS)
    commit(tmp_path, "d.t", pa.table([[1, 2], [5, 6], [7, 8]], schema=SCHEMA))
    builder = open_table(tmp_path, "d.t").new_batch_write_builder()
    writer, committer = builder.new_write().with_write_type(["w"]), builder.new_commit()
    writer.write_arrow(pa.table({"w": pa.array([70, 80], pa.int32())}))
    messages = writer.prepare_commit()
    messages[0].new_files[0].first_row_id = 0
    committer.commit(messages)
    return tmp_path


def test_a_column_that_was_renamed_is_refused(warehouse: Path, judge: Judge) -> None:
    judge.alter(warehouse, "d.t", "rename", "v", name="x")
    # Which no newer file holds.
    assert _rows(_scan(warehouse)) == sorted(judge.rows(warehouse, "d.t")) == [[1, 5, 70], [2, 6, 80]]
    judge.alter(warehouse, "d.t", "rename", "w", name="ww")
    with pytest.raises(Refused, match=r"Column ww of d\.t was called w when values"):
        _rows(_scan(warehouse))
    assert _rows(replace(_scan(warehouse), columns=("k", "x"))) == [[1, 5], [2, 6]]
    assert _rows(_scan(warehouse, snapshot=2)) == [[1, 5, 70], [2, 6, 80]]


def test_a_column_that_is_called_like_a_dropped_one_has_none_of_its_values(
    warehouse: Path, judge: Judge
) -> None:
    judge.alter(warehouse, "d.t", "drop", "w")
    judge.alter(warehouse, "d.t", "add", "w", type="INT")
    assert _rows(_scan(warehouse)) == sorted(judge.rows(warehouse, "d.t")) == [[1, 5, None], [2, 6, None]]


def _scan(warehouse: Path, snapshot: int | None = None) -> Scan:
    files, root = LocalFiles(str(warehouse)), TablePath("d", "t").root()
    lineage = Lineage(files, root)
    record = lineage.latest() if snapshot is None else lineage.snapshot(snapshot)
    return make_scan(WarehouseAccess(files, str(warehouse), {}), root, record, pinned=snapshot is not None)


def _rows(scan: Scan) -> list[list[int | None]]:
    return sorted(list(row.values()) for batch in row_batches(scan) for row in batch.to_pylist())
