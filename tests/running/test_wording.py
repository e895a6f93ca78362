"""`about` finds what a sentence tells, and nothing else."""

from __future__ import annotations

import pytest

from tests.wording import about

SENTENCE = "Snapshot 40 of shop.orders has expired:\n  run `paimark recover shop.orders`"


@pytest.mark.parametrize(
    "terms",
    [("snapshot 40",), ("expired", "shop.orders"), ("expir*", "40"), ("`paimark recover",)],
)
def test_all_terms_are_there(terms: tuple[str, ...]) -> None:
    assert about(*terms).search(SENTENCE)


@pytest.mark.parametrize(
    "terms", [("4",), ("expire",), ("orders", "tag"), ("shop.order",), ("snapshot 4",), ("expired run",)]
)
def test_a_term_that_is_not_there(terms: tuple[str, ...]) -> None:
    assert not about(*terms).search(SENTENCE)


def test_lines_are_joined() -> None:
    assert about("expired: run").search(SENTENCE)
