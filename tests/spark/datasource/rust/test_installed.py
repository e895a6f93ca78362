"""Without pypaimon-rust, or with a line of it that nobody has tried, Python reads, and the reason says so."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError

import pytest

from paimark.core.spark.datasource.rust import installed


@pytest.fixture(autouse=True)
def _asked_anew() -> Iterator[None]:
    installed.why_missing.cache_clear()
    yield
    installed.why_missing.cache_clear()


@pytest.mark.parametrize(
    ("found", "why"), [("0.4.9", ""), ("0.5.0", "it is 0.5.0, and only 0.4 is known here")]
)
def test_only_the_line_that_was_tried_reads(found: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installed, "version", lambda name: found)
    assert installed.why_missing() == why


def test_a_python_that_lacks_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(installed, "version", lacking)
    assert installed.why_missing() == "it is not installed (pip install 'paimark[fast]')"
