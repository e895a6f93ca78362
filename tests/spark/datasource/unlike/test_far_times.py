"""Times that pyarrow would make others of are refused by their column's name; all others are read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from core.errors import Refused
from core.spark.datasource.paimon import plan_splits, read_splits
from core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from core.spark.streaming.changes import read_task
from core.storage.local import LocalFiles
from core.table.layout import TablePath
from core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge
from tests.paimon import commit, create_table

# Microseconds since 1970: of 2200, the year 1 and 9999-12-31, which people write for "never".
NEAR, OLD, NEVER = 7_258_118_400_000_000, -62_135_596_800_000_000, 253_402_214_400_000_000
# Up to the last second that 64 bits of nanoseconds have.
EDGE = 9_223_372_035_000_000
TYPES = [
    ("orc", "TIMESTAMP(3)"),
    ("orc", "TIMESTAMP_LTZ(6)"),
    ("orc", "TIMESTAMP(9)"),
]


def scan_of(warehouse: Path, *columns: str) -> Scan:
    files, root = LocalFiles(str(warehouse)), TablePath("d", "t").root()
    latest = Lineage(files, root).latest()
    scan = make_scan(WarehouseAccess(files, str(warehouse), {}), root, latest, pinned=False)
    return replace(scan, columns=columns or None)


def rows(scan: Scan) -> list[dict[str, Any]]:
    return [row for batch in read_splits(scan, [], plan_splits(scan, [])) for row in batch.to_pylist()]


def made(judge: Judge, warehouse: Path, file_format: str, kind: str, micros: int, **options: str) -> None:
    told = {"bucket": "1", "file.format": file_format, **options}
    judge.create(warehouse, "d.t", {"k": "INT NOT NULL", "c": kind}, keys=["k"], options=told)
    judge.put(warehouse, "d.t", [("+I", [1, micros]), ("+I", [2, None])])


@pytest.mark.parametrize("micros", [OLD, NEVER, EDGE + 1_000_000])
@pytest.mark.parametrize(("file_format", "kind"), TYPES)
def test_a_far_time_is_refused_and_the_rest_is_read(
    tmp_path: Path, judge: Judge, file_format: str, kind: str, micros: int
) -> None:
    made(judge, tmp_path, file_format, kind, micros)
    with pytest.raises(Refused, match=r"Column c of d\.t holds times before 1677 or after 2262"):
        rows(scan_of(tmp_path))
    assert [row["k"] for row in rows(scan_of(tmp_path, "k"))] == [1, 2]


@pytest.mark.parametrize("micros", [0, NEAR, -EDGE, EDGE])
@pytest.mark.parametrize(("file_format", "kind"), TYPES)
def test_other_times_are_what_java_wrote(
    tmp_path: Path, judge: Judge, file_format: str, kind: str, micros: int
) -> None:
    micros -= micros % 1_000
    made(judge, tmp_path, file_format, kind, micros)
    expected = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=micros)
    found = [row["c"] for row in rows(scan_of(tmp_path))]
    assert [_plain(each) for each in found] == [expected, None]


def _plain(found: Any) -> Any:
    return None if found is None else dt.datetime.fromisoformat(str(found)[:26]).replace(tzinfo=None)


@pytest.mark.parametrize("codec", ["none", "zlib", "snappy", "lz4", "zstd"])
def test_footers_are_read_however_they_are_compressed(tmp_path: Path, judge: Judge, codec: str) -> None:
    made(judge, tmp_path, "orc", "TIMESTAMP(3)", NEAR, **{"file.compression": codec})
    assert len(rows(scan_of(tmp_path))) == 2


def test_files_that_pyarrow_wrote_say_what_times_they_hold(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.int32()), ("c", pa.timestamp("ms"))])
    create_table(tmp_path, "d.t", schema, options={"file.format": "orc", "bucket": "-1"})
    times = [dt.datetime(2020, 1, 1), None]
    commit(tmp_path, "d.t", pa.table({"k": [1, 2], "c": times}, schema))
    assert [row["c"] for row in rows(scan_of(tmp_path))] == times


def test_a_stream_refuses_them_as_well(tmp_path: Path, judge: Judge) -> None:
    made(judge, tmp_path, "orc", "TIMESTAMP(3)", NEVER)
    scan = scan_of(tmp_path)

    def changes() -> Iterator[pa.RecordBatch]:
        return read_task(scan, plan_splits(scan, []), "changes", True)

    with pytest.raises(Refused, match="Column c"):
        list(changes())
