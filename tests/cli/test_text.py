"""Hostile text is made harmless."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from core.text import clean_text


@given(st.text(st.characters(codec=None)))
def test_nothing_that_moves_rings_copies_or_reorders_is_left(text: str) -> None:
    cleaned = clean_text(text)
    assert len(cleaned.splitlines()) <= 1
    for character in cleaned:
        assert unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(character) not in (
            "RLO",
            "LRO",
            "RLE",
            "LRE",
            "PDF",
            "RLI",
            "LRI",
            "FSI",
        )


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_text_of_any_language_is_left_as_it_is(text: str) -> None:
    assert clean_text(text) == text


def test_a_name_that_hides_something_does_not_look_like_one_that_does_not() -> None:
    assert clean_text("or\u200bders\x1b[31m") != "orders[31m"
    assert clean_text("a\tb\nc") == "a b c"
