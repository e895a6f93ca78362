"""A footer of some columns of a Parquet file, which declares 96-bit times as bytes.

Only the schema is decoded in Python, because a footer may describe 100,000 pieces of columns: pyarrow says
where the pieces of the selected columns are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pypaimon.read.reader.parquet_page_index_reader import _Compact, _encode

# Field numbers of parquet.thrift, for each struct in it: `FileMetaData`, `RowGroup`, `ColumnChunk`,
# `ColumnMetaData`, `SchemaElement`.
_VERSION, _ELEMENTS, _ROWS, _GROUPS, _WRITER = 1, 2, 3, 4, 6
_CHUNKS, _GROUP_BYTES, _GROUP_ROWS = 1, 2, 3
_FILE_OFFSET, _META = 2, 3
_CHUNK_TYPE, _ENCODINGS, _PATH, _CODEC = 1, 2, 3, 4
_VALUES, _UNPACKED, _PACKED, _PAGES, _DICTIONARY = 5, 6, 7, 9, 11
_TYPE, _LENGTH, _NAME, _CHILDREN = 1, 2, 4, 5
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
_TYPES = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_INT96, _BYTES = 3, 7
# pyarrow's names. It has none for LZ4 in Hadoop's frames.
_CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "UNKNOWN", "ZSTD", "LZ4")
WIDTH = 12


class _Column(NamedTuple):
    """A top-level column: its schema elements, and the numbers of its leaves in the file."""

    elements: Sequence[dict[int, Any]]
    leaves: range


def footer_of_bytes(metadata: pq.FileMetaData, names: Collection[str]) -> pq.FileMetaData:
    """The footer of the top-level columns with these names, in the file's order."""
    version, elements = _schema(metadata)
    columns = [column for column in _columns(elements) if _name(column.elements[0]) in names]
    root = elements[0] | {_CHILDREN: (_I32, len(columns))}
    elements_read = [root, *(_as_bytes(element) for column in columns for element in column.elements)]
    leaves = [leaf for column in columns for leaf in column.leaves]
    groups = [_group(metadata.row_group(number), leaves) for number in range(metadata.num_row_groups)]
    footer = {
        _VERSION: (_I32, version),
        _ELEMENTS: (_LIST, (_STRUCT, elements_read)),
        _ROWS: (_I64, metadata.num_rows),
        _GROUPS: (_LIST, (_STRUCT, groups)),
        _WRITER: (_BINARY, metadata.created_by.encode()),
    }
    text = _encode(_STRUCT, footer)
    return pq.read_metadata(pa.BufferReader(b"PAR1" + text + len(text).to_bytes(4, "little") + b"PAR1"))


def _schema(metadata: pq.FileMetaData) -> tuple[int, list[dict[int, Any]]]:
    """The format's version, and the elements of the schema."""
    buffer = pa.BufferOutputStream()
    metadata.write_metadata_file(buffer)
    # pyarrow writes a mark, then the footer, which begins with these two fields.
    footer = _Compact(buffer.getvalue().to_pybytes()[4:])
    footer.take(1)
    version = footer.value(_I32)
    footer.take(1)
    _, elements = footer.value(_LIST)
    return version, elements


def _columns(elements: Sequence[dict[int, Any]]) -> Iterator[_Column]:
    start, leaf = 1, 0
    while start < len(elements):
        end = _end(elements, start)
        leaves = sum(_TYPE in element for element in elements[start:end])
        yield _Column(elements[start:end], range(leaf, leaf + leaves))
        start, leaf = end, leaf + leaves


def _end(elements: Sequence[dict[int, Any]], start: int) -> int:
    """The index after an element and all elements in it."""
    end = start + 1
    for _ in range(elements[start].get(_CHILDREN, (_I32, 0))[1]):
        end = _end(elements, end)
    return end


def _name(element: dict[int, Any]) -> str:
    name: bytes = element[_NAME][1]
    return name.decode()


def _as_bytes(element: dict[int, Any]) -> dict[int, Any]:
    if element.get(_TYPE) != (_I32, _INT96):
        return element
    return element | {_TYPE: (_I32, _BYTES), _LENGTH: (_I32, WIDTH)}


def _group(group: pq.RowGroupMetaData, leaves: Sequence[int]) -> dict[int, Any]:
    return {
        _CHUNKS: (_LIST, (_STRUCT, [_chunk(group.column(leaf)) for leaf in leaves])),
        _GROUP_BYTES: (_I64, group.total_byte_size),
        _GROUP_ROWS: (_I64, group.num_rows),
    }


def _chunk(chunk: pq.ColumnChunkMetaData) -> dict[int, Any]:
    """A piece of a column, without statistics."""
    kind = _TYPES.index(chunk.physical_type)
    meta = {
        _CHUNK_TYPE: (_I32, _BYTES if kind == _INT96 else kind),
        # Pages say how they are encoded.
        _ENCODINGS: (_LIST, (_I32, [])),
        _PATH: (_LIST, (_BINARY, [chunk.path_in_schema.encode()])),
        _CODEC: (_I32, _CODECS.index(chunk.compression)),
        _VALUES: (_I64, chunk.num_values),
        _UNPACKED: (_I64, chunk.total_uncompressed_size),
        _PACKED: (_I64, chunk.total_compressed_size),
        _PAGES: (_I64, chunk.data_page_offset),
    }
    if chunk.has_dictionary_page:
        meta[_DICTIONARY] = (_I64, chunk.dictionary_page_offset)
    return {_FILE_OFFSET: (_I64, chunk.file_offset), _META: (_STRUCT, meta)}
