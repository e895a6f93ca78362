"""What Python would misread or not read is refused by the column's name; the other columns are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from pypaimon.data.generic_variant import GenericVariant

from paimark.core.errors import Refused
from paimark.core.spark.datasource.paimon import row_batches
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge
from tests.interop.written import with_old_manifests
from tests.paimon import commit, create_table, open_table
from tests.wording import about

BYTES = [pa.field(name, pa.binary(), nullable=False) for name in ("value", "metadata")]
VARIANT, VECTOR = pa.struct(BYTES), pa.list_(pa.float32(), 3)
SEVEN = GenericVariant.from_python(7)
# Microseconds of 9999-12-31.
NEVER = 253_402_214_400_000_000
VALUES = {VARIANT: {"value": SEVEN.value(), "metadata": SEVEN.metadata()}, VECTOR: [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    ("file_format", "kind", "told"),
    [
        ("orc", VARIANT, "column v d.t VARIANT ORC"),
        ("parquet", VECTOR, "v d.t null VECTOR"),
    ],
)
def test_what_can_not_be_read_is_named(
    tmp_path: Path, file_format: str, kind: pa.DataType, told: str
) -> None:
    make(tmp_path, file_format, kind, [VALUES[kind], None])
    with pytest.raises(Refused, match=about(*told.split())):
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


@pytest.mark.parametrize(
    ("file_format", "kind", "is_read"),
    [
        ("orc", "TIMESTAMP(3)", False),
        ("orc", "TIMESTAMP_LTZ(6)", False),
        ("orc", "CHAR(3)", False),
        ("orc", "DATE", True),
        ("parquet", "TIMESTAMP(7)", False),
        ("parquet", "TIMESTAMP_LTZ(9)", False),
        ("parquet", "TIMESTAMP(6)", True),
        ("parquet", "CHAR(3)", True),
        ("avro", "TIMESTAMP(3)", True),
    ],
)
def test_times_and_texts_by_their_format(
    tmp_path: Path, judge: Judge, file_format: str, kind: str, is_read: bool
) -> None:
    """pyarrow reads times before 1677 and after 2262 as others, such as 9999-12-31, which is for "never"."""
    options = {"bucket": "1", "file.format": file_format}
    judge.create(tmp_path, "d.t", {"k": "INT NOT NULL", "v": kind}, keys=["k"], options=options)
    value = "ab " if kind.startswith("CHAR") else 2_932_896 if kind == "DATE" else NEVER
    judge.put(tmp_path, "d.t", [("+I", [1, value])])
    if is_read:
        [row] = rows(scan_of(tmp_path))
        assert str(row["v"])[:4] in ("ab ", "9999")
        return
    with pytest.raises(Refused, match=r"v of d\.t .*(times|CHAR) .*(orc|ORC|parquet)") as refused:
        rows(scan_of(tmp_path))
    assert "paimark jars fetch paimon" in refused.value.hint
    assert rows(replace(scan_of(tmp_path), columns=("k",))) == [{"k": 1}]


def test_rows_are_not_merged_by_such_times(tmp_path: Path, judge: Judge) -> None:
    options = {"bucket": "1", "write-only": "true", "sequence.field": "c"}
    columns = {"k": "INT NOT NULL", "c": "TIMESTAMP(9)"}
    judge.create(tmp_path, "d.t", columns, keys=["k"], options=options)
    for micros in (NEVER, 0):
        judge.put(tmp_path, "d.t", [("+I", [1, micros])])
    with pytest.raises(Refused, match="Column c"):
        rows(replace(scan_of(tmp_path), columns=("k",)))


@pytest.mark.parametrize("name", ["part-00000.parquet", "data-2019.parquet"])
def test_a_file_that_hive_wrote_has_96_bits_for_all_times(tmp_path: Path, name: str) -> None:
    schema = pa.schema([("k", pa.int32()), ("c", pa.timestamp("us"))])
    create_table(tmp_path, "d.t", schema, options={"bucket": "-1"})
    builder = open_table(tmp_path, "d.t").new_batch_write_builder()
    writer, committer = builder.new_write(), builder.new_commit()
    table = pa.table({"k": [1], "c": pa.array([NEVER], pa.timestamp("us"))}, schema)
    writer.write_arrow(table)
    messages = writer.prepare_commit()
    file = messages[0].new_files[0]
    path = Path(file.file_path).with_name(name)
    pq.write_table(table, path, use_deprecated_int96_timestamps=True)
    file.file_name, file.file_path, file.file_size = path.name, str(path), path.stat().st_size
    committer.commit(messages)
    with pytest.raises(Refused, match="Column c"):
        rows(scan_of(tmp_path))


def test_manifests_of_paimon_0_9(tmp_path: Path, judge: Judge) -> None:
    judge.create(tmp_path, "d.t", {"k": "INT"}, options={"bucket": "-1"})
    judge.put(tmp_path, "d.t", [("+I", [1])])
    with_old_manifests(tmp_path / "d.db/t")
    assert rows(scan_of(tmp_path)) == [{"k": 1}]


def test_manifests_in_a_compression_that_only_java_knows_by_that_name(tmp_path: Path, judge: Judge) -> None:
    judge.create(tmp_path, "d.t", {"k": "INT"}, options={"manifest.compression": "zstandard"})
    judge.put(tmp_path, "d.t", [("+I", [1])])
    assert rows(scan_of(tmp_path)) == [{"k": 1}]


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
