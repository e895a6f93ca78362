"""Read deletion vectors to bits, as merging makes them.

A vector in an index file consists of the length of kind and bitmap, four bytes of kind, a roaring bitmap in
its specified format, and the CRC32 of kind and bitmap.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap, BitMap64

from paimark.core.errors import Corrupt
from paimark.core.spark.merging.model import Bits, MergeFile, Vector
from paimark.core.spark.merging.opening import OpenFile

_NUMBER = 4
# The kinds of bitmaps: 32-bit numbers, and 64-bit numbers, whose kind is in the other byte order.
_KIND = (1581511376).to_bytes(_NUMBER, "big")
_KIND_64 = (1681511377).to_bytes(_NUMBER, "little")


def vector_bits(files: Sequence[MergeFile], open_file: OpenFile) -> list[Bits]:
    """The bits of the rows left in each file. All vectors must be in one index file, which is read once.

    Raises `FileMissing`, `Unavailable` and `Corrupt`.
    """
    vectors = [file.vector for file in files if file.vector is not None]
    path, first = vectors[0].path, min(vector.offset for vector in vectors)
    # The length of 64-bit vectors includes the frame, so a few bytes too many are read.
    ends = [vector.offset + vector.length + 2 * _NUMBER for vector in vectors]
    try:
        with open_file(path) as source:
            source.seek(first)
            data = source.read(max(ends) - first)
    except OSError as error:
        raise Corrupt(f"{path} can't be read ({error})") from error
    return [
        _bits(file, vector, data[vector.offset - first : end - first])
        for file, vector, end in zip(files, vectors, ends, strict=True)
    ]


def _bits(file: MergeFile, vector: Vector, data: bytes) -> Bits:
    """`data` begins with the vector."""
    deleted = _deleted(vector, data)
    if len(deleted) and int(deleted.max()) >= file.row_count:
        raise Corrupt(f"{vector.path} deletes rows that {file.path} does not have")
    truths = np.ones(file.row_count, dtype=np.bool_)
    truths[deleted] = False
    return Bits.of(truths)


def _deleted(vector: Vector, data: bytes) -> NDArray[np.integer]:
    """The numbers of the deleted rows. Raises `Corrupt`."""
    length, kind = int.from_bytes(data[:_NUMBER], "big"), data[_NUMBER : 2 * _NUMBER]
    told = vector.length - 2 * _NUMBER if kind == _KIND_64 else vector.length
    if length != told or length < _NUMBER:
        raise Corrupt(f"{vector.path} has no deletion vector of length {told} at {vector.offset}")
    if kind not in (_KIND, _KIND_64):
        raise Corrupt(f"{vector.path} has a deletion vector of an unknown kind, {kind.hex()}")
    end = _NUMBER + length
    if zlib.crc32(data[_NUMBER:end]) != int.from_bytes(data[end : end + _NUMBER], "big"):
        raise Corrupt(f"{vector.path} has a deletion vector with a wrong checksum at {vector.offset}")
    bitmap = bytes(data[2 * _NUMBER : end])
    try:
        if kind == _KIND:
            return np.asarray(BitMap.deserialize(bitmap).to_array())
        return np.asarray(BitMap64.deserialize(bitmap).to_array())
    except ValueError as error:
        raise Corrupt(f"{vector.path} has a deletion vector that can't be read ({error})") from error
