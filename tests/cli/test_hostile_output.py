"""Hostile text is made harmless."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.export.json_rows import json_text
from paimark.core.text import clean_text, unseen_in
from tests.cli.command import Paimark

# A filler is a letter to Unicode, and shows nothing.
FILLERS = "\u115f\u1160\u3164\uffa0"
UNSEEN = [*"\u00ad\u034f\u200b\u200c\u200d\u2060\u2064\u206f\u202e\u2066\ufeff\u061c\u180e\ufe0f\ufe00"]
UNSEEN += [*"\U000e0041\U000e0100\U0001d173", *FILLERS]


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


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters=FILLERS)))
def test_text_of_any_language_is_left_as_it_is(text: str) -> None:
    assert clean_text(text) == text


def test_a_name_that_hides_something_does_not_look_like_one_that_does_not() -> None:
    assert clean_text("or\u200bders\x1b[31m") != "orders[31m"
    assert clean_text("a\tb\nc") == "a b c"


@pytest.mark.parametrize("character", UNSEEN)
def test_what_shows_nothing_is_made_visible(character: str) -> None:
    assert clean_text(f"ord{character}ers") == "ord\N{REPLACEMENT CHARACTER}ers"
    assert clean_text(f"{character}orders") == "\N{REPLACEMENT CHARACTER}orders"
    assert unseen_in(f"ord{character}ers") == character


@pytest.mark.parametrize(
    "text",
    [
        "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}",
        "\N{HEAVY BLACK HEART}\ufe0f",
        "\N{WAVING WHITE FLAG}\ufe0f\u200d\N{RAINBOW}",
        "1\ufe0f\u20e3",
        # Persian "I want", a Hindi conjunct, and a Japanese name, as they are spelled.
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0915\u094d\u200d\u0937",
        "\u845b\U000e0100",
    ],
)
def test_what_writing_needs_is_left_as_it_is(text: str) -> None:
    assert clean_text(text) == text


@given(st.dictionaries(st.text(st.characters(codec=None)), st.text(st.characters(codec=None))))
def test_json_says_the_same_and_is_safe_to_print(value: dict[str, str]) -> None:
    for indent in (0, 2):
        text = json_text([value], indent=indent)
        assert json.loads(text) == json.loads(json.dumps([value]))
        assert all(clean_text(line) == line for line in text.splitlines())


def test_rows_of_json_and_plans_are_safe_to_print(paimark: Paimark, warehouse: Path) -> None:
    tags = warehouse / "shop.db/orders/tag"
    name = "v\u202e2\u009b1m\u00ad"
    (tags / f"tag-{name}").write_bytes((tags / "tag-v2").read_bytes())
    for words in (["tags", "shop.orders"], ["delete-tag", "shop.orders", "--name", name, "--dry-run"]):
        told = paimark(*words, "--warehouse", warehouse, "--output", "json").out
        assert name in json.dumps(json.loads(told), ensure_ascii=False)
        assert told.isprintable() or all(line.isprintable() for line in told.splitlines())
