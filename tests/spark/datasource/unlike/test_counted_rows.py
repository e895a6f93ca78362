"""A column that files lack is null in each of their rows, also where nothing else is asked for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from msgspec.structs import replace

from core.spark.datasource.conditions import PypaimonCondition
from core.spark.datasource.paimon import plan_splits, read_splits
from core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from core.spark.streaming.changes import read_task
from core.storage.local import LocalFiles
from core.table.layout import TablePath
from core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge
from tests.paimon import commit, create_table, open_table

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.int32())])
EVOLVES = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}


@pytest.mark.parametrize("rust", [True, False])
@pytest.mark.parametrize("options", [{}, EVOLVES], ids=["plain", "evolves"])
@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_rows_from_before_a_column_was_added_are_there(
    tmp_path: Path, judge: Judge, file_format: str, options: dict[str, str], rust: bool
) -> None:
    create_table(tmp_path, "d.t", SCHEMA, options={"bucket": "-1", "file.format": file_format, **options})
    commit(tmp_path, "d.t", pa.table([[1, 2], [5, 6]], schema=SCHEMA))
    if options:
        _write_anew(tmp_path, "v", [7, 8])
    judge.alter(tmp_path, "d.t", "add", "x", type="INT")
    judge.put(tmp_path, "d.t", [("+I", [3, 7, 9])])
    scan = replace(_scan(tmp_path), columns=("x",), rust=rust)
    assert _values(scan, "x") == [None, None, 9]
    assert _values(scan, "x", PypaimonCondition("is_null", "x")) == [None, None]


def test_rows_of_which_no_column_is_left_are_there(tmp_path: Path, judge: Judge) -> None:
    create_table(tmp_path, "d.t", SCHEMA, options={"bucket": "-1", "file.format": "avro"})
    commit(tmp_path, "d.t", pa.table([[1, 2], [5, 6]], schema=SCHEMA))
    judge.alter(tmp_path, "d.t", "add", "x", type="INT")
    for name in SCHEMA.names:
        judge.alter(tmp_path, "d.t", "drop", name)
    assert judge.rows(tmp_path, "d.t") == [[None], [None]]
    scan = _scan(tmp_path)
    # First: what a query mends is mended for the whole process.
    told = list(read_task(scan, plan_splits(scan, []), "changes", True))
    assert [row["x"] for batch in told for row in batch.to_pylist()] == [None, None]
    assert _values(scan, "x") == [None, None]


def _write_anew(warehouse: Path, name: str, values: list[int]) -> None:
    """One column of the first rows."""
    builder = open_table(warehouse, "d.t").new_batch_write_builder()
    writer, committer = builder.new_write().with_write_type([name]), builder.new_commit()
    writer.write_arrow(pa.table({name: pa.array(values, pa.int32())}))
    messages = writer.prepare_commit()
    messages[0].new_files[0].first_row_id = 0
    committer.commit(messages)


def _scan(warehouse: Path) -> Scan:
    files, root = LocalFiles(str(warehouse)), TablePath("d", "t").root()
    return make_scan(
        WarehouseAccess(files, str(warehouse), {}), root, Lineage(files, root).latest(), pinned=False
    )


def _values(scan: Scan, name: str, *conditions: PypaimonCondition) -> list[int | None]:
    batches = list(read_splits(scan, conditions, plan_splits(scan, conditions)))
    return sorted((row[name] for batch in batches for row in batch.to_pylist()), key=str, reverse=True)
