"""The frames of the panes: their names, and which one has the keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.segment import Segment

from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.theme import DARK, inks
from tests.tui.driving import Sitting, at_events, sitting

SIZES = [(80, 24), (120, 40)]


def top_lines(console: Sitting) -> list[Segment]:
    """The pieces of the line with the names of the panes."""
    strips = console.app.screen._compositor.render_strips(console.app.size)
    return [*strips[2]]


def name_ink(console: Sitting, name: str) -> str:
    [color] = {
        segment.style.color
        for segment in top_lines(console)
        if segment.style is not None and segment.text.strip().startswith(name)
    }
    inked = inks(console.app.theme)
    return next(ink for ink in ("accent", "quiet") if inked[ink].color == color)


@pytest.mark.parametrize("size", SIZES)
async def test_the_focused_pane_has_the_frame_that_stands_out(warehouse: Path, size: tuple[int, int]) -> None:
    async with at_events(warehouse, size) as console:
        console.app.theme = DARK
        await console.sees("─ Tables ─", "─ Snapshots 2 ─")
        assert (name_ink(console, "Tables"), name_ink(console, "Snapshots")) == ("accent", "quiet")
        await console.press("enter")
        assert (name_ink(console, "Tables"), name_ink(console, "Snapshots")) == ("quiet", "accent")


@pytest.mark.parametrize("size", SIZES)
async def test_without_colours_it_is_double(
    warehouse: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with at_events(warehouse, size) as console:
        await console.sees("╔═ Tables ═", "╭─ Snapshots 2 ─")
        await console.press("enter")
        await console.sees("╭─ Tables ─", "╔═ Snapshots 2 ═", "╚═ snapshot 2 ═ 1 of 2 ═")
        await console.press("L")
        await console.sees("╔═ Log ═", "╭─ Snapshots 2 ─")


async def test_what_the_table_has_beside_this_pane_is_in_words(warehouse: Path) -> None:
    """A number after a tab's key and name could be taken for another key."""
    async with at_events(warehouse) as console:
        await console.sees("─ Snapshots 2 ─", "─ 1 branch ─")
        await console.press("j", "enter")
        await console.sees(
            "═ Snapshots 5 ═", "═ 1 branch, 1 tag ═", "[1 Snapshots] 2 Savepoints 3 Branches 4 Tags "
        )
        await console.press("4")
        await console.sees("═ Tags 1 ═", "3 Branches [4 Tags] 5 Schema")
        await console.press("5")
        await console.sees("═ Schema 1 version ═")


async def test_a_frame_too_narrow_for_its_note_has_none(warehouse: Path) -> None:
    async with sitting(warehouse, (40, 20)) as console:
        await console.sees("● events", "─ Snapshots 2 ─")
        assert "1 branch" not in console.text


async def test_a_hostile_name_of_a_record_stays_on_the_frame(warehouse: Path) -> None:
    tags = warehouse / "shop.db/orders/tag"
    (tags / ("tag-" + "[bold]x" * 20)).write_bytes((tags / "tag-v2").read_bytes())
    async with at_events(warehouse) as console:
        await console.press("j", "4")
        await console.sees("═ tag [bold]x[bold]x", "…")
        assert not isinstance(console.app.screen, Dialog)
        assert all(len(line) == 80 for line in console.text.splitlines())
