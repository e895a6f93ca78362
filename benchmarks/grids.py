"""One grid with many rows in a terminal without a screen: its first paint, and page after page.

`python -m benchmarks.grids ours|datatable|fastdatatable ROWS`; `benchmarks.console` runs it in a process of
its own. A paint is over when the terminal driver has the frame with the rows.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import sys
import time
from statistics import median
from typing import Any

from textual import events
from textual.app import App, ComposeResult
from textual.widget import Widget

TITLES = ("id", "committed", "kind", "rows", "change", "schema", "user", "note")
PAGES = 15
HALF_A_PAGE = 20
_NUMBER = re.compile(r"<(\d+)>")
_PATIENCE = 300.0


def cells(number: int) -> tuple[str, ...]:
    return (f"<{number}>", "2026-05-01 12:00:00", "APPEND", "1,200,000", "100", "0", "writer", "a comment")


class Frames(App[None]):
    """Notes the time of each frame, and the CPU time used until then."""

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.widget = widget
        self.last = (0.0, 0.0)

    def compose(self) -> ComposeResult:
        yield self.widget

    def _display(self, screen: Any, renderable: Any) -> None:
        super()._display(screen, renderable)
        self.last = (time.perf_counter(), time.process_time())

    def furthest(self) -> int:
        """The highest row that is visible."""
        strips = self.screen._compositor.render_strips(self.size)
        return max((int(number) for strip in strips for number in _NUMBER.findall(strip.text)), default=-1)

    async def painted(self, after: float, beyond: int) -> tuple[float, float]:
        """The times of the first frame later than `after` that shows a row beyond that one."""
        seen = after
        while time.perf_counter() - after < _PATIENCE:
            frame = self.last
            if frame[0] > seen:
                seen = frame[0]
                if self.furthest() > beyond:
                    return frame
            await asyncio.sleep(0)
        raise TimeoutError(f"No row beyond {beyond} was painted")


async def measure(app: Frames, fill: Any) -> dict[str, float]:
    async with app.run_test(size=(120, 40)) as pilot:
        app.widget.focus()
        await pilot.pause(0.2)
        wall, cpu = time.perf_counter(), time.process_time()
        fill()
        done = await app.painted(wall, -1)
        found = {"first_wall": done[0] - wall, "first_cpu": done[1] - cpu}
        if app.focused is None:
            app.screen.focus_next()
        # In some grids the first page down only goes to the last visible row.
        await pilot.press("pagedown")
        walls, cpus = [], []
        for _ in range(PAGES):
            await pilot.pause(0.1)
            furthest = app.furthest()
            wall, cpu = time.perf_counter(), time.process_time()
            app.post_message(events.Key("pagedown", None))
            done = await app.painted(wall, furthest + HALF_A_PAGE)
            walls.append(done[0] - wall)
            cpus.append(done[1] - cpu)
        return {**found, "page_wall": median(walls), "page_cpu": median(cpus)}


def ours(rows: int) -> tuple[Widget, Any]:
    from paimark.tui.records.sources import GridColumn, tuples
    from paimark.tui.widgets.grid.record_grid import RecordGrid

    source = tuples([cells(number) for number in range(rows)])
    grid = RecordGrid([GridColumn(title) for title in TITLES])
    return grid, lambda: grid.show(source)


def datatable(rows: int) -> tuple[Widget, Any]:
    from textual.widgets import DataTable

    data = [cells(number) for number in range(rows)]
    table: DataTable[str] = DataTable(cursor_type="row")

    def fill() -> None:
        table.add_columns(*TITLES)
        table.add_rows(data)

    return table, fill


def fastdatatable(rows: int) -> tuple[Widget, Any]:
    import pyarrow as pa
    from textual.containers import Container

    # Only the peer's environment has it, so mypy does not know its types.
    make_table = importlib.import_module("textual_fastdatatable").DataTable
    columns = list(zip(*(cells(number) for number in range(rows)), strict=True))
    data = pa.table({title: pa.array(values) for title, values in zip(TITLES, columns, strict=True)})
    holder = Container()

    def fill() -> None:
        table = make_table(data=data, cursor_type="row")
        holder.mount(table)

    return holder, fill


def main() -> None:
    kind, rows = sys.argv[1], int(sys.argv[2])
    widget, fill = {"ours": ours, "datatable": datatable, "fastdatatable": fastdatatable}[kind](rows)
    print(json.dumps(asyncio.run(measure(Frames(widget), fill))))


if __name__ == "__main__":
    main()
