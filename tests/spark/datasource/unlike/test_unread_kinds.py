"""What pyarrow can't read of a file is refused by the column's name, and the other columns are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace
from pypaimon.data.generic_variant import GenericVariant

from paimark.core.errors import Refused
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from paimark.core.spark.datasource.table_rows import row_batches
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge
from tests.paimon import commit, create_table, open_table

BYTES = [pa.field(name, pa.binary(), nullable=False) for name in ("value", "metadata")]
VARIANT, VECTOR = pa.struct(BYTES), pa.list_(pa.float32(), 3)
SEVEN = GenericVariant.from_python(7)
VALUES = {VARIANT: {"value": SEVEN.value(), "metadata": SEVEN.metadata()}, VECTOR: [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    ("file_format", "kind", "told"),
    [
        ("orc", VARIANT, r"Column v of d\.t is VARIANT in ORC files"),
        ("parquet", VECTOR, r"A value of v of d\.t is null, which nothing here reads of a VECTOR"),
    ],
)
def test_what_can_not_be_read_is_named(
    tmp_path: Path, file_format: str, kind: pa.DataType, told: str
) -> None:
    make(tmp_path, file_format, kind, [VALUES[kind], None])
    with pytest.raises(Refused, match=told):
        rows(scan_of(tmp_path))
    assert rows(replace(scan_of(tmp_path), columns=("k",))) == [{"k": 0}, {"k": 1}]


def test_a_variant_that_orc_files_were_written_before_is_null_in_them(tmp_path: Path, judge: Judge) -> None:
    """Stock has no such column while new files are ORC."""
    create_table(tmp_path, "d.t", pa.schema([("k", pa.int32())]), options={"bucket": "-1"})
    builder = open_table(tmp_path, "d.t").copy({"file.format": "orc"}).new_batch_write_builder()
    writer, committer = builder.new_write(), builder.new_commit()
    writer.write_arrow(pa.table({"k": pa.array([0], pa.int32())}))
    messages = writer.prepare_commit()
    assert messages[0].new_files[0].file_name.endswith(".orc")
    committer.commit(messages)
    judge.alter(tmp_path, "d.t", "add", "v", type="VARIANT")
    assert rows(scan_of(tmp_path)) == [{"k": 0, "v": None}]


@pytest.mark.parametrize(
    ("file_format", "kind", "values"),
    [
        ("parquet", VARIANT, [VALUES[VARIANT], None]),
        ("avro", VARIANT, [VALUES[VARIANT], None]),
        ("parquet", VECTOR, [VALUES[VECTOR]]),
        ("orc", VECTOR, [VALUES[VECTOR], None]),
        ("avro", VECTOR, [VALUES[VECTOR], None]),
    ],
)
def test_all_else_is_read(tmp_path: Path, file_format: str, kind: pa.DataType, values: list[Any]) -> None:
    make(tmp_path, file_format, kind, values)
    assert [row["v"] for row in rows(scan_of(tmp_path))] == values


def make(warehouse: Path, file_format: str, kind: pa.DataType, values: list[Any]) -> None:
    schema = pa.schema([("k", pa.int32()), ("v", kind)])
    create_table(warehouse, "d.t", schema, options={"bucket": "-1", "file.format": file_format})
    commit(warehouse, "d.t", pa.table([list(range(len(values))), pa.array(values, kind)], schema=schema))


def scan_of(warehouse: Path) -> Scan:
    files, root = LocalFiles(str(warehouse)), TablePath("d", "t").root()
    latest = Lineage(files, root).latest()
    return make_scan(WarehouseAccess(files, str(warehouse), {}), root, latest, pinned=False)


def rows(scan: Scan) -> list[dict[str, Any]]:
    return [row for batch in row_batches(scan) for row in batch.to_pylist()]
