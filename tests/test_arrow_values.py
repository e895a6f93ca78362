"""What Python has no type for is a text in the place of an error: a far time, or bytes that are no text."""

from __future__ import annotations

import json
from datetime import date, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from paimark.core.arrow_values import cell_value, column_values
from paimark.core.export.result_file import ResultFile

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
    assert column_values(keyed) == [{"k": FAR_TEXT}]


def test_two_fields_of_a_struct_may_have_one_name() -> None:
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"])
    assert column_values(twice) == [{"a": 1, "a_2": 2}]


NAMED = pa.map_(pa.string(), pa.int32())
NUMBERED = pa.map_(pa.int32(), pa.string())
TIMED = pa.map_(pa.string(), pa.timestamp("us"))


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        (NAMED, [[], None, [("a", 1), ("b", None)]], [{}, None, {"a": 1, "b": None}]),
        (NUMBERED, [[], None, [(1, "x")]], [[], None, [(1, "x")]]),
        (TIMED, [[], None, [("k", _YEAR_10000_US)]], [{}, None, {"k": FAR_TEXT}]),
        (pa.list_(NAMED), [[[], None], [], None], [[{}, None], [], None]),
        (pa.list_(pa.int32()), [[], None], [[], None]),
        (pa.struct([("m", NAMED)]), [{"m": []}, {"m": None}, None], [{"m": {}}, {"m": None}, None]),
        (pa.map_(pa.string(), NAMED), [[("a", []), ("b", None)], []], [{"a": {}, "b": None}, {}]),
        (pa.map_(pa.int32(), NAMED), [[(1, [])]], [[(1, {})]]),
    ],
)
def test_a_map_with_text_keys_is_a_dict_also_if_it_is_empty(
    kind: pa.DataType, values: list[object], expected: list[object]
) -> None:
    column = pa.array(values, kind)
    assert column_values(column) == expected
    assert column_values(pa.chunked_array([column])) == expected
    assert [cell_value(cell) for cell in column] == expected


def test_the_type_of_a_map_and_not_its_keys_decides_its_form() -> None:
    timed = pa.MapArray.from_arrays([0, 1, 2], FAR.take(pa.array([0, 2])), pa.array(["a", "b"]))
    assert column_values(timed) == [[(FAR_TEXT, "a")], [(datetime(1970, 1, 1), "b")]]


def test_a_result_file_holds_empty_maps(tmp_path: Path) -> None:
    rows = pa.table({"m": pa.array([[], None], NAMED), "n": pa.array([[], None], NUMBERED)})
    for suffix, text in ((".json", '{"m":{},"n":[]}'), (".csv", '"{}","[]"')):
        sink = ResultFile(tmp_path / f"out{suffix}", rows.schema)
        sink.write(rows)
        sink.close()
        assert text in (tmp_path / f"out{suffix}").read_text()


def test_a_result_file_holds_them(tmp_path: Path) -> None:
    rows = pa.table({"at": FAR, "text": BROKEN})
    sink = ResultFile(tmp_path / "out.json", rows.schema)
    sink.write(rows)
    sink.close()
    first = json.loads((tmp_path / "out.json").read_bytes())[0]
    assert first == {"at": FAR_TEXT, "text": BROKEN_TEXT}


FLOATS = [1.1, -0.0, None, 3.4028235e38, 1e-45, 16777216.0, 0.3, 123456.79, float("inf"), -1e10]


@pytest.mark.parametrize(
    ("kind", "nested", "expected"),
    [
        (pa.float32(), FLOATS, FLOATS),
        (pa.list_(pa.float32()), [[each] for each in FLOATS], [[each] for each in FLOATS]),
        (
            pa.struct([("f", pa.float32())]),
            [{"f": each} for each in FLOATS],
            [{"f": each} for each in FLOATS],
        ),
        (
            pa.map_(pa.string(), pa.float32()),
            [[("k", each)] for each in FLOATS],
            [{"k": each} for each in FLOATS],
        ),
    ],
)
def test_a_float_has_no_digits_that_nobody_wrote(
    kind: pa.DataType, nested: list[object], expected: list[object]
) -> None:
    column = pa.array(nested, kind)
    assert repr(column_values(column)) == repr(expected)
    assert repr(column_values(pa.chunked_array([column]))) == repr(expected)
    assert repr([cell_value(cell) for cell in column]) == repr(expected)
    assert repr(column_values(pa.array([float("nan")], pa.float32()))) == "[nan]"
