"""What Python has no type for is a text in the place of an error: a far time, or bytes that are no text."""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa

from core.arrow_values import cell_value, column_values
from core.export.result_file import ResultFile

_YEAR_10000_US = 253402300800000000
FAR = pa.array([_YEAR_10000_US, None, 0], pa.timestamp("us"))
# Spark makes such a text of `CAST(X'61FF' AS STRING)`.
BROKEN = pa.Array.from_buffers(pa.string(), 3, pa.array([b"a\xff", b"ok", None]).buffers())
FAR_TEXT, BROKEN_TEXT = "10000-01-01 00:00:00.000000", "a\N{REPLACEMENT CHARACTER}"


def test_far_times_and_broken_texts_leave_the_values_beside_them_as_they_are() -> None:
    assert column_values(FAR) == [FAR_TEXT, None, datetime(1970, 1, 1)]
    assert column_values(pa.chunked_array([FAR])) == column_values(FAR)
    assert column_values(BROKEN) == [BROKEN_TEXT, "ok", None]
    assert column_values(pa.array([2932897, 0], pa.date32())) == ["10000-01-01", date(1970, 1, 1)]
    zoned = pa.array([_YEAR_10000_US - 1], pa.timestamp("us", "Europe/Berlin"))
    assert cell_value(zoned[0]) == "10000-01-01 00:59:59.999999+0100"


def test_parts_of_nested_values_are_made_one_by_one() -> None:
    assert column_values(pa.ListArray.from_arrays([0, 1, 3], FAR)) == [
        [FAR_TEXT],
        [None, datetime(1970, 1, 1)],
    ]
    named = pa.StructArray.from_arrays([FAR, BROKEN], ["at", "text"])
    assert cell_value(named[0]) == {"at": FAR_TEXT, "text": BROKEN_TEXT}
    keyed = pa.MapArray.from_arrays([0, 1], pa.array(["k"]), FAR[:1])
    assert column_values(keyed) == [[("k", FAR_TEXT)]]


def test_two_fields_of_a_struct_may_have_one_name() -> None:
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    assert column_values(twice) == [{"a": 1, "a_2": 2}]


def test_a_result_file_holds_them(tmp_path: Path) -> None:
    rows = pa.table({"at": FAR, "text": BROKEN})
    sink = ResultFile(tmp_path / "out.json", rows.schema)
    sink.write(rows)
    sink.close()
    first = json.loads((tmp_path / "out.json").read_bytes())[0]
    assert first == {"at": FAR_TEXT, "text": BROKEN_TEXT}
