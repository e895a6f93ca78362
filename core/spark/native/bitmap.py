"""Find which rows of overlapping files survive in a snapshot of a `deduplicate` primary-key table.

The steps: `rules.merge_rules` (if it raises `Unmergeable`, others read), `rules.merge_file` for
every data file, `narrow.overlap_groups` for each bucket, and `merge_bits` for the groups that `must_merge`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain

from paimark.core.cancelling import map_cancellable
from paimark.core.errors import UsageError
from paimark.core.spark.incremental.delta import BitCache, earlier, survivors_since
from paimark.core.spark.incremental.kept_keys import KeptKeys
from paimark.core.spark.launch.session_settings import DEFAULTS, KEPT_KEY_BYTES, LOCAL_BYTES, REUSE
from paimark.core.spark.merging.model import Bits, MergeGroup, Unmergeable
from paimark.core.spark.merging.pieces import first_survivors, survivors_in_pieces, vector_bits
from paimark.core.spark.merging.reading import OpenFile, file_opener
from paimark.core.spark.merging.survive import survivors
from paimark.core.spark.session_conf import SessionConf
from paimark.core.spark.sort_keys import is_text

_NUMBER_BYTES = 16
_TEXT_BYTES = 64
# Of a larger group, pieces take less time than all of it at once: they stay in the processor's caches.
_MOST_AT_ONCE = 1 << 22
# The rows of a piece.
_FEWEST_ROWS, _MOST_ROWS = 1 << 14, 1 << 20
_KEPT_BYTES = 128 << 20
# How many first rows of a file `first_bits` reads, in turn, and from how many files at most.
_HEADS = (1 << 12, 1 << 16)
_MOST_HEADS = 64

_kept = BitCache(_KEPT_BYTES)
_keys = KeptKeys(int(DEFAULTS[KEPT_KEY_BYTES]))


def merge_bits(
    conf: SessionConf, options: Mapping[str, str], groups: Sequence[MergeGroup]
) -> dict[str, Bits]:
    """The bits of all files in `groups`, by path; `options` (the catalog's) open the files.

    A group's bits never change, and are cached for later queries. If its keys need more memory than the
    setting allows, it is merged piece by piece. Raises `FileMissing`, `Corrupt`, `Unavailable`,
    `Unmergeable`, and `UsageError` for a setting that is not a number.
    """
    cached = {index: bits for index, group in enumerate(groups) if (bits := _kept.get(group)) is not None}
    unknown = {index: group for index, group in enumerate(groups) if index not in cached}
    most = _number(conf, LOCAL_BYTES)
    if unknown and most:
        cached |= _bits_from_earlier(conf, options, unknown)
    missing = [index for index in range(len(groups)) if index not in cached]
    merged = _merged(options, [groups[index] for index in missing], most)
    for index, bits in zip(missing, merged, strict=True):
        cached[index] = bits
        _kept.put(groups[index], bits)
    return {
        file.path: bits
        for index, group in enumerate(groups)
        for file, bits in zip(group.files, cached[index], strict=True)
    }


def first_bits(options: Mapping[str, str], group: MergeGroup, rows: int) -> dict[str, Bits]:
    """The bits of the files' first rows, by path, if at least `rows` of these survive; empty otherwise.

    For a query of a few rows of big files, which need not be merged completely then. Raises as `merge_bits`.
    """
    if group.has_vector or len(group.files) > _MOST_HEADS or not group.has_row_numbers:
        return {}
    open_file = file_opener(options)
    for first in _HEADS:
        (survivors_of_heads,) = map_cancellable(partial(first_survivors, group, open_file), [first])
        heads = survivors_of_heads or []
        if sum(bits.popcount() for bits in heads) >= rows:
            return {file.path: bits for file, bits in zip(group.files, heads, strict=True)}
    return {}


def is_cached(group: MergeGroup) -> bool:
    """Whether the group's bits are cached."""
    return _kept.get(group) is not None


def is_nearly_cached(group: MergeGroup) -> bool:
    """Whether the group's bits are cached, or those of most of its files from another snapshot."""
    return is_cached(group) or earlier(group, _kept, merged_only=True) is not None


def _bits_from_earlier(
    conf: SessionConf, options: Mapping[str, str], groups: Mapping[int, MergeGroup]
) -> dict[int, list[Bits]]:
    """The bits of groups for which the cache has most files from another snapshot."""
    if conf.get(REUSE, DEFAULTS[REUSE]) == "off":
        return {}
    _keys.begin_search(_number(conf, KEPT_KEY_BYTES))
    before = {number: begin for number, group in groups.items() if (begin := earlier(group, _kept))}
    open_file = file_opener(options)
    results = map_cancellable(
        lambda number: survivors_since(groups[number], before[number], open_file, _keys), list(before)
    )
    bits_by_number = {number: bits for number, bits in zip(before, results, strict=True) if bits is not None}
    for number, bits in bits_by_number.items():
        _kept.put(groups[number], bits)
    return bits_by_number


def _number(conf: SessionConf, setting: str) -> int:
    text = conf.get(setting, DEFAULTS[setting])
    try:
        return int(text or 0)
    except ValueError as error:
        raise UsageError(f"{setting} is {text!r}, which is no number") from error


def _merged(options: Mapping[str, str], groups: Sequence[MergeGroup], most: int) -> list[list[Bits]]:
    """`most` are the bytes that the keys of a group may take."""
    open_file = file_opener(options)
    batches = _batches(groups)
    # Threads help here: Arrow and numpy release the GIL.
    results = map_cancellable(
        lambda indexes: _bits([groups[index] for index in indexes], open_file, most), batches
    )
    bits = dict(zip(chain(*batches), chain(*results), strict=True))
    return [bits[index] for index in range(len(groups))]


def _batches(groups: Sequence[MergeGroup]) -> list[list[int]]:
    """The indexes of groups to read together: those whose deletion vectors are in one index file."""
    together: dict[str | int, list[int]] = {}
    for index, group in enumerate(groups):
        vector = group.files[0].vector
        together.setdefault(index if vector is None else vector.path, []).append(index)
    return list(together.values())


def _bits(groups: Sequence[MergeGroup], open_file: OpenFile, most: int) -> list[list[Bits]]:
    if groups[0].has_vector:
        return [[bits] for bits in vector_bits([group.files[0] for group in groups], open_file)]
    return [_survivors(group, open_file, most) for group in groups]


def _survivors(group: MergeGroup, open_file: OpenFile, most: int) -> list[Bits]:
    is_large = _key_bytes(group) > most or group.row_count > _MOST_AT_ONCE
    if not is_large or len(group.files) == 1:
        return survivors(group, open_file)
    if group.has_row_numbers:
        rows = min(max(most // _row_bytes(group), _FEWEST_ROWS), _MOST_ROWS)
        bits = survivors_in_pieces(group, open_file, rows)
        return survivors(group, open_file) if bits is None else bits
    if _key_bytes(group) > most:
        raise Unmergeable("more rows of orc files replace others than are merged at once")
    return survivors(group, open_file)


def _key_bytes(group: MergeGroup) -> int:
    """About how many bytes its keys take in memory."""
    return group.row_count * _row_bytes(group)


def _row_bytes(group: MergeGroup) -> int:
    types = [*group.rules.key_types, *group.rules.sequence_types]
    return sum(_TEXT_BYTES if is_text(each) else _NUMBER_BYTES for each in types)


_HEAD = struct.Struct("<qi")
_WORTH_DEFLATING = 64
# If so many of the bits differ from the others at random, deflating saves almost nothing.
_MIXED = 1 / 8
_FAST = 1


# The format: the number of the first bit (8 bytes) and the length of the data (4 bytes), little-endian; then
# the data, lowest bit first, plain or deflated.
def encoded(bits: Bits) -> bytes:
    data = bits.words.tobytes()
    set_ = bits.popcount()
    if len(data) >= _WORTH_DEFLATING and min(set_, bits.rows - set_) < bits.rows * _MIXED:
        deflated = zlib.compress(data, _FAST)
        if len(deflated) < len(data):
            return _HEAD.pack(bits.first, len(data)) + deflated
    return _HEAD.pack(bits.first, len(data)) + data
