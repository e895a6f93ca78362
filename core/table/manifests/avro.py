"""Read Avro files of records, with memory limits that follow from the file's own size.

fastavro trusts the file: a block that claims 20 million records of no bytes, or that packs a gigabyte of
zeros, would take all memory. So this module unpacks the blocks up to a limit, and fastavro reads them as a
file that is not packed.
"""

from __future__ import annotations

import bz2
import json
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import fastavro

from paimark.core.figures import counted, size
from paimark.core.storage.files import TooLarge

MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
# If 100,000 entries differ only by a number, each takes 4 bytes, and 54 times as many unpacked; entries of
# tables with a thousand columns take about 200 times as many.
_ALWAYS_ALLOWED = 4 << 20
_TIMES_ITS_SIZE = 256
# xz with its usual presets needs up to 65 MB of memory to unpack anything.
_XZ_BYTES = 70 << 20


class BadAvro(Exception):
    """The file is damaged, or needs more memory than is allowed for a file of its size."""


class PastLimit(BadAvro, TooLarge):
    """It unpacks to more bytes than allowed."""


@dataclass(frozen=True, slots=True)
class AvroFile:
    """The records of a file, decoded one at a time, with the schema and the codec of its writer."""

    schema: Any
    codec: str
    records: Iterator[dict[str, Any]]


def read_avro(
    data: bytes,
    block_limit: int | None = None,
    *,
    writer_schema: Any = None,
    reader_schema: Any = None,
) -> AvroFile:
    """A file's records; it unpacks one block of them at a time.

    With `block_limit` each block may have so many bytes, and the number of blocks is not limited. Schemas may
    replace the file's own.
    The function, and each record, raises `BadAvro`, and any error that fastavro raises for damaged files.
    """
    source = _Source(data)
    metadata = _metadata(source)
    codec = metadata.get("avro.codec", b"null").decode()
    if codec not in _UNPACK:
        raise BadAvro(f"packed by {codec}, which this version does not know")
    if writer_schema is not None:
        metadata["avro.schema"] = json.dumps(writer_schema).encode()
    _require_bytes(metadata.get("avro.schema", b"null"))
    whole = _ALWAYS_ALLOWED + _TIMES_ITS_SIZE * len(data)
    plain = _Stream(_plain(source, metadata, _UNPACK[codec], whole, block_limit))
    reader = fastavro.reader(plain, reader_schema=reader_schema)
    records: Iterator[dict[str, Any]] = reader
    return AvroFile(reader.writer_schema, codec, records)


def schema_and_count(data: bytes) -> tuple[Any, int]:
    """The schema of a file's writer, and the number of records that its blocks claim. Raises `BadAvro`."""
    source = _Source(data)
    schema = _schema(_metadata(source))
    source.take(_SYNC_BYTES)
    count = 0
    while not source.is_at_end:
        count += source.number()
        source.skip(source.number())
        source.skip(_SYNC_BYTES)
    return schema, count


class _Stream:
    """Pieces of bytes that can be read like a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def read(self, count: int) -> bytes:
        parts = []
        while count > 0:
            if not self._left:
                if (piece := next(self._pieces, None)) is None:
                    break
                self._left = memoryview(piece)
            part, self._left = self._left[:count], self._left[count:]
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


class _Source:
    """Bytes that are read from start to end."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._data)

    def skip(self, count: int) -> None:
        if not 0 <= count <= len(self._data) - self._at:
            raise BadAvro("it ends early")
        self._at += count

    def take(self, count: int) -> bytes:
        self.skip(count)
        return bytes(self._data[self._at - count : self._at])

    def number(self) -> int:
        """A zig-zag number of variable length."""
        value = 0
        for shift in range(0, 64, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
        raise BadAvro("a number is too long")

    def text(self) -> bytes:
        return self.take(self.number())


def _schema(metadata: dict[str, bytes]) -> Any:
    return json.loads(metadata.get("avro.schema", b"null"))


def _metadata(source: _Source) -> dict[str, bytes]:
    """The fields before the first block. Raises `BadAvro`."""
    if source.take(len(MAGIC)) != MAGIC:
        raise BadAvro("not an Avro file")
    metadata = {}
    while count := source.number():
        if count < 0:
            # Then the block's size in bytes follows.
            source.number()
        for _ in range(abs(count)):
            name = source.text().decode()
            metadata[name] = source.text()
    return metadata


def _plain(
    source: _Source,
    metadata: dict[str, bytes],
    unpack: Callable[[bytes, int], bytes],
    whole: int,
    block_limit: int | None,
) -> Iterator[bytes]:
    """The same file, unpacked, a block at a time. `whole` limits their sum if `block_limit` is None."""
    sync = source.take(_SYNC_BYTES)
    header = {**metadata, "avro.codec": b"null"}
    yield MAGIC + _number(len(header))
    for name, value in header.items():
        yield _text(name.encode()) + _text(value)
    yield _number(0) + sync
    left = whole
    while not source.is_at_end:
        left = left if block_limit is None else block_limit
        count, packed = source.number(), source.text()
        block = unpack(packed, left)
        left -= len(block)
        if left < 0:
            raise PastLimit("it unpacks to more than its size allows")
        if not 0 <= count <= len(block):
            raise BadAvro(f"a block of {size(len(block))} says that it holds {counted(count, 'record')}")
        if source.take(_SYNC_BYTES) != sync:
            raise BadAvro("its blocks are damaged")
        yield _number(count) + _number(len(block))
        yield block
        yield sync


def _number(value: int) -> bytes:
    value, encoded = value << 1, bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def _text(data: bytes) -> bytes:
    return _number(len(data)) + data


@lru_cache(maxsize=16)
def _require_bytes(schema: bytes) -> None:
    """Raises `BadAvro` for values that take no bytes: any number of them would fit into any block.

    The manifests of a table have few schemas.
    """
    for each in _values(json.loads(schema)):
        is_empty = each.get("fields") == [] if isinstance(each, dict) else each == "null"
        if is_empty or (isinstance(each, dict) and each.get("type") == "fixed" and each.get("size") == 0):
            raise BadAvro("it has values that take no bytes")


def _values(schema: Any) -> Iterator[Any]:
    """The schema and all types in it, except null as a choice of a union: the choice takes a byte."""
    if isinstance(schema, list):
        for choice in schema:
            if choice != "null":
                yield from _values(choice)
        return
    yield schema
    if isinstance(schema, dict):
        for field in schema.get("fields", ()):
            yield from _values(field["type"])
        for name in ("items", "values"):
            if name in schema:
                yield from _values(schema[name])
        # A type may be wrapped: {"type": {"type": "array", ...}}.
        if not isinstance(schema.get("type"), str) or schema["type"] == "null":
            yield from _values(schema.get("type"))


# Each of these unpacks one block, and may stop when it is past the limit, in bytes.


def _deflate(data: bytes, limit: int) -> bytes:
    return zlib.decompressobj(-15).decompress(data, limit + 1)


def _bzip2(data: bytes, limit: int) -> bytes:
    return bz2.BZ2Decompressor().decompress(data, limit + 1)


def _xz(data: bytes, limit: int) -> bytes:
    return lzma.LZMADecompressor(memlimit=_XZ_BYTES).decompress(data, limit + 1)


def _snappy(data: bytes, limit: int) -> bytes:
    from cramjam import snappy

    # The last four bytes are the block's checksum.
    packed = data[:-4]
    if snappy.decompress_raw_len(packed) > limit:
        raise PastLimit("it unpacks to more than its size allows")
    return bytes(snappy.decompress_raw(packed))


def _zstandard(data: bytes, limit: int) -> bytes:
    from backports import zstd

    unpacked = b""
    while data and len(unpacked) <= limit:
        frame = zstd.ZstdDecompressor()
        unpacked += frame.decompress(data, limit - len(unpacked) + 1)
        if not frame.eof and len(unpacked) <= limit:
            raise BadAvro("a block ends early")
        data = frame.unused_data
    return unpacked


_UNPACK: dict[str, Callable[[bytes, int], bytes]] = {
    "null": lambda data, limit: data,
    "deflate": _deflate,
    "bzip2": _bzip2,
    "xz": _xz,
    "snappy": _snappy,
    "zstandard": _zstandard,
}
