"""Encode the bits of a file for its splits; `FileBits` in `SurvivingRows.java` decodes them.

The format: the number of the first bit (8 bytes) and the length of the data (4 bytes), little-endian; then
the data, lowest bit first, plain or deflated.
"""

from __future__ import annotations

import struct
import zlib

from paimark.core.spark.merging.model import Bits

_HEAD = struct.Struct("<qi")
_WORTH_DEFLATING = 64
# If so many of the bits differ from the others at random, deflating saves almost nothing.
_MIXED = 1 / 8
_FAST = 1


def encoded(bits: Bits) -> bytes:
    data = bits.words.tobytes()
    set_ = bits.popcount()
    if len(data) >= _WORTH_DEFLATING and min(set_, bits.rows - set_) < bits.rows * _MIXED:
        deflated = zlib.compress(data, _FAST)
        if len(deflated) < len(data):
            return _HEAD.pack(bits.first, len(data)) + deflated
    return _HEAD.pack(bits.first, len(data)) + data
