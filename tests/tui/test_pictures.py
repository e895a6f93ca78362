"""The pictures in screenshots/ show the console as it is."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from core.demo.build import build_demo
from tests.tui.driving import sitting
from tests.tui.first_screens import LARGE, PICTURES, first_screens

# Words that no commit, time or place has in it.
_WORD = re.compile(r"(?<![\w-])[A-Za-z]{4,}(?![\w-])")


async def test_the_words_of_the_pictures_are_those_on_the_screen(tmp_path: Path) -> None:
    """`make screenshots` takes them anew."""
    build_demo(tmp_path / "paimark-demo", lambda line: None)
    drifted: dict[str, set[str]] = {}
    async with sitting(tmp_path / "paimark-demo", LARGE) as console:

        def compare(name: str) -> None:
            # Both are of the console at rest.
            there, shown = words_of(name), set(_WORD.findall(console.text))
            drifted[name] = {each for each in there ^ shown if each not in ("Spark", "starts", "ready")}

        await first_screens(console, compare, "month-end")
    assert not any(drifted.values()), drifted
    assert len(drifted) == 4


def words_of(name: str) -> set[str]:
    """The words that a picture shows."""
    picture = (PICTURES / f"{name}.svg").read_text()
    lines: dict[str, list[str]] = {}
    for place, text in re.findall(r'<text [^>]*?y="([\d.]+)"[^>]*>([^<]*)</text>', picture):
        lines.setdefault(place, []).append(unescape(text).replace("\xa0", " "))
    return set(_WORD.findall("\n".join("".join(texts) for texts in lines.values())))
