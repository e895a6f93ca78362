"""The pictures in screenshots/ show the console as it is."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from pathlib import Path

from benchmarks.screen import Screen
from paimark.tui.tour.steps import STEPS
from tests.tui.driving import sitting
from tests.tui.first_screens import LARGE, PICTURES, first_screens

# Words that no commit, time or place has in it.
_WORD = re.compile(r"(?<![\w-])[A-Za-z]{4,}(?![\w-])")


_OF_THE_ENGINE = {"Spark", "starts", "ready"}


async def test_the_words_of_the_pictures_are_those_on_the_screen(demo_template: Path, tmp_path: Path) -> None:
    """`make screenshots` takes them anew."""
    shutil.copytree(demo_template, tmp_path / "paimark-demo")
    missing: dict[str, set[str]] = {}
    async with sitting(tmp_path / "paimark-demo", LARGE) as console:

        def compare(name: str) -> None:
            missing[name] = set(_WORD.findall(console.text)) - words_of(name) - _OF_THE_ENGINE

        await first_screens(console, compare, "month-end")
    assert missing == {name: set() for name in ("snapshots", "keys", "palette", "refused")}


def test_the_recording_is_of_the_tour() -> None:
    """`make screenshots` makes it anew."""
    shown: dict[str, set[str]] = {}
    screen = Screen()
    for line in (PICTURES / "tour.cast").read_text().splitlines()[1:]:
        _, _, text = json.loads(line)
        screen.feed(text)
        if found := re.search(r"Tour (\d) of \d", screen.text):
            shown.setdefault(found[1], set()).update(_WORD.findall(screen.text))
    assert list(shown) == [str(number) for number in range(1, len(STEPS) + 1)]
    for number, step in zip(shown, STEPS, strict=True):
        assert set(_WORD.findall(re.sub(r"\{[^}]*\}", " ", step.text))) <= shown[number], step.name


def words_of(name: str) -> set[str]:
    """The words that a picture shows."""
    picture = (PICTURES / f"{name}.svg").read_text()
    lines: dict[str, list[str]] = {}
    for place, text in re.findall(r'<text [^>]*?y="([\d.]+)"[^>]*>([^<]*)</text>', picture):
        lines.setdefault(place, []).append(unescape(text).replace("\xa0", " "))
    return set(_WORD.findall("\n".join(" ".join(texts) for texts in lines.values())))
