"""Filtering and sorting, against the plainest way to do it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tui.records.sources import GridColumn, tuples
from tui.widgets.grid.row_order import SortOrder, arrange

COLUMNS = [GridColumn("id", "number"), GridColumn("name"), GridColumn("any")]
CELL = st.one_of(st.none(), st.integers(-5000, 5000), st.text("abAB ", max_size=4), st.booleans())
ROWS = st.lists(st.tuples(st.one_of(st.none(), st.integers(-9999, 9999)), st.text("abAB", max_size=5), CELL))


def shown(row: tuple[object, ...]) -> str:
    number, name, other = row
    first = "" if number is None else f"{number:,}"
    last = "" if other is None else str(other)
    return f"{first}\0{name}\0{last}".casefold()


@given(ROWS, st.text("abAB", min_size=1, max_size=2), st.booleans())
def test_a_filter_keeps_exactly_the_rows_that_hold_the_words(
    rows: list[tuple[object, ...]], word: str, inverse: bool
) -> None:
    kept = arrange(tuples(rows), COLUMNS, SortOrder("!" * inverse + word), 0)
    expected = [i for i, row in enumerate(rows) if (word.casefold() in shown(row)) is not inverse]
    assert list(kept or ()) == expected


@given(ROWS, st.integers(0, 2), st.booleans())
def test_sorting_orders_what_has_a_value_and_keeps_the_rest_last(
    rows: list[tuple[Any, ...]], column: int, descending: bool
) -> None:
    ordered = list(arrange(tuples(rows), COLUMNS, SortOrder("", column, descending), 0) or ())
    assert sorted(ordered) == list(range(len(rows)))
    values = [rows[i][column] for i in ordered]
    present = [value for value in values if value is not None]
    assert values == present + [None] * (len(values) - len(present))
    if all(isinstance(value, int) for value in present) or all(isinstance(value, str) for value in present):
        assert present == sorted(present, reverse=descending)


def test_every_word_must_be_there_and_case_does_not_matter() -> None:
    rows = tuples([(1, "Alpha beta", None), (2, "alpha", None), (3, "BETA", None)])
    assert list(arrange(rows, COLUMNS, SortOrder("ALPHA bet"), 0) or ()) == [0]


def test_what_nobody_wants_any_more_ends_early() -> None:
    rows = tuples([(number, "x", None) for number in range(10_000)])
    assert len(arrange(rows, COLUMNS, SortOrder("x"), 0, lambda: False) or ()) == 0


def test_without_words_and_column_rows_come_as_they_are() -> None:
    assert arrange(tuples([(1, "a", None)]), COLUMNS, SortOrder("! "), 0) is None
