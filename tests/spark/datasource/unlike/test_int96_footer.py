"""A footer of some columns leads to the same pages as the file's own, decoded and changed as a whole."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypaimon.read.reader.parquet_page_index_reader import _Compact, _encode

from paimark.core.spark.datasource.unlike.int96 import far_columns, names_of_int96
from paimark.core.spark.datasource.unlike.int96_footer import footer_of_bytes

TIME = pa.timestamp("us")
NEAR, NEVER = dt.datetime(2200, 1, 1), dt.datetime(9999, 12, 31)
CODECS = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
_I32, _STRUCT = 5, 12

times = st.none() | st.datetimes(dt.datetime(1, 1, 1), NEVER)
# Types, with values of each.
COLUMNS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (TIME, times),
    (pa.list_(TIME), st.none() | st.lists(times, max_size=3)),
    (pa.map_(pa.string(), TIME), st.none() | st.lists(st.tuples(st.text(max_size=3), times), max_size=3)),
    (
        pa.struct([("i", pa.int16()), ("s", pa.struct([("t", TIME)])), ("b", pa.bool_())]),
        st.none()
        | st.fixed_dictionaries({"i": st.none(), "s": st.none() | st.fixed_dictionaries({"t": times})}),
    ),
    (pa.int64(), st.none() | st.integers(-5, 5)),
    (pa.decimal128(30, 2), st.none() | st.decimals(-5, 5, places=2)),
    (pa.float64(), st.none() | st.floats(allow_nan=False)),
    (pa.string(), st.none() | st.text(max_size=3)),
]


@st.composite
def parquet_files(draw: st.DrawFn) -> bytes:
    """A Parquet file with 96-bit times."""
    columns = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=5))
    number = draw(st.integers(0, 9))
    arrays = [
        pa.array(draw(st.lists(values, min_size=number, max_size=number)), kind) for kind, values in columns
    ]
    file = BytesIO()
    pq.write_table(
        pa.table(arrays, [f"c{index}" for index in range(len(arrays))]),
        file,
        compression=draw(st.sampled_from(CODECS)),
        row_group_size=draw(st.integers(1, 9)),
        use_dictionary=draw(st.booleans()),
        data_page_version=draw(st.sampled_from(["1.0", "2.0"])),
        version=draw(st.sampled_from(["1.0", "2.6"])),
        write_page_index=draw(st.booleans()),
        store_schema=draw(st.booleans()),
        use_deprecated_int96_timestamps=True,
    )
    return file.getvalue()


@given(file=parquet_files())
def test_a_footer_of_some_columns_leads_to_the_same_values(file: bytes) -> None:
    metadata = pq.read_metadata(BytesIO(file))
    whole = pq.ParquetFile(BytesIO(file), metadata=told_as_bytes(metadata)).read()
    names = names_of_int96(metadata)
    for some in (names, names & {"c0", "c2"}):
        chosen = pq.ParquetFile(BytesIO(file), metadata=footer_of_bytes(metadata, some)).read()
        assert chosen.equals(whole.select([name for name in whole.column_names if name in some]))


def test_times_compressed_as_hadoop_compresses_are_read() -> None:
    """pyarrow reads this codec, but does not write it and has no name for it."""
    file = file_of({"c": [NEAR, NEVER, None]}, compression="lz4")
    metadata = changed(pq.read_metadata(BytesIO(file)), codec=5)
    for footer in (metadata, footer_of_bytes(metadata, ["c"])):
        assert footer.row_group(0).column(0).compression == "UNKNOWN"
    assert far_columns(BytesIO(file), metadata, ["c"]) == {"c"}


@pytest.mark.parametrize("far", ["a", "a.b", "b"])
def test_names_with_dots_are_those_of_columns(far: str) -> None:
    times = {name: [NEVER if name == far else NEAR] for name in ("a", "a.b", "b")}
    file = file_of({**times, "s": [{"b": 1}]})
    metadata = pq.read_metadata(BytesIO(file))
    assert names_of_int96(metadata) == set(times)
    assert far_columns(BytesIO(file), metadata, list(times)) == {far}


def file_of(columns: dict[str, list[Any]], **options: Any) -> bytes:
    file = BytesIO()
    pq.write_table(pa.table(columns), file, use_deprecated_int96_timestamps=True, **options)
    return file.getvalue()


def told_as_bytes(metadata: pq.FileMetaData) -> pq.FileMetaData:
    """The whole footer, with 96-bit times as bytes."""
    return changed(metadata, bytes_of_times=True)


def changed(
    metadata: pq.FileMetaData, *, bytes_of_times: bool = False, codec: int | None = None
) -> pq.FileMetaData:
    parquet_files = pa.BufferOutputStream()
    metadata.write_metadata_file(parquet_files)
    footer = _Compact(parquet_files.getvalue().to_pybytes()[4:-8]).value(_STRUCT)
    chunks = [chunk[3][1] for group in _items(footer, 4) for chunk in _items(group, 1)]
    for element in _items(footer, 2) if bytes_of_times else ():
        if element.get(1) == (_I32, 3):
            element |= {1: (_I32, 7), 2: (_I32, 12)}
    for column in chunks:
        if bytes_of_times and column[1] == (_I32, 3):
            column[1] = (_I32, 7)
            column.pop(12, None)
        if codec is not None:
            column[4] = (_I32, codec)
    # pyarrow's own schema would still declare them as times.
    footer.pop(5, None)
    text = _encode(_STRUCT, footer)
    return pq.read_metadata(BytesIO(b"PAR1" + text + len(text).to_bytes(4, "little") + b"PAR1"))


def _items(fields: dict[int, Any], number: int) -> Collection[Any]:
    _, (_, items) = fields.get(number, (9, (_STRUCT, [])))
    return list(items)
