"""A terminal that gets only what differs shows what one that gets everything shows."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.events import Resize
from textual.geometry import Region, Size
from textual.strip import Strip

from benchmarks.screen import Screen
from paimark.tui.terminal.sent_cells import SentCells
from tests.tui.driving import Sitting, at_events

WIDTH, HEIGHT = 24, 4
CONSOLE = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", no_color=False)
STYLES = [
    Style(),
    Style(color="#d4dae3", bgcolor="#15171a"),
    Style(color="#6fc3b5", bgcolor="#15171a"),
    Style(color="#6fc3b5", bgcolor="#15171a", bold=True),
    Style(reverse=True),
    Style(color="cyan", underline=True),
    Style(color="#6fc3b5", bgcolor="#15171a", link="https://example.org/a"),
    Style(color="#6fc3b5", bgcolor="#15171a", link="https://example.org/b"),
]


TEXT = st.text(st.sampled_from(" ab─▌◆é日e\u0301"), min_size=0, max_size=WIDTH)


@st.composite
def strips(draw: st.DrawFn, width: int) -> Strip:
    pieces = draw(st.lists(st.tuples(TEXT, st.sampled_from(STYLES)), min_size=1, max_size=4))
    segments = [Segment(text, style) for text, style in pieces if text and cell_len(text[0])]
    return Strip(segments).adjust_cell_length(width)


@st.composite
def updates(draw: st.DrawFn) -> LayoutUpdate:
    """Of whole lines, or of what a dialog covers."""
    first, left = draw(st.integers(0, HEIGHT - 1)), draw(st.sampled_from((0, 0, 5, 6)))
    width = WIDTH - left - draw(st.sampled_from((0, 3)))
    lines = draw(st.lists(strips(width), min_size=1, max_size=HEIGHT - first))
    return LayoutUpdate([[line] for line in lines], Region(left, first, width, len(lines)))


@given(st.lists(updates(), min_size=1, max_size=6))
def test_what_differs_is_enough(shown: list[LayoutUpdate]) -> None:
    sent, whole, less = SentCells(erases=True, links=True), Screen(), Screen()
    for update in shown:
        whole.feed(update.render_segments(CONSOLE))
        less.feed(sent.reduced(update, (WIDTH, HEIGHT)).render_segments(CONSOLE))
        assert less.cells == whole.cells


TALL = 12


def painted(x: int, y: int, lines: list[Strip]) -> LayoutUpdate:
    return LayoutUpdate([[line] for line in lines], Region(x, y, lines[0].cell_length, len(lines)))


@st.composite
def scrolls(draw: st.DrawFn) -> list[LayoutUpdate]:
    """A screen of lines, then again and again lines of which most have moved; here and there an odd one."""
    left = draw(st.sampled_from((0, 0, 5)))
    texts = [Strip([Segment(f"{n * 7919:<{WIDTH - left}}", STYLES[n % 4])]) for n in range(TALL + 8)]
    beside = [Strip([Segment(f"{y:<5}", STYLES[1])]) for y in range(TALL)]
    whole = [painted(0, 0, beside)] if left else []
    for top in draw(st.lists(st.integers(0, 8), min_size=2, max_size=4)):
        first = draw(st.sampled_from((0, 1)))
        lines = texts[top + first : top + TALL - 1]
        if draw(st.booleans()):
            lines[draw(st.integers(0, len(lines) - 1))] = draw(strips(WIDTH - left))
        whole.append(painted(left, first, lines))
    return whole


@given(scrolls())
def test_lines_that_moved_are_where_they_should_be(shown: list[LayoutUpdate]) -> None:
    sent, whole, less = SentCells(erases=True, links=True), Screen(), Screen()
    for update in shown:
        whole.feed(update.render_segments(CONSOLE))
        less.feed(sent.reduced(update, (WIDTH, TALL)).render_segments(CONSOLE))
        assert less.cells == whole.cells


def test_a_row_that_scrolls_into_sight_is_all_that_is_sent() -> None:
    """Beside it stands what does not move."""
    sent = SentCells()
    texts = [f"{number * 7919:<19}" for number in range(TALL + 1)]

    def bytes_of(x: int, lines: list[str]) -> str:
        update = painted(x, 0, [Strip([Segment(line, STYLES[1])]) for line in lines])
        return sent.reduced(update, (WIDTH, TALL)).render_segments(CONSOLE)

    bytes_of(0, ["orde "] + ["     "] * (TALL - 1))
    first = len(bytes_of(5, texts[:TALL]))
    scrolled = bytes_of(5, texts[1:])
    assert "\x1b[1M" in scrolled and texts[TALL].strip() in scrolled
    assert len(scrolled) < first / 3
    assert "\x1b[1L" in bytes_of(5, texts[:TALL])


def one_line(*pieces: tuple[str, int]) -> LayoutUpdate:
    strip = Strip([Segment(text, STYLES[style]) for text, style in pieces]).adjust_cell_length(WIDTH)
    return LayoutUpdate([[strip]], Region(0, 0, WIDTH, 1))


def test_an_emoji_of_several_characters_takes_no_cell_of_what_is_beside_it() -> None:
    """A flag is two characters and a joiner, in two cells: to count three would shift all behind it."""
    sent = SentCells()
    flag = "\N{GRINNING FACE}\N{WAVING WHITE FLAG}\ufe0f\u200d\N{RAINBOW}"

    def bytes_of(x: int, text: str) -> str:
        return sent.reduced(painted(x, 0, [Strip([Segment(text, STYLES[1])])]), (WIDTH, 1)).render_segments(
            CONSOLE
        )

    bytes_of(10, "beside")
    bytes_of(0, f"{flag} name ")
    assert "\x1b[1;11H" in bytes_of(10, " eside")
    assert bytes_of(10, " eside") == ""


def test_text_behind_an_emoji_is_in_its_column_however_wide_the_terminal_shows_that() -> None:
    sent = SentCells()
    update = one_line(("ab\N{RAINBOW}cd", 1), (" ef", 2))
    written = sent.reduced(update, (WIDTH, HEIGHT)).render_segments(CONSOLE)
    bare = re.sub("\x1b\\[[0-9;]*m", "", written)
    # The cells of the emoji are blank before, in case the terminal takes fewer for it.
    assert "\x1b[1;1Hab\x1b[1;3H  \x1b[1;3H\N{RAINBOW}\x1b[1;5Hcd" in bare


def test_a_line_with_an_emoji_is_sent_whole_under_a_dialog_that_begins_where_it_began() -> None:
    sent = SentCells(erases=True)

    def bytes_of(*pieces: tuple[int, str]) -> str:
        strips = [Strip([Segment(text, STYLES[1])]) for _, text in pieces]
        width = sum(strip.cell_length for strip in strips)
        update = LayoutUpdate([strips], Region(pieces[0][0], 0, width, 1))
        return sent.reduced(update, (WIDTH, 1)).render_segments(CONSOLE)

    bytes_of((0, f"\N{RAINBOW} price{' ' * 15}"))
    over = bytes_of((0, "| "), (2, f"{' ' * 19} "))
    assert re.search("\x1b\\[1;3H(\x1b\\[[0-9;]*m)?\x1b\\[20X", over)


def test_blanks_are_erased_where_the_terminal_can() -> None:
    def bytes_of(erases: bool) -> str:
        sent = SentCells(erases=erases)
        for between, last in (("x" * 18, "two"), (" " * 18, "TWO")):
            update = one_line(("one", 1), (between, 1), (last, 1))
            written = sent.reduced(update, (WIDTH, HEIGHT)).render_segments(CONSOLE)
        return written

    assert re.search("\x1b\\[18X\x1b\\[18C\x1b\\[[0-9;]*mTWO", bytes_of(True))
    assert " " * 18 in bytes_of(False)


def test_what_begins_where_a_repainted_pane_ends_stays_on_the_screen() -> None:
    """There the compositor has painted the background only, as what stands there was not asked for."""
    sent, less = SentCells(), Screen()
    pane, beside = Strip([Segment("kept ", STYLES[1])]), Strip([Segment(" " * (WIDTH - 5))])
    only_pane = ChopsUpdate([{0: pane, 5: beside}], [(0, 0, 5)], [[5, WIDTH]])
    for update in (one_line(("left ", 1), ("what is beside it", 2)), only_pane):
        less.feed(sent.reduced(update, (WIDTH, HEIGHT)).render_segments(CONSOLE))
    assert less.text == "kept what is beside it"


def test_a_layout_from_before_the_window_shrank_is_not_sent() -> None:
    """Its lines would wrap, and what it says would count as shown."""
    sent = SentCells()
    whole, part = painted(0, 0, [Strip([Segment("x" * WIDTH)])] * HEIGHT), Strip([Segment("y" * WIDTH)])
    chops = ChopsUpdate([{0: part}] * HEIGHT, [(0, 0, 5)], [[WIDTH]] * HEIGHT)
    for size in ((WIDTH - 1, HEIGHT), (WIDTH, HEIGHT - 1)):
        for update in (whole, chops):
            assert sent.reduced(update, (WIDTH, HEIGHT)).render_segments(CONSOLE)
            assert sent.reduced(update, size).render_segments(CONSOLE) == ""
        now = painted(0, 0, [Strip([Segment("x" * size[0])])] * size[1])
        assert sent.reduced(now, size).render_segments(CONSOLE).count("x" * size[0]) == size[1]


def test_only_the_cells_that_differ_are_sent_and_nothing_for_none() -> None:
    sent = SentCells()

    def bytes_of(update: LayoutUpdate, size: tuple[int, int] = (WIDTH, HEIGHT)) -> str:
        return sent.reduced(update, size).render_segments(CONSOLE)

    assert "one two" in bytes_of(one_line(("one two", 1)))
    assert bytes_of(one_line(("one two", 1))) == ""
    changed = bytes_of(one_line(("one too", 1)))
    assert changed.startswith("\x1b[1;6H\x1b[") and re.sub("\x1b\\[[0-9;]*[mH]", "", changed) == "o"
    # Only the foreground differs between the two: the background is not said again.
    coloured = bytes_of(one_line(("ONE ", 1), ("TOO", 2)))
    assert coloured.count("48;2") == 1
    # A blank has no foreground to be seen.
    bytes_of(one_line(("ONE ", 2), ("TOO", 2)))
    assert bytes_of(one_line(("ONE", 2), (" ", 1), ("TOO", 2))) == ""
    # Another size, or a terminal that somebody else wrote to: everything.
    assert "ONE " in bytes_of(one_line(("ONE ", 1), ("TOO", 2)), (WIDTH, HEIGHT + 1))
    sent.forget()
    assert "ONE " in bytes_of(one_line(("ONE ", 1), ("TOO", 2)), (WIDTH, HEIGHT + 1))


def test_a_link_ends_with_its_cells_and_is_left_out_where_the_terminal_takes_none() -> None:
    def bytes_of(links: bool) -> str:
        sent = SentCells(links=links)
        return sent.reduced(one_line(("see", 1), ("here", 6)), (WIDTH, HEIGHT)).render_segments(CONSOLE)

    opened = "\x1b\\]8;id=[0-9a-f]+;https://example.org/a\x1b\\\\"
    assert re.search(opened + "\x1b\\[[0-9;]*mhere\x1b\\]8;;\x1b\\\\", bytes_of(True))
    assert "example.org" not in bytes_of(False)


async def sent_by(console: Sitting, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What it sends to its terminal from a whole screen on, which is in there."""
    written: list[str] = []
    assert console.app._driver is not None
    monkeypatch.setattr(type(console.app), "is_headless", False)
    monkeypatch.setattr(console.app._driver, "write", written.append)
    console.app.action_redraw()
    await console.until(lambda: "snapshot 2" in "".join(written))
    return written


@pytest.mark.parametrize("repaints", [True, False])
@pytest.mark.parametrize(
    "sizes",
    [
        [(60, 20)],
        [(120, 30), (80, 24)],
        *(
            pytest.param(sizes, marks=pytest.mark.long)
            for sizes in ([(120, 30)], [(80, 24)], [(60, 20), (80, 24)])
        ),
    ],
)
async def test_a_window_that_changes_its_size_shows_everything(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch, sizes: list[tuple[int, int]], repaints: bool
) -> None:
    """Repaints that come before the layout for the new size neither fail nor count as shown."""
    async with at_events(warehouse) as console:
        written = await sent_by(console, monkeypatch)
        written.clear()
        for size in sizes:
            await console.app.on_event(Resize(Size(*size), Size(*size)))
            if repaints:
                console.app.screen.refresh()
                console.app.screen._on_timer_update()
        # Whatever was there is gone.
        screen = Screen()
        await console.pilot.pause(0.3)
        screen.feed("".join(written))
        shown = [strip.text.rstrip() for strip in console.app.screen._compositor.render_strips()]
        assert console.app.screen._compositor.size == sizes[-1]
        assert screen.text.splitlines() == shown


async def test_a_repaint_of_what_is_there_sends_nothing(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where the hidden cursor is, nor that an update begins and ends."""
    async with at_events(warehouse) as console:
        written = await sent_by(console, monkeypatch)
        await console.pilot.pause(0.1)
        for _ in range(3):
            written.clear()
            console.app.browse.snapshots.grid.repaint_rows()
            await console.pilot.pause(0.2)
            if not written:
                # Else an age has grown meanwhile.
                break
        assert not written
        await console.press("j")
        await console.until(lambda: bool(written), "send what differs")
