"""The grid on many rows: what is in sight is right, and nothing else is asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from paimark.tui.memory import ColumnLayout
from paimark.tui.records.sources import GridColumn, Records, tuples
from paimark.tui.widgets.grid.columns import Columns
from paimark.tui.widgets.grid.record_grid import RecordGrid
from paimark.tui.work.background import ThreadResult
from tests.wording import about

COLUMNS = [GridColumn("number", "number"), GridColumn("name"), GridColumn("long", most=30)]


class Numbers:
    """Rows made up as they are asked for, and a note of which were."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked: set[int] = set()

    def __len__(self) -> int:
        return self.count

    def row(self, index: int) -> Sequence[object]:
        self.asked.add(index)
        return (index, f"name {index}", "x" * (index % 50))

    def key(self, index: int) -> Hashable:
        return self.row(index)[0]

    def find(self, key: Hashable) -> int | None:
        return next((index for index in range(self.count) if self.key(index) == key), None)


class OneGrid(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.grid = RecordGrid(COLUMNS)

    def compose(self) -> ComposeResult:
        yield self.grid

    def on_thread_result(self, event: ThreadResult) -> None:
        event.deliver()

    def line(self, y: int) -> str:
        return self.grid.render_line(y).text


@asynccontextmanager
async def grid_of(
    source: Numbers, size: tuple[int, int] = (60, 21)
) -> AsyncIterator[tuple[OneGrid, Pilot[None]]]:
    app = OneGrid()
    async with app.run_test(size=size) as pilot:
        app.grid.focus()
        app.grid.show(source)
        await pilot.pause()
        yield app, pilot


async def until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    for _ in range(500):
        if is_so():
            return
        await pilot.pause(0.01)
    raise AssertionError("It did not happen")


async def test_only_rows_in_sight_and_a_sample_are_asked_for() -> None:
    source = Numbers(100_000)
    async with grid_of(source) as (app, pilot):
        source.asked.clear()
        await pilot.press("pagedown")
        await pilot.pause()
        assert source.asked and len(source.asked) <= 41
        assert "name 20 " in app.line(1)


async def test_moving_through_a_hundred_thousand_rows() -> None:
    async with grid_of(Numbers(100_000)) as (app, pilot):
        await pilot.press("G")
        assert app.grid.index == 99_999
        await pilot.pause()
        assert app.line(20).startswith("▌ 99,999  name 99999")
        await pilot.press("pageup", "k")
        assert app.grid.index == 99_978
        await pilot.press("g", "j", "j", "ctrl+d")
        assert app.grid.index == 12
        assert app.grid.position == "13 of 100,000"


async def test_a_filter_over_many_rows_runs_in_a_thread_and_arrives() -> None:
    async with grid_of(Numbers(20_000)) as (app, pilot):
        app.grid.filter("name 19999")
        await until(pilot, lambda: app.grid.count == 1)
        assert app.grid.index == 19_999
        assert "name 19999" in app.line(1)
        app.grid.filter("")
        assert app.grid.count == 20_000


async def test_numbers_are_to_the_right_and_long_text_is_cut() -> None:
    async with grid_of(Numbers(50), (40, 60)) as (app, _):
        assert app.line(0).rstrip() == "  number  name     long"
        assert app.line(8).rstrip() == "       7  name 7   xxxxxxx"
        assert app.line(50).endswith("…")
        assert all(len(app.line(y)) == 40 for y in range(60))


async def test_columns_scroll_and_say_that_there_are_more() -> None:
    async with grid_of(Numbers(3), (16, 5)) as (app, pilot):
        assert app.line(0).endswith("›")
        await pilot.press("l")
        assert app.line(0).startswith("‹ name")
        await pilot.press("h")
        assert app.line(0).startswith("  number")


async def test_the_cursor_stays_on_its_record_when_rows_come_on_top() -> None:
    class Newest(Numbers):
        def row(self, index: int) -> Sequence[object]:
            return (self.count - index, "n", "")

    async with grid_of(Newest(10)) as (app, pilot):
        await pilot.press("j", "j")
        assert app.grid.source.row(app.grid.index or 0)[0] == 8
        app.grid.show(Newest(12))
        assert app.grid.source.row(app.grid.index or 0)[0] == 8


async def test_rows_and_their_order_change_together() -> None:
    """Many sorted rows are put in order in a thread: until it is done the old ones stay, all of them."""

    class Newest(Numbers):
        def row(self, index: int) -> Sequence[object]:
            return (self.count - index, "n", "")

        def find(self, key: Hashable) -> int | None:
            return self.count - int(str(key))

    async with grid_of(Newest(5000)) as (app, pilot):
        await pilot.press("o", "O")
        await until(pilot, lambda: app.grid.cursor == 4999)
        await pilot.press("g", "j")
        assert app.grid.source.row(app.grid.index or 0)[0] == 2
        app.grid.show(Newest(5003))
        assert app.line(2).startswith("▌      2")
        assert len(app.grid.source) == 5000
        await until(pilot, lambda: len(app.grid.source) == 5003)
        assert app.grid.source.row(app.grid.index or 0)[0] == 2
        assert app.line(2).startswith("▌      2")


async def test_a_column_without_a_title_is_not_sorted_by() -> None:
    """Its arrow would stand beside another column's title."""
    async with grid_of(Numbers(9)) as (app, pilot):
        app.grid.show(Numbers(9), [COLUMNS[0], GridColumn("", style="warn"), COLUMNS[2]])
        by = []
        for _ in range(3):
            await pilot.press("o")
            by.append(app.grid.order.column)
        assert by == [0, 2, None]


async def test_the_cursor_is_on_no_row_when_its_record_went_away() -> None:
    class Left(Numbers):
        """All but the sixth."""

        def row(self, index: int) -> Sequence[object]:
            return (index + (index >= 5), "n", "")

    async with grid_of(Numbers(10)) as (app, pilot):
        await pilot.press("j", "j", "j", "j", "j")
        app.grid.show(Left(9))
        assert (app.grid.index, app.grid.lost, app.grid.position) == (None, 5, "– of 9")
        assert app.line(6).startswith("·      6")
        await pilot.press("j")
        assert (app.grid.source.row(app.grid.index or 0)[0], app.grid.lost) == (6, None)
        app.grid.show(Numbers(10))
        assert app.grid.index == 6
        # Gone and back again: nobody moved it meanwhile.
        await pilot.press("k")
        app.grid.show(Left(9))
        assert app.grid.lost == 5
        app.grid.show(Numbers(10))
        assert app.grid.index == 5
        app.grid.show(Left(9))
        await pilot.press("k")
        assert app.grid.source.row(app.grid.index or 0)[0] == 4


async def test_a_filter_that_hides_the_record_goes_to_the_first_row_and_none_keeps_it() -> None:
    async with grid_of(Numbers(30)) as (app, pilot):
        await pilot.press(*"jjjjjjj")
        app.grid.filter("no such row")
        assert (app.grid.index, app.grid.lost) == (None, None)
        app.grid.filter("")
        assert app.grid.index == 7
        app.grid.filter("name 2")
        assert app.grid.index == 2
        app.grid.filter("")
        assert app.grid.index == 2


async def test_wide_characters_keep_the_columns_in_line() -> None:
    class Wide(Numbers):
        def row(self, index: int) -> Sequence[object]:
            return (index, "日本語テキスト"[: index + 1], "end")

    async with grid_of(Wide(7), (40, 9)) as (app, _):
        cells = {app.grid.render_line(y).cell_length for y in range(9)}
        assert cells == {40}


WIDE = [
    GridColumn(name, nothing="null") for name in ("key", "customer_address_line_1", "two", "three", "two")
]


def wide_rows(count: int) -> Records[tuple[int, Sequence[object]]]:
    return tuples([(f"k{n}", "a" * 12, "b" * 12, "c" * 40, "d" * 12) for n in range(count)])


class OneWideGrid(OneGrid):
    """Of cells: the first column stays, and the cursor is on a column too."""

    def __init__(self) -> None:
        super().__init__()
        self.grid = RecordGrid(WIDE, frozen=1, cells=True)


@asynccontextmanager
async def wide_grid(width: int) -> AsyncIterator[tuple[OneWideGrid, Pilot[None]]]:
    app = OneWideGrid()
    async with app.run_test(size=(width, 8)) as pilot:
        app.grid.focus()
        app.grid.show(wide_rows(5))
        await pilot.pause()
        yield app, pilot


async def test_the_first_column_stays_while_the_cursor_goes_over_the_others() -> None:
    async with wide_grid(42) as (app, pilot):
        assert app.line(0).split() == ["key", "customer_ad…ess_line_1", "two", "›"]
        for title in ("customer_address_line_1", "two", "three"):
            await pilot.press("l")
            assert app.grid.column is not None
            assert WIDE[app.grid.column].title == title
        assert app.line(0).split()[:2] == ["‹", "key"]
        assert "three" in app.line(0)
        assert app.line(1).startswith("▌ k0 ")
        await pilot.press("l", "l", "l")
        assert app.grid.column == 4
        assert app.line(0).rstrip().endswith("two")
        await pilot.press("h", "h", "h", "h", "h")
        assert app.grid.column == 0
        assert app.line(0).startswith("  key")


async def test_the_cell_under_the_cursor_stands_out_without_colours() -> None:
    async with wide_grid(60) as (app, pilot):
        await pilot.press("l")
        reversed_ = [
            each.text.strip() for each in app.grid.render_line(0) if each.style and each.style.reverse
        ]
        assert reversed_ == ["customer_ad…ess_line_1"]
        cells = [each.text.strip() for each in app.grid.render_line(1) if each.style and each.style.reverse]
        assert cells == ["a" * 12]
        await pilot.press("j")
        assert not [each for each in app.grid.render_line(1) if each.style and each.style.reverse]


async def test_a_column_is_made_as_wide_as_its_values_and_again_as_it_was() -> None:
    async with wide_grid(120) as (app, pilot):
        await pilot.press("l")
        assert "customer_ad…ess_line_1" in app.line(0)
        await pilot.press("w")
        assert "customer_address_line_1" in app.line(0)
        await pilot.press("w")
        assert "customer_ad…ess_line_1" in app.line(0)


async def test_columns_are_hidden_and_moved_by_name_and_two_of_one_title_are_two() -> None:
    async with wide_grid(120) as (app, _):
        assert app.grid.shown_columns.names == ["key", "customer_address_line_1", "two", "three", "two_2"]
        layout = ColumnLayout().toggled("two").moved(app.grid.shown_columns.names, "two_2", "key")
        app.grid.lay_out(layout)
        assert app.line(0).split() == ["two", "key", "customer_ad…ess_line_1", "three"]
        assert app.line(1).split()[:2] == ["▌", "d" * 12]
        assert app.grid.position == "1 of 5, 1 column hidden (c)"
        # Going to a hidden column shows it; other columns are as they come.
        app.grid.go_to_column(2)
        assert app.line(0).split()[-2] == "two"
        app.grid.show(tuples([(1, 2)]), [GridColumn("key"), GridColumn("other")])
        assert app.line(0).split() == ["key", "other"]


async def test_pinned_columns_leave_room_for_the_others() -> None:
    async with wide_grid(30) as (app, pilot):
        app.grid.show(tuples([("k" * 60, 1)]), [GridColumn("key", most=60), GridColumn("value", "id")])
        await pilot.pause()
        assert app.line(0).split() == ["key", "value"]
        assert app.line(1).split()[-1] == "1"


async def test_a_filter_that_can_not_be_obeyed_is_said_and_shows_no_rows() -> None:
    async with grid_of(Numbers(30)) as (app, _):
        app.grid.filter("number>27")
        assert [app.grid.count, app.grid.index] == [2, 28]
        app.grid.filter("numbr>27")
        assert app.grid.count == 0
        assert about("no column numbr").search(app.grid.why_none)
        assert about("no column numbr").search(app.line(2))
        assert "number?" in app.line(3)
        app.grid.filter("")
        assert app.grid.index == 28


async def test_a_filter_or_order_of_cut_rows_says_that_there_are_more() -> None:
    async with grid_of(Numbers(30)) as (app, _):
        app.grid.show(Numbers(30), is_cut=True)
        assert app.grid.position == "1 of 30"
        app.grid.filter("number>27")
        assert app.grid.position == "/number>27  1 of 2 (of the first 30)"
        app.grid.filter("number>99")
        assert about("none", "first 30 rows", "/number>99", "more").search(app.grid.why_none)
        app.grid.filter("")
        app.grid.sort_by(0)
        assert about("of 30", "sorted", "more").search(app.grid.position)


def test_columns_scroll_no_further_than_they_must() -> None:
    columns = Columns([GridColumn(name) for name in "abcdef"], 1, cells=True)
    seen = []
    for by in (0, 1, 1, 1, 1, -1, -1, -1):
        columns.step(by, 11)
        seen.append("".join(columns.all[index].title for index, _ in columns.in_sight(11)))
    assert seen == ["abc", "abc", "abc", "acd", "ade", "ade", "acd", "abc"]


def on_screen(app: App[None]) -> str:
    """What the terminal shows, which can be older than what a widget would paint now."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips(app.size))


async def test_a_grid_that_becomes_wider_paints_its_new_part_at_once() -> None:
    async with grid_of(Numbers(40), (24, 10)) as (app, pilot):
        assert "name 8   xxxx…" in on_screen(app)
        await pilot.resize_terminal(70, 10)
        await pilot.pause()
        assert "x" * 8 in on_screen(app)


async def test_a_grid_with_half_of_the_width_fills_all_of_it_when_its_neighbour_goes() -> None:
    async with grid_of(Numbers(40), (70, 10)) as (app, pilot):
        before = on_screen(app)
        neighbour = Static()
        neighbour.styles.dock, neighbour.styles.width = "right", 46
        await app.mount(neighbour)
        await pilot.pause()
        assert "name 8   xxxx…   " in on_screen(app)
        await neighbour.remove()
        await pilot.pause()
        assert on_screen(app) == before
