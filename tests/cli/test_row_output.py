"""Rows as JSON and as a table."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.arrow_values import cell_value
from paimark.core.cli.output import Moment, TableRows, fit
from paimark.core.export.json_rows import JsonRows
from paimark.core.text import clean_text, distinct, width_of
from paimark.tui.formats import whole_text


def as_json(names: Sequence[str], rows: Sequence[Sequence[object]]) -> Any:
    out = io.StringIO()
    writer = JsonRows(out, names)
    writer.write(rows)
    writer.close()
    return json.loads(out.getvalue(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def as_table(
    names: Sequence[str], rows: Sequence[Sequence[object]], width: int | None = None, null: str = ""
) -> list[str]:
    out = io.StringIO()
    writer = TableRows(out, names, width, null)
    for row in rows:
        writer.write([row])
    writer.close()
    return out.getvalue().splitlines()


def test_no_rows_are_an_empty_list() -> None:
    assert as_json(["a"], []) == []


def test_every_kind_of_cell_is_plain_json() -> None:
    cells = [
        Decimal("12.50"),
        datetime(2026, 5, 1, 12, 0, 3, 5000),
        date(2026, 5, 1),
        timedelta(seconds=90),
        b"\x00\xff",
        float("nan"),
        float("-inf"),
        2**62,
        None,
        [1, [Decimal("1")]],
        {"a": float("inf")},
    ]
    row = as_json([f"c{i}" for i in range(len(cells))], [cells])[0]
    assert list(row.values()) == [
        "12.50",
        "2026-05-01T12:00:03.005000",
        "2026-05-01",
        90.0,
        "AP8=",
        "NaN",
        "-Infinity",
        2**62,
        None,
        [1, ["1"]],
        {"a": "Infinity"},
    ]


def test_maps_from_arrow_are_objects_or_lists_of_pairs() -> None:
    by_name = pa.array([[("a", 1), ("b", 2)]], pa.map_(pa.string(), pa.int64()))
    by_number = pa.array([[(1, "x")]], pa.map_(pa.int64(), pa.string()))
    row = as_json(["n", "i"], [[cell_value(by_name[0]), cell_value(by_number[0])]])[0]
    assert row == {"n": {"a": 1, "b": 2}, "i": [{"key": 1, "value": "x"}]}


def test_two_columns_of_one_name_both_arrive() -> None:
    assert as_json(["a", "a", "a_2"], [[1, 2, 3]]) == [{"a": 1, "a_3": 2, "a_2": 3}]


@given(st.lists(st.sampled_from(["a", "a_2", "a_3", "b"]), max_size=8))
def test_distinct_names_are_distinct_and_the_first_of_each_keeps_its_own(names: list[str]) -> None:
    result = distinct(names)
    assert len(set(result)) == len(names) == len(result)
    for name in set(names):
        assert result[names.index(name)] == name


def test_a_pipe_gets_every_cell_whole() -> None:
    long = "x" * 300
    assert as_table(["name", "n"], [[long, 1], ["y", 22]]) == [
        "name" + " " * 298 + " n",
        "─" * 300 + "  ──",
        long + "   1",
        "y" + " " * 299 + "  22",
    ]


def test_a_terminal_gets_lines_no_wider_than_itself() -> None:
    lines = as_table(["name", "comment", "n"], [["a" * 50, "b" * 90, 7]], width=60)
    assert all(width_of(line) <= 60 for line in lines)
    assert "…" in lines[2]
    assert lines[2].endswith("7")


def test_a_narrow_terminal_gets_the_columns_that_matter_most_and_the_others_by_name() -> None:
    out = io.StringIO()
    narrow = {"id": 4, "why": 10, "time": 16, "host": 9}
    writer = TableRows(out, ["id", "time", "host", "why", "none"], 40, narrow=narrow)
    writer.write([[1, Moment("2026-05-01 12:03:11+02:00"), "h" * 30, "prices were wrong", None]])
    writer.close()
    assert out.getvalue().splitlines()[2].split("  ") == [" 1", "2026-05-01 12:03", " prices were wrong"]
    assert writer.left_out == ["host"]
    # Where all of them fit, all are shown, the empty one too.
    assert as_table(["id", "none"], [[1, None]], width=40)[0] == "id  none"


def test_a_time_loses_its_zone_before_its_seconds() -> None:
    whole = Moment("2026-05-01 12:03:11+02:00")
    cut_to = [whole.fitted(width) for width in (25, 24, 19, 18, 16, 12)]
    assert cut_to == [
        *("2026-05-01 12:03:11+02:00", *["2026-05-01 12:03:11"] * 2),
        *(*["2026-05-01 12:03"] * 2, "2026-05-01 …"),
    ]


def test_wide_characters_line_up() -> None:
    lines = as_table(["name", "n"], [["表格", 1], ["abcd", 2]])
    assert [width_of(line) for line in lines[2:]] == [7, 7]


def test_absent_cells_say_what_they_are() -> None:
    assert as_table(["a", "b"], [[None, ""]], null="NULL")[2] == "NULL"


def test_hostile_cells_and_names_reach_a_terminal_as_text() -> None:
    hostile = "a\x1b]52;c;eA==\x07b\u202ec\nd[red]e[/red]"
    text = "\n".join(as_table([f"n{hostile}"], [[hostile]]))
    assert not any(character in text for character in "\x1b\x07\u202e\r")
    assert "[red]e[/red]" in text
    assert len(text.splitlines()) == 3


def test_more_rows_than_are_measured_all_arrive_in_order() -> None:
    lines = as_table(["n"], [[i] for i in range(1200)])
    assert [int(line) for line in lines[2:]] == list(range(1200))


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 200)), min_size=1, max_size=12),
    st.integers(20, 200),
)
def test_fitting_widens_nothing_and_meets_the_width_where_it_can(
    columns: list[tuple[int, int]], available: int
) -> None:
    heads, contents = zip(*columns, strict=True)
    result = fit(heads, contents, available)
    assert all(new <= max(old) for new, old in zip(result, columns, strict=True))
    total = sum(result) + 2 * (len(result) - 1)
    assert total <= available or max(result) <= 6


def test_times_and_numbers_stay_whole_while_longer_texts_and_heads_can_give_way() -> None:
    assert fit([11, 11, 18, 4], [2, 25, 5, 47], 100) == [11, 25, 18, 40]
    assert fit([11, 11, 18, 4], [2, 25, 5, 47], 70) == [7, 25, 7, 25]


def test_a_small_decimal_is_written_with_its_places() -> None:
    assert as_json(["n"], [[Decimal("1E-7")]]) == [{"n": "0.0000001"}]
    assert clean_text(Decimal("0E-10")) == "0.0000000000"
    assert whole_text(Decimal("-1.5E-8")) == "-0.000000015"
