"""Merging by bits against a dictionary: of each key the newest version, unless it retracts."""

from __future__ import annotations

import datetime as dt
import io
import math
import struct
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pypaimon.schema.data_types import AtomicType, DataField
from pypaimon.table.row.generic_row import GenericRow, GenericRowSerializer

from paimark.core.errors import Corrupt, FileMissing
from paimark.core.spark.merging.model import MergeColumns, MergeFile, MergeGroup, MergeRules
from paimark.core.spark.merging.pieces import first_survivors, survivors_in_pieces
from paimark.core.spark.merging.reading import file_opener
from paimark.core.spark.merging.rules import KeyReader
from paimark.core.spark.merging.single_versions import overlap_groups
from paimark.core.spark.merging.survive import survivors
from paimark.core.spark.sort_keys import is_text, ranked, reversed_order, sort_keys_of, text_values
from tests.long import examples

MOMENT = dt.datetime(1582, 10, 4, 1, 2, 3, 456789)
# A few values of each type, in Paimon's order; keys are drawn from them, so that files have keys in common.
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "BIGINT": (pa.int64(), [-(2**63), -1, 0, 1, 7, 2**63 - 1]),
    "INT": (pa.int32(), [-(2**31), -5, 0, 3, 2**31 - 1]),
    "SMALLINT": (pa.int16(), [-3, 0, 12]),
    "BOOLEAN": (pa.bool_(), [False, True]),
    "STRING": (pa.string(), ["", "a", "a\0", "aa", "b", "ä", "\uffee", "\U0001f600"]),
    "BYTES": (pa.binary(), [b"", b"\0", b"\x7f", b"\x80", b"\x80\0"]),
    "DECIMAL(9, 2)": (pa.decimal128(9, 2), [Decimal(x) for x in ("-1.50", "-0.01", "0.00", "9999999.99")]),
    "DECIMAL(30, 3)": (
        pa.decimal128(30, 3),
        [Decimal(x).scaleb(-3) for x in (-(10**29), -(2**64), -1, 0, 1, 2**63, 2**64, 10**29)],
    ),
    "DATE": (pa.date32(), [dt.date(1, 1, 1), dt.date(1582, 10, 15), dt.date(1970, 1, 1)]),
    "TIME(3)": (pa.time32("ms"), [dt.time(0), dt.time(1, 2, 3, 4000), dt.time(23, 59, 59, 999000)]),
    "TIMESTAMP(6)": (pa.timestamp("us"), [MOMENT, dt.datetime(1970, 1, 1), dt.datetime(2026, 5, 1, 0, 0, 1)]),
    "TIMESTAMP(3)": (pa.timestamp("ms"), [dt.datetime(1, 1, 1), dt.datetime(2026, 5, 1)]),
    "DOUBLE": (pa.float64(), [-math.inf, -1.5, -0.0, 0.0, 2.5, math.inf, math.nan]),
    "FLOAT": (pa.float32(), [-1.5, -0.0, 0.0, 2.5, math.nan]),
}


@dataclass(frozen=True)
class Row:
    """Key and sequence fields as places in `VALUES`; None for a null."""

    key: tuple[int, ...]
    fields: tuple[int | None, ...]
    kind: int
    number: int


@dataclass(frozen=True)
class Bucket:
    key_types: tuple[str, ...]
    sequence_types: tuple[str, ...]
    descending: bool
    ignore_delete: bool
    # Each with whether it was written before the sequence fields were added.
    files: tuple[tuple[bool, tuple[Row, ...]], ...]


@st.composite
def buckets(draw: st.DrawFn) -> Bucket:
    types = st.sampled_from(sorted(VALUES))
    key_types = draw(st.lists(types, min_size=1, max_size=3))
    sequence_types = draw(st.lists(types, max_size=2))
    counts = draw(st.lists(st.integers(1, 25), min_size=1, max_size=5))
    numbers = list(range(sum(counts)))
    if draw(st.booleans()):
        # Writers that worked side by side.
        numbers = draw(st.permutations(numbers))
    files = []
    for count in counts:
        key = st.tuples(*(st.integers(0, len(VALUES[each][1]) - 1) for each in key_types))
        keys = draw(st.lists(key, min_size=1, max_size=count, unique=True))
        is_old = draw(st.booleans())
        rows = []
        for each in sorted(keys):
            fields = tuple(
                None if is_old else draw(st.none() | st.integers(0, len(VALUES[name][1]) - 1))
                for name in sequence_types
            )
            rows.append(Row(each, fields, draw(st.sampled_from((0, 0, 0, 1, 2, 3))), numbers.pop(0)))
        files.append((is_old, tuple(rows)))
    return Bucket(
        tuple(key_types), tuple(sequence_types), draw(st.booleans()), draw(st.booleans()), tuple(files)
    )


@settings(max_examples=examples(50, 150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(buckets())
def test_the_newest_version_of_a_key_survives(bucket: Bucket) -> None:
    rules, files, opener = write_files(bucket)
    found = {}
    for group in overlap_groups(rules, files):
        for file, bits in zip(group.files, survivors(group, opener), strict=True):
            assert bits.rows == file.row_count
            assert bits.popcount() == bits.truths().sum()
            found[file.path] = bits.truths().tolist()
        for most in (1, 12, 1000):
            in_pieces = survivors_in_pieces(group, opener, most)
            assert in_pieces is not None
            assert [bits.truths().tolist() for bits in in_pieces] == [
                found[file.path] for file in group.files
            ]
        for first in (1, 3, 1000):
            some = first_survivors(group, opener, first)
            assert some is not None
            for file, bits in zip(group.files, some, strict=True):
                assert bits.truths().tolist() == found[file.path][: bits.rows]
            # One file at least is told of as far as it was read.
            assert any(
                bits.rows >= min(first, 7, file.row_count)
                for file, bits in zip(group.files, some, strict=True)
            )
            if first == 1000 and max(file.row_count for file in group.files) <= 7:
                assert [bits.rows for bits in some] == [file.row_count for file in group.files]
    newest: dict[tuple[int, ...], tuple[Any, tuple[int, int]]] = {}
    for index, (_, rows) in enumerate(bucket.files):
        for place, row in enumerate(rows):
            if bucket.ignore_delete and row.kind in (1, 3):
                continue
            version = (*(_age(each, bucket.descending) for each in row.fields), row.number)
            if row.key not in newest or version > newest[row.key][0]:
                newest[row.key] = version, (index, place)
    kept = {place for _, place in newest.values()}
    assert found == {
        f"file-{index}": [(index, place) in kept and row.kind in (0, 2) for place, row in enumerate(rows)]
        for index, (_, rows) in enumerate(bucket.files)
    }


def _age(field: int | None, descending: bool) -> tuple[bool, int]:
    """A null is the oldest, whichever way the others go."""
    return (False, 0) if field is None else (True, -field if descending else field)


def write_files(bucket: Bucket) -> tuple[MergeRules, list[MergeFile], Any]:
    """The bucket's files, and what opens them."""
    columns = {
        0: MergeColumns(
            tuple(f"_KEY_k{i}" for i in range(len(bucket.key_types))), (None,) * len(bucket.sequence_types)
        ),
        1: MergeColumns(
            tuple(f"_KEY_was{i}.x" for i in range(len(bucket.key_types))),
            tuple(f"s{i}" for i in range(len(bucket.sequence_types))),
        ),
    }
    rules = MergeRules(
        bucket.key_types, bucket.sequence_types, bucket.descending, bucket.ignore_delete, columns
    )
    stored, files = {}, []
    for index, (is_old, rows) in enumerate(bucket.files):
        schema_id = 0 if is_old else 1
        table = {
            name: pa.array([VALUES[kind][1][row.key[i]] for row in rows], VALUES[kind][0])
            for i, (name, kind) in enumerate(zip(columns[schema_id].key, bucket.key_types, strict=True))
        }
        table["_SEQUENCE_NUMBER"] = pa.array([row.number for row in rows], pa.int64())
        table["_VALUE_KIND"] = pa.array([row.kind for row in rows], pa.int8())
        for i, (name, kind) in enumerate(
            zip(columns[schema_id].sequence, bucket.sequence_types, strict=True)
        ):
            if name is not None:
                values = [None if (at := row.fields[i]) is None else VALUES[kind][1][at] for row in rows]
                table[name] = pa.array(values, VALUES[kind][0])
        sink = io.BytesIO()
        # Java stores a decimal of up to 18 digits as a whole number, and pypaimon as bytes.
        pq.write_table(pa.table(table), sink, row_group_size=7, store_decimal_as_integer=not is_old)
        path = f"file-{index}"
        stored[path] = sink.getvalue()
        numbers = [row.number for row in rows]
        files.append(
            MergeFile(
                path=path,
                format="parquet",
                schema_id=schema_id,
                level=0,
                row_count=len(rows),
                min_sequence=min(numbers),
                max_sequence=max(numbers),
                delete_row_count=0,
                min_key=serialised_key(bucket.key_types, rows[0].key),
                max_key=serialised_key(bucket.key_types, rows[-1].key),
            )
        )
    return rules, files, lambda path: pa.BufferReader(stored[path])


def serialised_key(key_types: tuple[str, ...], key: tuple[int, ...]) -> tuple[Any, ...]:
    """As a manifest holds it, and read from there."""
    fields = [DataField(i, f"k{i}", AtomicType(kind)) for i, kind in enumerate(key_types)]
    row = GenericRow([VALUES[kind][1][at] for kind, at in zip(key_types, key, strict=True)], fields)
    return KeyReader(key_types).read(GenericRowSerializer.to_bytes(row))


@pytest.mark.parametrize("kind", VALUES)
def test_keys_compare_as_paimon_compares_them(kind: str) -> None:
    keys = [serialised_key((kind,), (at,)) for at in range(len(VALUES[kind][1]))]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("kind", VALUES)
def test_columns_sort_as_paimon_compares_them(kind: str) -> None:
    arrow, values = VALUES[kind]
    column = pa.chunked_array([pa.array([*values[::-1], None], arrow)])
    sort_keys = ranked(text_values(column)) if is_text(kind) else sort_keys_of(column, kind)
    nulls_first = [len(values), *range(len(values) - 1, -1, -1)]
    assert np.lexsort(sort_keys[::-1]).tolist() == nulls_first
    assert np.lexsort(reversed_order(sort_keys)[::-1]).tolist() == [len(values), *range(len(values))]


def test_a_key_that_is_no_row_is_said_to_be_corrupt() -> None:
    with pytest.raises(Corrupt):
        KeyReader(["STRING"]).read(struct.pack(">i", 1) + b"\0" * 8 + struct.pack("<Q", 40 << 32 | 9))


def test_a_big_file_that_is_not_sorted_is_merged_all_the_same() -> None:
    big = tuple(Row((at % 6, at % 5), (), 0, 10 + at) for at in (7, 3, 29, 1, 13, 10, 2, 25))
    small = (Row((1, 3), (), 0, 50),)
    bucket = Bucket(("BIGINT", "INT"), (), False, False, ((True, big), (True, small)))
    rules, files, opener = write_files(bucket)
    whole = serialised_key(bucket.key_types, (0, 0)), serialised_key(bucket.key_types, (5, 4))
    ranged = [
        MergeFile(
            each.path, each.format, 0, 0, each.row_count, each.min_sequence, each.max_sequence, 0, *whole
        )
        for each in files
    ]
    bits = survivors(MergeGroup(rules, tuple(ranged)), opener)
    assert [each.truths().tolist() for each in bits] == [
        [row.key != (1, 3) for row in big],
        [True],
    ]
    assert not all(row.key != (1, 3) for row in big)


def test_a_file_with_other_rows_than_its_manifest_says_is_refused() -> None:
    rules, files, opener = write_files(Bucket(("INT",), (), False, False, ((True, (Row((0,), (), 0, 0),)),)))
    file = files[0]
    other = MergeFile(file.path, "parquet", 0, 0, 2, 0, 0, None, file.min_key, file.max_key)
    with pytest.raises(Corrupt, match="manifest"):
        survivors(MergeGroup(rules, (other,)), opener)


def test_files_are_opened_as_paimon_writes_their_addresses(tmp_path: Path) -> None:
    path = tmp_path / "p=%41#?" / "ü b.parquet"
    path.parent.mkdir()
    path.write_bytes(b"rows")
    for address in (str(path), f"file:{path}", f"file://{path}"):
        with file_opener({})(address) as opened:
            assert opened.read() == b"rows"
    with pytest.raises(FileMissing):
        file_opener({})(f"file:{path}.gone")
