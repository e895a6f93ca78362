"""The rules for new names, as text that can be anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimark.core.actions.names import name_refusal
from paimark.core.durations import parse_duration
from paimark.core.errors import UsageError
from paimark.core.storage.paths import checked
from tests.wording import about


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "\t",
        "main",
        "7",
        "٣",
        "a/b",
        "..",
        "a\\b",
        "a$b",
        "a\n",
        "\x1b[2J",
        "\u2028",
        "\ud800",
        "\u202emain",
        "ma\u200bin",
        "main\u00ad",
        "main\U000e0041",
        "main\u200d",
        "main\u00a0x",
        " main",
        "main ",
        "\u3164",
        ".x",
        "é" * 101,
    ],
)
def test_these_are_refused_for_tags_and_branches(name: str) -> None:
    assert name_refusal(name, "tag")
    assert name_refusal(name, "branch")


@pytest.mark.parametrize(
    "name", ["v2", "2026-05-01", "Week 18", "é" * 100, "fix_prices", "mainly", "a.b", "7a"]
)
def test_these_are_fine_for_tags_and_branches(name: str) -> None:
    assert name_refusal(name, "tag") is None
    assert name_refusal(name, "branch") is None


@pytest.mark.parametrize("name", ["savepoint.x", "snapshot.4x", "paimark.merge.b.1", "batch-read-2-x"])
def test_names_the_program_gives_are_refused_for_tags_only(name: str) -> None:
    refusal = name_refusal(name, "tag")
    assert refusal and about("programs").search(refusal.reason)
    assert name_refusal(name, "branch") is None


@pytest.mark.parametrize("name", ["savepoint.1", "snapshot.4", "Snapshot.12"])
def test_a_branch_is_not_called_like_a_version(name: str) -> None:
    refusal = name_refusal(name, "branch")
    assert refusal and about("branch", name, "version").search(refusal.reason)


@given(st.text())
def test_a_name_that_is_allowed_is_one_part_of_a_path(name: str) -> None:
    if name_refusal(name, "branch") is None:
        path = f"t/branch/branch-{name}/tag/tag-{name}"
        assert checked(path) == path
        assert path.count("/") == 4
        assert len(name.encode()) <= 200


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1 h", 3_600_000),
        ("30 min", 1_800_000),
        ("7d", 604_800_000),
        (" 2 Days ", 172_800_000),
        ("250ms", 250),
        ("P7D", 604_800_000),
        ("PT1H30M", 5_400_000),
        ("P1DT0.25S", 86_400_250),
        ("pt90s", 90_000),
        ("0 s", 0),
    ],
)
def test_lengths_of_time(text: str, milliseconds: int) -> None:
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize("text", ["", "7", "d", "-1 d", "1 fortnight", "P", "PT", "P1H", "1 d 2 h", "1.5 h"])
def test_what_is_no_length_of_time(text: str) -> None:
    with pytest.raises(UsageError, match=about("not", "length")):
        parse_duration(text)
