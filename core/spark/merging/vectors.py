"""Rows of a file that a deletion vector takes out: its numbers become bits, as merging makes them.

A vector is, in an index file: the length of what follows up to the checksum, four bytes that tell its kind, a
roaring bitmap as its specification has it, and the CRC32 of kind and bitmap.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap, BitMap64

from core.errors import Corrupt
from core.spark.merging.model import Bits, MergeFile, Vector
from core.spark.merging.opening import OpenFile

_NUMBER = 4
# The kinds of bitmaps: of numbers of 32 bits, and of 64, which is told in the other order of bytes.
_KIND = (1581511376).to_bytes(_NUMBER, "big")
_KIND_64 = (1681511377).to_bytes(_NUMBER, "little")


@dataclass(frozen=True, slots=True)
class _Stored:
    """A vector as it lies in its file."""

    kind: bytes
    bitmap: bytes
    checksum: int


def vector_bits(file: MergeFile, vector: Vector, open_file: OpenFile) -> Bits:
    """The bits of a file's rows that are left. Raises `FileMissing`, `Unavailable` and `Corrupt`."""
    deleted = _deleted(_stored(vector, open_file), vector)
    if len(deleted) and int(deleted.max()) >= file.row_count:
        raise Corrupt(f"{vector.path} deletes rows that {file.path} does not have")
    truths = np.ones(file.row_count, dtype=np.bool_)
    truths[deleted] = False
    return Bits.of(truths)


def _stored(vector: Vector, open_file: OpenFile) -> _Stored:
    try:
        return _read(vector, open_file)
    except OSError as error:
        raise Corrupt(f"{vector.path} can't be read ({error})") from error


def _read(vector: Vector, open_file: OpenFile) -> _Stored:
    with open_file(vector.path) as source:
        source.seek(vector.offset)
        length = int.from_bytes(source.read(_NUMBER), "big")
        kind = source.read(_NUMBER)
        told = vector.length - 2 * _NUMBER if kind == _KIND_64 else vector.length
        if length != told or length < _NUMBER:
            raise Corrupt(f"{vector.path} has no deletion vector of length {told} at {vector.offset}")
        bitmap = source.read(length - _NUMBER)
        return _Stored(kind, bitmap, int.from_bytes(source.read(_NUMBER), "big"))


def _deleted(stored: _Stored, vector: Vector) -> NDArray[np.integer]:
    """The numbers of the rows that are taken out."""
    if stored.kind not in (_KIND, _KIND_64):
        raise Corrupt(f"{vector.path} has a deletion vector of an unknown kind, {stored.kind.hex()}")
    if zlib.crc32(stored.kind + stored.bitmap) != stored.checksum:
        raise Corrupt(f"{vector.path} has a deletion vector with a wrong checksum at {vector.offset}")
    try:
        if stored.kind == _KIND:
            return np.asarray(BitMap.deserialize(stored.bitmap).to_array())
        return np.asarray(BitMap64.deserialize(stored.bitmap).to_array())
    except ValueError as error:
        raise Corrupt(f"{vector.path} has a deletion vector that can't be read ({error})") from error
