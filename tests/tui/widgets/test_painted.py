"""Widgets that paint their lines themselves, in containers that paint none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.events import Resize
from textual.geometry import Region, Size
from textual.strip import Strip

from paimark.tui.widgets.lines import Backdrop, Column, Painted, Row


class Numbered(Painted):
    DEFAULT_CSS = "Numbered { width: 10; height: 2; }"

    def paint(self, lines: range, width: int) -> Sequence[Strip]:
        return [Strip([Segment(f"line {y}".ljust(width), Style(color="#ff0000"))], width) for y in lines]


class Screenful(Backdrop):
    def compose(self) -> ComposeResult:
        with Column(), Row():
            yield Numbered()


class OneScreen(App[None]):
    def on_mount(self) -> None:
        self.push_screen(Screenful())

    @property
    def lines(self) -> list[str]:
        return [strip.text for strip in self.screen._compositor.render_strips()]


async def test_where_no_widget_is_the_screen_is_blank() -> None:
    """Else what stood there before would stay."""
    app = OneScreen()
    async with app.run_test(size=(20, 4)) as pilot:
        assert app.lines == ["line 0".ljust(20), "line 1".ljust(20), " " * 20, " " * 20]
        await app.screen.query_one(Numbered).remove()
        await pilot.pause()
        assert app.lines == [" " * 20] * 4
        assert app.screen.get_style_at(3, 1) == Style.null()


@pytest.mark.parametrize("size", [(12, 3), (30, 6)])
async def test_a_screen_is_covered_though_the_window_has_another_size_than_its_layout(
    size: tuple[int, int],
) -> None:
    """The app knows of the new size some milliseconds before the layout."""
    app = OneScreen()
    async with app.run_test(size=(20, 4)):
        await app.on_event(Resize(Size(*size), Size(*size)))
        assert (app.screen.size, app.screen._compositor.size) == (size, (20, 4))
        for strips in app.screen._compositor.render_full_update().strips:
            assert Strip.join(strips).cell_length == 20 and None not in [*strips]


async def test_a_part_of_a_widget_is_its_part() -> None:
    app = OneScreen()
    async with app.run_test(size=(20, 4)):
        widget = app.screen.query_one(Numbered)
        assert [strip.text for strip in widget.render_lines(Region(2, 1, 4, 1))] == ["ne 1"]
        assert widget.render_line(1).text == "line 1    "


async def test_without_colours_its_own_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = OneScreen()
    async with app.run_test(size=(20, 4)):
        (strip, *_) = app.screen.query_one(Numbered).render_lines(Region(0, 0, 10, 2))
        colours = [segment.style.color for segment in strip if segment.style is not None]
        assert colours
        assert all(each is None or each.triplet is None or len({*each.triplet}) == 1 for each in colours)
