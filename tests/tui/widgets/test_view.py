"""Filtering and sorting, against the plainest way to do it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.errors import Refused
from paimark.tui.records.sources import GridColumn, RowSource, tuples
from paimark.tui.widgets.grid.filters import RowFilter, plain_words, read_filter
from paimark.tui.widgets.grid.view import SortOrder, arrange
from tests.wording import about

COLUMNS = [GridColumn("id", "number"), GridColumn("name"), GridColumn("any")]
CELL = st.one_of(st.none(), st.integers(-5000, 5000), st.text("abAB ", max_size=4), st.booleans())
ROWS = st.lists(st.tuples(st.one_of(st.none(), st.integers(-9999, 9999)), st.text("abAB", max_size=5), CELL))


def row_text(row: tuple[object, ...]) -> str:
    number, name, other = row
    first = "" if number is None else f"{number:,}"
    last = "" if other is None else str(other)
    return f"{first}\0{name}\0{last}".casefold()


def filtered_indexes(
    rows: RowSource, text: str, columns: Sequence[GridColumn] = COLUMNS, now_ms: int = 0
) -> list[int]:
    """The indexes that a filter lets through."""
    row_filter = read_filter(text, columns, rows, now_ms)
    chosen = arrange(rows, columns, row_filter, SortOrder(text), now_ms)
    return list(range(len(rows)) if chosen is None else chosen)


@given(ROWS, st.text("abAB", min_size=1, max_size=2), st.booleans())
def test_a_filter_keeps_exactly_the_rows_that_hold_the_words(
    rows: list[tuple[object, ...]], word: str, inverse: bool
) -> None:
    text = "!" * inverse + word
    filtered_indexes = arrange(tuples(rows), COLUMNS, plain_words(text), SortOrder(text), 0)
    expected = [i for i, row in enumerate(rows) if (word.casefold() in row_text(row)) is not inverse]
    assert list(filtered_indexes or ()) == expected


@given(ROWS, st.integers(0, 2), st.booleans())
def test_sorting_orders_what_has_a_value_and_keeps_the_rest_last(
    rows: list[tuple[Any, ...]], column: int, descending: bool
) -> None:
    ordered = list(arrange(tuples(rows), COLUMNS, RowFilter(), SortOrder("", column, descending), 0) or ())
    assert sorted(ordered) == list(range(len(rows)))
    values = [rows[i][column] for i in ordered]
    present = [value for value in values if value is not None]
    assert values == present + [None] * (len(values) - len(present))
    if all(isinstance(value, int) for value in present) or all(isinstance(value, str) for value in present):
        assert present == sorted(present, reverse=descending)


def test_every_word_must_be_there_and_case_does_not_matter() -> None:
    rows = tuples([(1, "Alpha beta", None), (2, "alpha", None), (3, "BETA", None)])
    assert filtered_indexes(rows, "ALPHA bet") == [0]


def test_what_nobody_wants_any_more_ends_early() -> None:
    rows = tuples([(number, "x", None) for number in range(10_000)])
    assert len(arrange(rows, COLUMNS, plain_words("x"), SortOrder("x"), 0, lambda: False) or ()) == 0


def test_without_words_and_column_rows_come_as_they_are() -> None:
    assert arrange(tuples([(1, "a", None)]), COLUMNS, plain_words("! "), SortOrder("! "), 0) is None


DATA = [
    GridColumn("order_id", "id"),
    GridColumn("price", "id", nothing="null"),
    GridColumn("customer name", nothing="null"),
    GridColumn("day", nothing="null"),
    GridColumn("size", "bytes"),
    GridColumn("committed", "time"),
    GridColumn("age", "age"),
]
HOUR = 3_600_000
NOON = int(datetime(2026, 5, 1, 12).timestamp() * 1000)
ORDERS = tuples(
    [
        (1, Decimal("9.50"), "Ann Lee", date(2026, 4, 30), 900, NOON - 24 * HOUR, NOON - 24 * HOUR),
        (2, 0.1, "bob", date(2026, 5, 1), 2_500_000, NOON, NOON),
        (3, None, None, None, None, None, None),
        (12, -4, "a=b", date(2026, 5, 2), 10, NOON + 24 * HOUR, NOON - HOUR),
    ]
)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("price>0", [1, 2]),
        ("price<=-4", [12]),
        ("price=9.5", [1]),
        ("price=0.1", [2]),
        ("price!=0.1", [1, 12]),
        ("price=null", [3]),
        ("price!=null", [1, 2, 12]),
        ("order_id>=2 order_id<12", [2, 3]),
        ("!order_id>=2 order_id<12", [1, 12]),
        ("order_id~2", [2, 12]),
        ("customer_name=BOB", [2]),
        ('"customer name"="ann lee"', [1]),
        ("Customer_Name!=bob", [1, 12]),
        ("customer_name~NN", [1]),
        ('"a=b"', [12]),
        ("b price<0", [12]),
        ("day>2026-05-01", [12]),
        ("day=2026-05", [2, 12]),
        ("size>2.4MB", [2]),
        ("size<1kb", [1, 12]),
        ("committed>=2026-05-01", [2, 12]),
        ('committed="2026-05-01 12:00"', [2]),
        ("age>2h", [1]),
        ("price>", [1, 2, 3, 12]),
    ],
)
def test_a_condition_is_on_the_column_that_it_names(text: str, ids: list[int]) -> None:
    assert [ORDERS.row(index)[0] for index in filtered_indexes(ORDERS, text, DATA, NOON + HOUR)] == ids


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("prise>1", ("no column prise",), "price?"),
        ("zzz=1", ("no column zzz",), "c lists"),
        ("price>dear", ("price", "numbers", "dear"), "like 10"),
        ("customer_name>5", ("customer name", "no numbers", "5"), "name~5"),
        ("committed>yesterday", ("committed", "times", "yesterday"), "2026-05-01"),
        ("day<soon", ("day", "times"), "2026-05-01"),
        ("age<old", ("age", "ages", "old"), "age<2h"),
        ("size>nan", ("size", "numbers", "nan"), "1.5 MB"),
    ],
)
def test_a_condition_that_can_not_be_answered_is_refused_in_words(
    text: str, message: tuple[str, ...], hint: str
) -> None:
    with pytest.raises(Refused) as refused:
        read_filter(text, DATA, ORDERS, NOON)
    assert about(*message).search(refused.value.message)
    assert hint in refused.value.hint


def test_a_condition_on_a_column_without_any_value_matches_nothing() -> None:
    assert filtered_indexes(tuples([(1, None, None)]), "name=x") == []


def test_nan_is_the_greatest_and_leaves_the_others_in_order() -> None:
    rows = tuples([(value,) for value in (2.0, float("nan"), -1.0, None, 5.0, float("nan"), float("-inf"))])
    columns = [GridColumn("f", "id")]

    def ordered(*, descending: bool) -> list[int]:
        found = arrange(rows, columns, RowFilter(), SortOrder("", 0, descending), 0)
        return list(found or ())

    assert ordered(descending=False) == [6, 2, 0, 4, 1, 5, 3]
    assert ordered(descending=True) == [1, 5, 4, 0, 2, 6, 3]
