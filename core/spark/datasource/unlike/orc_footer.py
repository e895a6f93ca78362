"""Read the bounds of times from the footer of an ORC file, which pyarrow doesn't expose.

Source: `orc_proto.proto` of Apache ORC. A footer is a protocol buffers message, compressed in chunks.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

# Field numbers of `PostScript`, `Footer`, `Type` and `ColumnStatistics`.
_FOOTER_LENGTH, _COMPRESSION = 1, 2
_TYPES, _STATISTICS = 4, 7
_KIND, _SUBTYPES, _NAMES = 1, 2, 3
_COUNT, _TIMES = 1, 9
_TIME_KINDS = (9, 18)
# Minimum and maximum, in the writer's zone and in UTC; other fields have their nanoseconds.
_BOUNDS = (1, 2, 3, 4)
_TAIL = 256


class TimeBounds(NamedTuple):
    """The bounds of a column's times in milliseconds since 1970; both are None if they are unknown."""

    low: int | None
    high: int | None


_UNKNOWN = TimeBounds(None, None)


def time_bounds(source: Any, size: int) -> dict[str, list[TimeBounds]]:
    """The bounds of each column of times with values, by the name of its top-level column.

    `source` is a file open for reading, of `size` bytes. Raises `ValueError` if it is not an ORC file.
    """
    try:
        return _time_bounds(_footer(source, size))
    except (IndexError, zlib.error, pa.ArrowException) as error:
        raise ValueError(f"no footer of ORC ({error})") from error


def _footer(source: Any, size: int) -> bytes:
    tail = _read(source, size, min(size, _TAIL))
    length = tail[-1]
    script = dict(_fields(tail[-1 - length : -1]))
    end = size - 1 - length
    packed = _read(source, end, int(script[_FOOTER_LENGTH])) if _FOOTER_LENGTH in script else b""
    return _unpacked(packed, int(script.get(_COMPRESSION, 0)))


def _read(source: Any, end: int, length: int) -> bytes:
    source.seek(max(0, end - length))
    return bytes(source.read(length))


def _unpacked(packed: bytes, compression: int) -> bytes:
    if not compression:
        return packed
    parts = []
    at = 0
    while at < len(packed):
        header = int.from_bytes(packed[at : at + 3], "little")
        chunk = packed[at + 3 : at + 3 + (header >> 1)]
        parts.append(chunk if header & 1 else _decompressed(chunk, compression))
        at += 3 + (header >> 1)
    return b"".join(parts)


def _decompressed(chunk: bytes, compression: int) -> bytes:
    match compression:
        case 1:
            return zlib.decompress(chunk, -zlib.MAX_WBITS)
        case 2:
            length, _ = _varint(chunk, 0)
            return bytes(pa.decompress(chunk, length, codec="snappy", asbytes=True))
        case 4:
            return _lz4(chunk)
        case 5:
            return bytes(pa.input_stream(pa.BufferReader(chunk), compression="zstd").read())
    raise ValueError(f"compression {compression} is not known")


def _lz4(chunk: bytes) -> bytes:
    """Decompress LZ4. pyarrow needs the length of the result, which ORC doesn't store."""
    output = bytearray()
    at = 0
    while at < len(chunk):
        token = chunk[at]
        length, at = _length(chunk, at + 1, token >> 4)
        output += chunk[at : at + length]
        at += length
        if at < len(chunk):
            distance = int.from_bytes(chunk[at : at + 2], "little")
            length, at = _length(chunk, at + 2, token & 15)
            for _ in range(length + 4):
                output.append(output[-distance])
    return bytes(output)


def _length(chunk: bytes, at: int, length: int) -> tuple[int, int]:
    """Read a length that begins with four bits; return it and the offset after it."""
    more = 255 if length == 15 else 0
    while more == 255:
        more = chunk[at]
        length, at = length + more, at + 1
    return length, at


def _time_bounds(footer: bytes) -> dict[str, list[TimeBounds]]:
    types = [_fields_of(each) for number, each in _fields(footer) if number == _TYPES]
    statistics = [each for number, each in _fields(footer) if number == _STATISTICS]
    bounds_by_name: dict[str, list[TimeBounds]] = {}
    names = [bytes(each).decode() for each in types[0].get(_NAMES, ())]
    for name, number in zip(names, _children(types[0]), strict=True):
        for column in _below(types, number):
            is_time = types[column].get(_KIND, [0])[0] in _TIME_KINDS
            if is_time and (bounds := _bounds(statistics[column])) is not None:
                bounds_by_name.setdefault(name, []).append(bounds)
    return bounds_by_name


def _children(kind: dict[int, list[Any]]) -> list[int]:
    """The ids of a type's children, which are stored packed or one by one."""
    ids: list[int] = []
    for each in kind.get(_SUBTYPES, ()):
        if isinstance(each, int):
            ids.append(each)
            continue
        at = 0
        while at < len(each):
            number, at = _varint(each, at)
            ids.append(number)
    return ids


def _below(types: list[dict[int, list[Any]]], number: int) -> Iterator[int]:
    yield number
    for child in _children(types[number]):
        yield from _below(types, child)


def _bounds(statistics: bytes) -> TimeBounds | None:
    """The bounds in a column's statistics; None if the column has no value."""
    fields = _fields_of(statistics)
    if fields.get(_COUNT) == [0]:
        return None
    if _TIMES not in fields:
        return _UNKNOWN
    of_times = _fields_of(fields[_TIMES][0])
    values = [(number >> 1) ^ -(number & 1) for each in _BOUNDS for number in of_times.get(each, ())]
    return TimeBounds(min(values), max(values)) if values else _UNKNOWN


def _fields_of(message: bytes) -> dict[int, list[Any]]:
    values: dict[int, list[Any]] = {}
    for number, value in _fields(message):
        values.setdefault(number, []).append(value)
    return values


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a message that are whole numbers or bytes, with their field numbers."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        match tag & 7:
            case 0:
                value, at = _varint(message, at)
                yield tag >> 3, value
            case 2:
                length, at = _varint(message, at)
                yield tag >> 3, message[at : at + length]
                at += length
            case 1:
                at += 8
            case 5:
                at += 4
            case other:
                raise ValueError(f"no wire type {other}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Read a varint; return it and the offset after it."""
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
