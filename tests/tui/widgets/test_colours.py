"""Everything can be read, whatever colours the terminal has or its user wants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.color import Color, ColorType
from rich.segment import Segment
from textual.color import Color as Rgb

from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.theme import DARK, LIGHT, SIXTEEN
from tests.tui.driving import Sitting, sitting

# W3C's least contrast for large or bold text, which rules and other quiet parts may go down to.
LEAST_CONTRAST = 3.0


def segments(console: Sitting) -> Iterator[Segment]:
    """What the terminal is sent, where it shows anything but blanks. What lies behind a dialog is dim."""
    screen = console.app.screen
    front = screen.children[0].region if isinstance(screen, Dialog) else screen.region
    strips = screen._compositor.render_strips(console.app.size)
    for strip in strips[front.y : front.bottom]:
        yield from (each for each in strip.crop(front.x, front.right) if each.text.strip(" ─│╭╮╰╯"))


async def look_around(console: Sitting) -> list[Segment]:
    """The segments of the tables, a plan, the help, the palette and the query pane."""
    seen: list[Segment] = []
    await console.sees("● events", "snapshot 2")
    seen += segments(console)
    await console.press("j", "enter", "s")
    await console.sees("[ Apply ]")
    seen += segments(console)
    await console.press("escape", "question_mark")
    await console.sees("Everywhere")
    seen += segments(console)
    await console.press("escape", "colon")
    await console.type("tag")
    await console.sees("create-tag")
    seen += segments(console)
    await console.press("escape", "6")
    await console.sees("SELECT *")
    seen += segments(console)
    return seen


def is_default(color: Color | None) -> bool:
    return color is None or color.type is ColorType.DEFAULT


async def test_no_color_sends_no_colours_at_all(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with sitting(warehouse) as console:
        seen = await look_around(console)
        for segment in seen:
            style = segment.style
            assert style is None or (is_default(style.color) and is_default(style.bgcolor)), segment
        # What colour says elsewhere, reversed letters say here.
        assert any(each.style and each.style.reverse for each in seen)


async def test_an_empty_no_color_means_nothing(warehouse: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    async with sitting(warehouse) as console:
        assert not console.app.no_color
        await console.sees("● events")
        colours = {each.style.color for each in segments(console) if each.style}
        assert any(not is_default(color) for color in colours)


async def test_sixteen_colours_are_the_terminals_own_and_never_on_themselves(warehouse: Path) -> None:
    async with sitting(warehouse) as console:
        console.app.theme = SIXTEEN
        for segment in await look_around(console):
            if (style := segment.style) is None:
                continue
            for color in (style.color, style.bgcolor):
                assert is_default(color) or (color is not None and color.type is ColorType.STANDARD), segment
            assert is_default(style.bgcolor) or style.color != style.bgcolor, segment


@pytest.mark.parametrize("theme", [DARK, LIGHT])
async def test_every_text_stands_out_from_its_ground(theme: str, warehouse: Path) -> None:
    async with sitting(warehouse) as console:
        console.app.theme = theme
        for segment in await look_around(console):
            style = segment.style
            assert style is not None and style.color is not None and style.bgcolor is not None, segment
            text, ground = Rgb.from_rich_color(style.color), Rgb.from_rich_color(style.bgcolor)
            assert contrast(text, ground) >= LEAST_CONTRAST, segment


def contrast(one: Rgb, other: Rgb) -> float:
    """W3C's ratio: 1 for the same colour, 21 for black on white."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(color: Rgb) -> float:
    parts = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized
    ]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
