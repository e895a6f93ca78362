"""The least and greatest value that a file's metadata say are those of its rows, or nothing is said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from paimark.core.spark.native.summary import NOTHING, Bounds, ExactBounds
from paimark.core.table.records import SchemaField
from tests.spark.native.test_native_pruning import COLUMNS, VALUES, file_of, schema

NOW, THEN = schema(1, {}), schema(0, {"number": "old name"})
BOUNDS = ExactBounds(NOW, {0: THEN})
EXACT = ["key", "number", "money", "flag"]


@given(
    rows=st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=4),
    known=st.none() | st.lists(st.sampled_from(COLUMNS), unique=True),
)
def test_bounds_are_those_of_the_rows(rows: list[dict[str, Any]], known: list[str] | None) -> None:
    file = file_of(rows, known)
    for column in COLUMNS:
        bounds = BOUNDS.of(file, column)
        if column in EXACT and (known is None or column in known):
            there = [row[column] for row in rows if row[column] is not None]
            assert bounds == (Bounds(min(there), max(there)) if there else NOTHING)
        else:
            # Texts may be cut off, and NaN is in no statistics.
            assert bounds is None


ROW = {name: None for name in COLUMNS} | {"key": 1, "number": 7}


def test_a_file_without_the_column_has_nulls_there() -> None:
    new = replace(NOW, fields=[*NOW.fields, SchemaField(id=99, name="new", type="INT")])
    assert ExactBounds(new, {0: THEN}).of(file_of([ROW], None), "new") == NOTHING


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("BIGINT", Bounds(7, 7)),
        # What Paimon's cast makes of a value is not asked here.
        ("STRING", None),
        ("DECIMAL(10, 2)", None),
        ("DOUBLE", None),
    ],
)
def test_a_column_of_another_type_since(kind: str, expected: Bounds | None) -> None:
    changed = [replace(each, type=kind) if each.name == "number" else each for each in NOW.fields]
    assert ExactBounds(replace(NOW, fields=changed), {0: THEN}).of(file_of([ROW], None), "number") == expected


@pytest.mark.parametrize(
    "stats",
    [
        {},
        {"_MIN_VALUES": b"", "_MAX_VALUES": b"", "_NULL_COUNTS": []},
        {"_MIN_VALUES": b"\0\0\0\7", "_MAX_VALUES": b"\0\0\0\7", "_NULL_COUNTS": None},
    ],
)
def test_statistics_that_are_none_say_nothing(stats: dict[str, Any]) -> None:
    file = file_of([ROW], None)
    record: Any = file.entry.file
    assert BOUNDS.of(file, "number") == Bounds(7, 7)
    record["_VALUE_STATS"] = stats
    assert BOUNDS.of(file, "number") is None


def test_no_least_value_without_a_count_of_nulls_says_nothing() -> None:
    file = file_of([ROW], None)
    record: Any = file.entry.file
    assert BOUNDS.of(file, "money") == NOTHING
    for counts in ([0] * len(COLUMNS), [], [1]):
        record["_VALUE_STATS"]["_NULL_COUNTS"] = counts
        assert BOUNDS.of(file, "money") is None
