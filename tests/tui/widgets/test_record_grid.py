"""The grid on many rows: what is in sight is right, and nothing else is asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tui.records.sources import GridColumn
from tui.widgets.grid.record_grid import RecordGrid
from tui.work.background import ThreadResult

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
        assert app.line(0).startswith("  name")
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
