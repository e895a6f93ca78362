"""Texts that are compared, shortened: they never look alike if they differ."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.text import compared, width_of


@pytest.mark.parametrize(
    ("texts", "width", "shown"),
    [
        (["2026-11-26 09:25:35", "2026-11-26 09:25:36"], 10, ["… 09:25:35", "… 09:25:36"]),
        (["2026-11-26 09:25:35.1", "2026-11-26 09:25:35.123"], 10, ["…25:35.1", "…25:35.123"]),
        (
            ["09:25:35.123456", "09:25:35.000123", "09:25:35.123457"],
            11,
            ["…:35.123456", "…:35.000123", "…:35.123457"],
        ),
        (["2026-11-26 09:25", "2027-11-26 09:25"], 10, ["2026-11-2…", "2027-11-2…"]),
        (["same", "same"], 10, ["same", "same"]),
        (["short", "x" * 30], 10, ["short", "x" * 9 + "…"]),
        (["x" * 50 + "a" + "y" * 50, "x" * 50 + "b" + "y" * 50], 12, ["…xxxayyyyyy…", "…xxxbyyyyyy…"]),
        (
            ["a" + "x" * 50 + "1", "b" + "x" * 50 + "1", "b" + "x" * 50 + "2"],
            13,
            ["axxxx…xxx1", "bxxxx…xxx1", "bxxxx…xxx2"],
        ),
    ],
)
def test_the_difference_is_in_sight(texts: list[str], width: int, shown: list[str]) -> None:
    assert [each.fitted(width) for each in compared(texts)] == shown


@given(
    st.lists(st.text("ab", max_size=40), min_size=2, max_size=3),
    st.text("日x", max_size=40),
    st.integers(16, 40),
)
def test_texts_that_differ_look_different(texts: list[str], common: str, width: int) -> None:
    whole = [common + text for text in texts]
    shown = [each.fitted(width) for each in compared(whole)]
    assert all(width_of(each) <= width for each in shown)
    if common.isascii():
        assert len(set(shown)) == len(set(whole))
