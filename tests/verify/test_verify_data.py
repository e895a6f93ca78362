"""`verify` with data files read: always the same of them, decoded, counted, in the order of their keys."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from paimark.core.actions.context import Context
from paimark.core.errors import Corrupt
from paimark.core.storage.files import MOST_BYTES, TooLarge
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.verify import Problem, data_files, verify
from paimark.core.verify.data_files import ReadingProcess
from tests.actions.acting import EVENTS, ORDERS, context_on
from tests.conftest import ORDERS as ORDERS_SCHEMA
from tests.paimon import commit, create_table
from tests.storage.wrapped import Wrapped
from tests.wording import about

KEYED = pa.schema(
    [
        pa.field("day", pa.string(), nullable=False),
        pa.field("code", pa.string(), nullable=False),
        pa.field("flag", pa.bool_(), nullable=False),
        pa.field("at", pa.timestamp("us"), nullable=False),
        pa.field("price", pa.decimal128(12, 2)),
    ]
)


def problem(context: Context) -> Problem:
    [only] = verify(context, ORDERS, read_data=1.0).problems
    return only


def rewritten(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Another content in as many bytes: what tells is the content alone."""
    size = path.stat().st_size
    pq.write_table(
        change(pq.ParquetFile(path).read()),
        path,
        use_dictionary=False,
        write_statistics=False,
        store_schema=False,
    )
    data_files = path.read_bytes()
    footer = len(data_files) - 8 - int.from_bytes(data_files[-8:-4], "little")
    path.write_bytes(data_files[:footer] + bytes(size - len(data_files)) + data_files[footer:])
    assert path.stat().st_size == size


def test_every_file_of_sound_tables_is_read(context: Context) -> None:
    report = verify(context, ORDERS, read_data=1.0)
    assert (report.sampled, report.is_whole) == (10, True)
    assert verify(context, EVENTS, read_data=1.0).is_whole


@pytest.mark.parametrize("kind", ["parquet", "orc", pytest.param("avro", marks=pytest.mark.long)])
def test_rows_of_each_format_are_in_the_order_of_many_columns(tmp_path: Path, kind: str) -> None:
    create_table(
        tmp_path,
        "shop.keyed",
        KEYED,
        primary_keys=["day", "code", "flag", "at"],
        partition_keys=["day"],
        options={"bucket": "1", "file.format": kind},
    )
    start = datetime.datetime(2026, 5, 1)
    rows = {
        "day": ["d"] * 400,
        "code": [f"é{i % 7}\U0001f600" if i % 2 else f"z{i % 5}" for i in range(400)],
        "flag": [i % 3 == 0 for i in range(400)],
        "at": [start - datetime.timedelta(minutes=i) for i in range(400)],
        "price": [Decimal(i) for i in range(400)],
    }
    commit(tmp_path, "shop.keyed", pa.table(rows, schema=KEYED))
    report = verify(context_on(tmp_path), TablePath("shop", "keyed"), read_data=1.0)
    assert report.sampled > 0 and report.problems == ()


def test_the_sample_is_the_same_every_time_and_grows(context: Context, warehouse: Path) -> None:
    for number in range(10, 40):
        row = {"order_id": [number], "customer": ["c"], "price": [1.0]}
        commit(warehouse, "shop.orders", pa.table(row, schema=ORDERS_SCHEMA))
    half = verify(context, ORDERS, read_data=0.5).sampled
    assert 5 < half < 35
    assert verify(context, ORDERS, read_data=0.5).sampled == half
    assert verify(context, ORDERS).sampled == 0


def test_rows_that_are_missing_are_told(context: Context, orders: Path) -> None:
    path = max(orders.glob("bucket-0/data-*"), key=lambda each: pq.ParquetFile(each).metadata.num_rows)
    number = pq.ParquetFile(path).metadata.num_rows
    rewritten(path, lambda table: table.slice(1))
    damaged = problem(context)
    assert (damaged.cause, damaged.path) == ("damaged", f"shop.db/orders/bucket-0/{path.name}")
    assert about(f"{number - 1} rows", number).search(damaged.detail)
    assert damaged.needed_by


def test_rows_out_of_order_are_told(context: Context, orders: Path) -> None:
    path = max(orders.glob("bucket-0/data-*"), key=lambda each: pq.ParquetFile(each).metadata.num_rows)
    rewritten(path, lambda table: table.take(list(reversed(range(table.num_rows)))))
    assert about("rows", "not", "order of order_id").search(problem(context).detail)


def test_bytes_that_are_no_data_are_told(context: Context, orders: Path) -> None:
    path = min(orders.glob("bucket-0/data-*"))
    path.write_bytes(b"x" * path.stat().st_size)
    assert about("can't", "decoded").search(problem(context).detail)


def test_nothing_heavy_is_loaded_unless_data_is_read(warehouse: Path) -> None:
    code = (
        "import sys\n"
        "from paimark.core.actions.context import open_context\n"
        "from paimark.core.table.layout import TablePath\n"
        "from paimark.core.verify import verify\n"
        f"context = open_context({str(warehouse)!r}, {{}}, read_only=True)\n"
        "assert verify(context, TablePath('shop', 'orders')).is_whole\n"
        "print({'pyarrow', 'pandas', 'pypaimon', 'numpy', 'polars'} & sys.modules.keys())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"


class FarLarger(Wrapped):
    """Data files that say that they are larger than what is read whole."""

    def size(self, path: str) -> int | None:
        return MOST_BYTES + 1

    def read(self, path: str) -> bytes:
        if "/bucket-" in path:
            raise Corrupt(f"{path} has too many bytes")
        return super().read(path)


def test_files_that_are_too_large_are_passed_over(warehouse: Path) -> None:
    told: list[str] = []
    context = context_on(warehouse, FarLarger(LocalFiles(str(warehouse))))
    report = verify(context, ORDERS, read_data=1.0, progress=told.append)
    assert (report.sampled, report.unread, report.is_whole) == (0, 10, True)
    assert sum("was not read: it has" in line for line in told) == 10


@pytest.mark.parametrize("kind", ["parquet", "avro"])
def test_a_small_file_takes_no_more_memory_than_pieces_of_it_may(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two megabytes are worth too much here, packed into some hundred bytes."""
    monkeypatch.setattr(data_files, "AT_ONCE_BYTES", 1 << 20)
    schema = pa.schema([pa.field("id", pa.int64())])
    table = TablePath("shop", "wide")
    create_table(tmp_path, table.full_name, schema, options={"file.format": kind, "bucket": "-1"})
    commit(tmp_path, table.full_name, pa.table({"id": [1]}, schema=schema))
    [path] = (tmp_path / table.directory / "bucket-0").iterdir()
    size = path.stat().st_size
    text = "A" * (2 << 20)
    if kind == "parquet":
        pq.write_table(pa.table({"id": [1], "text": [text]}), path, compression="zstd")
    else:
        fields = [{"name": "id", "type": "long"}, {"name": "text", "type": "string"}]
        with path.open("wb") as file:
            schema_of = {"type": "record", "name": "r", "fields": fields}
            fastavro.writer(file, schema_of, [{"id": 1, "text": text}], "deflate")
    assert size < path.stat().st_size < 1 << 20
    told: list[str] = []
    report = verify(context_on(tmp_path), table, read_data=1.0, progress=told.append)
    assert (report.sampled, report.unread) == (0, 1) and any("was not read" in line for line in told)
    # That it has another length is told all the same.
    assert [each.cause for each in report.problems] == ["size"]


def test_what_a_stripe_of_orc_unpacks_to_is_bounded(tmp_path: Path) -> None:
    """Nothing tells before how large it will be; the next file is read all the same."""
    path = tmp_path / "wide.orc"
    text = "A" * (1 << 20)
    orc.write_table(pa.table({"id": [*range(128)], "text": [text] * 128}), path, compression="zstd")
    with ReadingProcess(most_memory=64 << 20) as reading:
        with pytest.raises(TooLarge, match="decoding it t"):
            reading.read("orc", path.read_bytes(), [], 1 << 20)
        orc.write_table(pa.table({"id": [1, 3, 2], "text": ["a", "b", "c"]}), path)
        assert reading.read("orc", path.read_bytes(), ["id"], 1 << 20) == (3, False)


def test_what_a_footer_of_parquet_lies_about_is_bounded(tmp_path: Path) -> None:
    """It says that its rows are a byte wide."""
    path = tmp_path / "wide.parquet"
    text = "A" * (1 << 20)
    wide = pa.table({"id": [*range(128)], "text": [text] * 128})
    pq.write_table(wide, path, compression="zstd", use_dictionary=False, data_page_size=1 << 28)
    group = pq.read_metadata(path).row_group(0)
    lying = path.read_bytes()
    for told in (group.total_byte_size, group.column(1).total_uncompressed_size):
        lying = lying.replace(varint(told), varint(group.num_rows, len(varint(told))))
    assert pq.read_metadata(pa.BufferReader(lying)).row_group(0).total_byte_size == group.num_rows
    with ReadingProcess(most_memory=64 << 20) as reading, pytest.raises(TooLarge, match="decoding it t"):
        reading.read("parquet", lying, ["id"], 1 << 20)


def varint(number: int, length: int = 1) -> bytes:
    """As Thrift's compact protocol writes a positive number; of at least so many bytes."""
    groups: list[int] = []
    left = number << 1
    while left or len(groups) < length:
        groups.append(left & 127)
        left >>= 7
    return bytes(each | 128 for each in groups[:-1]) + bytes(groups[-1:])
