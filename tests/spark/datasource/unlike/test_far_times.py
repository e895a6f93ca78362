"""Times that pyarrow would make others of are refused by their column's name; all others are read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from paimark.core.errors import Refused
from paimark.core.spark.datasource.paimon import plan_splits, read_splits
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from paimark.core.spark.streaming.changes import read_task
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge
from tests.paimon import commit, create_table, open_table

# Microseconds since 1970: of 2200, the year 1 and 9999-12-31, which people write for "never".
NEAR, OLD, NEVER = 7_258_118_400_000_000, -62_135_596_800_000_000, 253_402_214_400_000_000
# Of 2300 and 1500: what pyarrow makes of these 64 bits could be a time of its own as well.
NEXT, LAST = 10_413_792_000_000_000, -14_831_769_600_000_001
# Up to the last second that 64 bits of nanoseconds have.
EDGE = 9_223_372_035_000_000
TYPES = [
    ("orc", "TIMESTAMP(3)"),
    ("orc", "TIMESTAMP_LTZ(6)"),
    ("orc", "TIMESTAMP(9)"),
    ("parquet", "TIMESTAMP(7)"),
    ("parquet", "TIMESTAMP_LTZ(9)"),
]


def scan_of(warehouse: Path, *columns: str) -> Scan:
    files, root = LocalFiles(str(warehouse)), TablePath("d", "t").root()
    latest = Lineage(files, root).latest()
    scan = make_scan(WarehouseAccess(files, str(warehouse), {}), root, latest, pinned=False)
    return replace(scan, columns=columns or None)


def rows(scan: Scan) -> list[dict[str, Any]]:
    return [row for batch in read_splits(scan, [], plan_splits(scan, [])) for row in batch.to_pylist()]


def create_file(
    judge: Judge, warehouse: Path, file_format: str, kind: str, micros: int, **options: str
) -> None:
    table_options = {"bucket": "1", "file.format": file_format, **options}
    judge.create(warehouse, "d.t", {"k": "INT NOT NULL", "c": kind}, keys=["k"], options=table_options)
    judge.put(warehouse, "d.t", [("+I", [1, micros]), ("+I", [2, None])])


@pytest.mark.parametrize(("file_format", "kind"), TYPES)
def test_a_far_time_is_refused_and_all_others_are_read(
    tmp_path: Path, judge: Judge, file_format: str, kind: str
) -> None:
    near, far = [0, -2_500_000, NEAR, -EDGE, EDGE], [OLD, NEVER, NEXT, LAST, EDGE + 2_000_000]
    columns = {f"c{place}": micros for place, micros in enumerate([*near, *far])}
    kinds = {"k": "INT NOT NULL", **dict.fromkeys(columns, kind)}
    table_options = {"bucket": "1", "file.format": file_format}
    judge.create(tmp_path, "d.t", kinds, keys=["k"], options=table_options)
    judge.put(tmp_path, "d.t", [("+I", [1, *columns.values()]), ("+I", [2, *[None] * len(columns)])])
    for name in list(columns)[len(near) :]:
        with pytest.raises(Refused, match=rf"Column {name} of d\.t holds times before 1677 or after 2262"):
            rows(scan_of(tmp_path, "k", name))
    read = list(columns)[: len(near)]
    first, second = rows(scan_of(tmp_path, "k", *read))
    epoch = dt.datetime(1970, 1, 1)
    expected = [epoch + dt.timedelta(microseconds=micros) for micros in near]
    assert [_plain(first[name]) for name in read] == expected
    assert [second[name] for name in read] == [None] * len(read)


def test_times_deep_in_a_column_are_looked_at(tmp_path: Path, judge: Judge) -> None:
    fine = pa.timestamp("ns")
    kinds = [("c", pa.list_(fine)), ("m", pa.map_(pa.string(), fine)), ("k", pa.int32())]
    create_table(tmp_path, "d.t", pa.schema(kinds), options={"bucket": "-1"})
    judge.put(tmp_path, "d.t", [("+I", [[None, NEAR], [["a", NEVER]], 1]), ("+I", [None, None, 2])])
    assert len(rows(scan_of(tmp_path, "k", "c"))) == 2
    with pytest.raises(Refused, match=r"Column m of d\.t holds times .* in parquet files"):
        rows(scan_of(tmp_path, "k", "m"))


@pytest.mark.parametrize("role", ["key", "order"])
def test_rows_are_not_merged_by_far_times(tmp_path: Path, judge: Judge, role: str) -> None:
    options = {"bucket": "1", "write-only": "true"} | ({"sequence.field": "c"} if role == "order" else {})
    columns = {"k": "INT NOT NULL", "c": "TIMESTAMP(9) NOT NULL"}
    judge.create(tmp_path, "d.t", columns, keys=["k", "c"] if role == "key" else ["k"], options=options)
    for micros in (NEVER, NEAR):
        judge.put(tmp_path, "d.t", [("+I", [1, micros])])
    with pytest.raises(Refused, match="Column c"):
        rows(scan_of(tmp_path, "k"))


def test_rows_are_not_merged_by_times_that_were_finer_once(tmp_path: Path, judge: Judge) -> None:
    create_file(
        judge, tmp_path, "parquet", "TIMESTAMP(7)", NEAR, **{"sequence.field": "c", "write-only": "true"}
    )
    judge.alter(tmp_path, "d.t", "widen", "c", type="TIMESTAMP(6)")
    judge.put(tmp_path, "d.t", [("+I", [1, NEAR - 1])])
    with pytest.raises(Refused, match=r"Column c of d\.t was TIMESTAMP\(7\) and is TIMESTAMP\(6\)"):
        rows(scan_of(tmp_path, "k"))


@pytest.mark.parametrize("name", ["part-00000.parquet", "data-2019.parquet"])
@pytest.mark.parametrize("micros", [NEVER, NEAR])
def test_a_file_that_hive_wrote_has_96_bits_for_all_times(tmp_path: Path, micros: int, name: str) -> None:
    schema = pa.schema([("k", pa.int32()), ("c", pa.timestamp("us"))])
    create_table(tmp_path, "d.t", schema, options={"bucket": "-1"})
    values = pa.array([micros, None], pa.timestamp("us"))
    take_over(tmp_path, pa.table({"k": [1, 2], "c": values}, schema), name)
    if micros == NEAR:
        assert [str(row["c"]) for row in rows(scan_of(tmp_path))] == ["2200-01-01 00:00:00", "None"]
        return
    with pytest.raises(Refused, match="Column c"):
        rows(scan_of(tmp_path))


def take_over(warehouse: Path, rows: pa.Table, name: str) -> None:
    """Commit a file that another program wrote, under its own name."""
    builder = open_table(warehouse, "d.t").new_batch_write_builder()
    writer, committer = builder.new_write(), builder.new_commit()
    writer.write_arrow(rows)
    messages = writer.prepare_commit()
    file = messages[0].new_files[0]
    path = Path(file.file_path).with_name(name)
    pq.write_table(rows, path, use_deprecated_int96_timestamps=True)
    file.file_name, file.file_path, file.file_size = path.name, str(path), path.stat().st_size
    committer.commit(messages)


@pytest.mark.parametrize("prefix", ["data-", "own-"])
def test_the_times_of_files_that_paimon_wrote_are_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    schema = pa.schema([("k", pa.int32()), ("c", pa.timestamp("us"))])
    create_table(tmp_path, "d.t", schema, options={"bucket": "-1", "data-file.prefix": prefix})
    commit(tmp_path, "d.t", pa.table({"k": [1], "c": pa.array([NEVER], pa.timestamp("us"))}, schema))
    monkeypatch.setattr("paimark.core.spark.datasource.unlike.far_times._READERS", {"parquet": None})
    assert [str(row["c"])[:4] for row in rows(scan_of(tmp_path))] == ["9999"]


def _plain(found: Any) -> Any:
    return dt.datetime.fromisoformat(str(found)[:26]).replace(tzinfo=None)


@pytest.mark.parametrize("codec", ["none", "zlib", "snappy", "lz4", "zstd"])
def test_footers_are_read_however_they_are_compressed(tmp_path: Path, judge: Judge, codec: str) -> None:
    create_file(judge, tmp_path, "orc", "TIMESTAMP(3)", NEAR, **{"file.compression": codec})
    assert len(rows(scan_of(tmp_path))) == 2


def test_files_that_pyarrow_wrote_say_what_times_they_hold(tmp_path: Path) -> None:
    schema = pa.schema([("k", pa.int32()), ("c", pa.timestamp("ms"))])
    create_table(tmp_path, "d.t", schema, options={"file.format": "orc", "bucket": "-1"})
    times = [dt.datetime(2020, 1, 1), None]
    commit(tmp_path, "d.t", pa.table({"k": [1, 2], "c": times}, schema))
    assert [row["c"] for row in rows(scan_of(tmp_path))] == times


def test_a_stream_refuses_them_as_well(tmp_path: Path, judge: Judge) -> None:
    create_file(judge, tmp_path, "orc", "TIMESTAMP(3)", NEVER)
    scan = scan_of(tmp_path)

    def changes() -> Iterator[pa.RecordBatch]:
        return read_task(scan, plan_splits(scan, []), "changes", True)

    with pytest.raises(Refused, match="Column c"):
        list(changes())
