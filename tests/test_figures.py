"""How figures read, and that nothing writes its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from paimark.core.figures import (
    age,
    clock_time,
    counted,
    distance,
    duration,
    exact_time,
    moment,
    seconds,
    size,
)

pytestmark = pytest.mark.usefixtures("in_berlin")

HOUR = 3_600_000
ROOT = Path(__file__).parent.parent
# What somebody who makes a figure by hand writes.
_BY_HAND = re.compile(
    r"\} bytes|%Y-%m-%d %H|humanize|'s'\}|\b(?:rows|count|number|len\([a-z]+\))\} (?:rows|files|commits)"
)
# The limits of names and of files are said to the byte.
_EXACT = re.compile(r"\blonger\b|\blarge\b|\bhas \{.*\bshould\b")


@pytest.mark.parametrize(
    ("passed", "words"),
    [(0, "now"), (5_000, "5 s ago"), (HOUR * 2, "2 h ago"), (HOUR * 24 * 13, "13 d ago"), (-HOUR, "in 1 h")],
)
def test_ages_read_as_people_say_them(passed: int, words: str) -> None:
    assert age(10**12 - passed, 10**12) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 B"), (618, "618 B"), (999, "999 B"), (1400, "1.4 kB"), (123_456_789, "123.5 MB")],
)
def test_sizes_read_as_people_say_them(count: int, words: str) -> None:
    assert size(count) == words


def test_counts_have_their_noun_and_their_thousands() -> None:
    assert [counted(1, "row"), counted(16_200, "row"), counted(2, "branch", "branches")] == [
        "1 row",
        "16,200 rows",
        "2 branches",
    ]


def test_lengths_of_time_have_two_units() -> None:
    lengths = {0: "0 ms", 500: "500 ms", 5_400_000: "1 h 30 min", 90_061_000: "1 d 1 h"}
    assert {each: duration(each) for each in lengths} == lengths
    assert [seconds(each) for each in (0.04, 3.21, 125)] == ["0.04 s", "3.2 s", "2 min 5 s"]


def test_moments_say_their_offset() -> None:
    at = 1_777_629_791_042
    assert clock_time(at) == "2026-05-01 12:03:11"
    assert moment(at) == "2026-05-01 12:03:11+02:00"
    assert [distance(at, at + hours * HOUR) for hours in (2, 0, -2)] == ["2 h", "now", "in 2 h"]
    assert exact_time(at, at + 2 * HOUR) == "2026-05-01 12:03:11.042+02:00, 2 h ago"
    # A writer's clock may say anything.
    assert (clock_time(10**30), moment(-(10**30))) == (str(10**30), f"{-(10**30)} ms since 1970")


def test_nothing_makes_figures_of_its_own() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for part in ("core", "paimark", "tui")
        for path in sorted((ROOT / part).rglob("*.py"))
        if path != ROOT / "core/figures.py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if _BY_HAND.search(line) and not _EXACT.search(line)
    ]
    assert found == []
