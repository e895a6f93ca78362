"""`C`: a branch over time, histograms of a result, and what can't be drawn said in words."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paimark.core.space.over_time import OverTime, State, over_time
from paimark.core.spark.protocol import Columns, Finished
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import size_of
from paimark.core.text import width_of
from paimark.tui.charts.chart_screen import ChartScreen
from paimark.tui.charts.open_chart import charts_over_time, histograms
from paimark.tui.charts.plotting import DRAWN, Chart, bins_of, counts_of, draw, knows_braille, label
from paimark.tui.panes.query import QueryPane
from paimark.tui.query.query_result import QueryResult
from tests.actions.acting import replace_rows
from tests.paimon import open_table
from tests.tui.driving import at_events, at_orders
from tests.tui.test_hostile_text import MARKUP, assert_harmless
from tests.wording import about

ORDERS = TablePath("shop", "orders")
VALUES = st.floats(-1e300, 1e300, allow_nan=False)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 4e9), st.floats(0, 1e18)), min_size=1, max_size=40),
    st.lists(VALUES, min_size=2, max_size=40),
    st.integers(30, 130),
    st.integers(6, 40),
)
def test_any_values_fill_just_the_room_there_is(
    points: list[tuple[float, float]], values: list[float], width: int, height: int
) -> None:
    points = sorted(points)
    steps = Chart("rows", "", [x for x, _ in points], [y for _, y in points])
    bars = Chart("price", "", values, x_kind="number", steps=False)
    assert sum(counts_of(bars, bins_of(bars))) == len(values)
    for chart in (steps, bars):
        for braille in (True, False):
            lines = draw(chart, width, height, braille=braille)
            assert [width_of(line) for line in lines] == [width] * height
            assert braille or not DRAWN - {"*", "#"} & set("".join(lines))


def test_dots_are_for_terminals_of_utf_8() -> None:
    assert knows_braille({"LANG": "de_DE.UTF-8", "TERM": "xterm-256color"})
    assert not knows_braille({"LANG": "de_DE.UTF-8", "LC_ALL": "C"})
    assert not knows_braille({"LANG": "de_DE.UTF-8", "TERM": "linux"})


def test_each_state_has_the_files_and_bytes_that_its_manifests_tell(warehouse: Path) -> None:
    """One that expired, too, while a tag keeps it; of many some are told, the ends among them."""
    open_table(warehouse, "shop.orders").create_tag("old", 1)
    replace_rows(warehouse)
    files, root = LocalFiles(str(warehouse)), ORDERS.root()
    lineage = Lineage(files, root)
    expected = []
    for number in range(1, 7):
        snapshot = lineage.snapshot(number)
        size = size_of(files, ORDERS, snapshot)[1]
        expected.append((number, snapshot.time_millis, snapshot.total_record_count, size))
    (warehouse / root.snapshot(1)).unlink()
    told = over_time(files, root)
    assert [(each.snapshot_id, each.time_ms, each.records, each.bytes) for each in told.states] == expected
    assert [each.files for each in told.states] == [2, 4, 6, 8, 10, 1]
    assert [each.snapshot_id for each in over_time(files, root, most=3).states] in ([1, 3, 6], [1, 4, 6])
    (warehouse / ORDERS.manifest(lineage.snapshot(3).delta_manifest_list)).unlink()
    of_rows, _, of_bytes = charts_over_time(over_time(files, root), 0, "record")
    assert (len(of_rows.xs), len(of_bytes.xs)) == (
        6,
        5,
    ) and "bytes over time: 5 of 6 snapshots" in of_bytes.caption


@pytest.mark.parametrize(("hours_since", "share"), [(-5, 1 / 17), (0, 1 / 17), (2, 2 / 12), (9_000, 1 / 5)])
def test_the_last_value_is_valid_until_now_and_in_sight(hours_since: int, share: float) -> None:
    """It changed an hour ago or years ago: neither the last value nor those before it vanish."""
    hour, rows = 3_600_000, [0, 100, 100, 1000]
    states = [State(number, number * 10 * hour // 3, count, 1, 1) for number, count in enumerate(rows)]
    chart, *_ = charts_over_time(OverTime(states, 4, 0), (10 + hours_since) * hour, "row")
    assert chart.until is not None
    assert (chart.until - chart.xs[-1]) / (chart.until - chart.xs[0]) == pytest.approx(share)
    lines = draw(chart, 80, 20, braille=False)
    [top] = [line for line in lines if line.lstrip().startswith("1,000┤")]
    assert top.count("*") >= 4 and top.rstrip("│ ").endswith("*")
    # The last mark of the axis is the time of the last snapshot.
    assert len(lines[-1].rstrip()) < 79


def test_what_is_not_told_and_impossible_times_are_left_out(warehouse: Path) -> None:
    told = over_time(LocalFiles(str(warehouse)), ORDERS.root())
    states = [told.states[0]._replace(time_ms=10**18), *told.states[1:]]
    rows, _, size = charts_over_time(told._replace(states=states, untold_bytes=5_000_000), 0, "row")
    assert "rows over time: 4 of 5 snapshots" in rows.caption and len(rows.xs) == 4
    assert about("5.0 MB", "manifests").search(size.instead)
    [one, *_] = charts_over_time(told._replace(states=told.states[:1]), 0, "row")
    assert about("two snapshots", "5", "1", "rows").search(one.instead)
    for number, count in (("one", 1), ("none", 0)):
        [few, *_] = charts_over_time(told._replace(states=told.states[:count], total=count), 0, "row")
        assert about("two snapshots", number).search(few.instead)


def test_histograms_are_of_numbers_and_times_over_the_rows_that_were_read() -> None:
    columns = {
        "n": [1, 2, None],
        "price": [Decimal("1.5"), Decimal("64.5"), Decimal("2")],
        "same": [float("nan"), 3.0, 3.0],
        "on": [date(2026, 5, 1), date(2026, 5, 3), None],
        "at": [datetime(2026, 5, 1, tzinfo=UTC)] * 3,
        "word": ["a", "b", "c"],
    }
    types = ["int", "decimal(10,2)", "double", "date", "timestamp", "string"]
    batch = pa.RecordBatch.from_pydict(columns)
    n, price, same, on, at = histograms(list(columns), types, [batch, batch], is_cut=True)
    assert (n.caption, list(n.xs)) == ("n, of the first 6 rows, 2 null, 1 to 2", [1, 2, 1, 2])
    assert price.caption == "price, of the first 6 rows, 1.5 to 64.5"
    assert same.caption == "same, of the first 6 rows, 2 not drawn"
    assert same.instead == "All others are 3." and at.instead.startswith("All are ")
    assert on.caption.endswith(", 2026-05-01 to 2026-05-03") and on.x_kind == "time"


def test_a_caption_names_the_days_that_the_axis_has_no_room_for() -> None:
    moments = [datetime(2026, 5, 1), datetime(2026, 5, 1, 9, 0, 0, 5000)]
    days = [date(1, 1, 1), date(9999, 12, 31)]
    batch = pa.RecordBatch.from_pydict({"at": moments, "on": days})
    at, on = histograms(["at", "on"], ["timestamp", "date"], [batch], is_cut=False)
    assert at.caption.endswith(", 2026-05-01 to 2026-05-01 09:00:00.005")
    assert on.caption.endswith(", 0001-01-01 to 9999-12-31")
    assert label(on.xs[0], "time", on.xs[1] - on.xs[0]) == "0001-01-01"


async def test_what_a_chart_says_instead_is_not_cut_on_a_small_terminal(warehouse: Path) -> None:
    async with at_events(warehouse, (40, 12)) as console:
        sentence = "A chart over time needs two snapshots, and this branch has one."
        await console.app.push_screen(
            ChartScreen("t", lambda: [Chart("rows", "c" * 60, instead=sentence)] * 2)
        )
        await console.sees(
            "ccc…  1 of 2", "A chart over time needs two", "snapshots, and this branch has", "one."
        )


def test_a_histogram_counts_nulls_apart_from_other_values_that_are_not_drawn() -> None:
    batch = pa.RecordBatch.from_pydict({"n": [1.0, None, float("inf"), 2.0, None]})
    [chart] = histograms(["n"], ["double"], [batch], is_cut=False)
    assert chart.caption == "n, of all 5 rows, 2 null, 1 not drawn, 1 to 2"
    nothing = pa.RecordBatch.from_pydict({"n": pa.array([None], pa.float64())})
    [chart] = histograms(["n"], ["double"], [nothing], is_cut=False)
    assert chart.caption == "n, of all 1 row, 1 null" and about("no value").search(chart.instead)


async def test_c_opens_steps_and_closes_a_chart_of_the_branch(warehouse: Path) -> None:
    async with at_orders(warehouse, (100, 30)) as console:
        await console.press("C")
        await console.sees("records over time: 5 snapshots, 4 to 20", "1 of 3", "╰─", "┤")
        await console.press("right")
        await console.sees("files over time: 5 snapshots, 2 to 10", "2 of 3")
        await console.press("left", "left")
        await console.sees("bytes over time: 5 snapshots", " kB┤")
        await console.burst("escape", "escape")
        await console.until(lambda: console.app.screen is console.app.browse, "it closes once")
        await console.press("C")
        await console.sees("records over time")
        await console.press("C")
        assert console.app.screen is console.app.browse
        await console.press("3", "C")
        assert console.app.screen is console.app.browse
        await console.press("6", "escape", "C")
        await console.sees(about("no rows", "ctrl+r"))
        pane = console.app.query_one(QueryPane)
        result = QueryResult("SELECT", 0, 0.0)
        result.take(Columns((MARKUP, "word"), ("int", "string")))
        result.take_batch(pa.RecordBatch.from_pydict({MARKUP: [1, 2, 2], "word": ["a", "b", "c"]}))
        result.take(Finished(3, truncated=True))
        pane.sheet.result = result
        pane.grid.show(result.rows, result.columns)
        console.app.browse.set_focus(pane.grid)
        await console.press("C")
        await console.sees("of the first 3 rows, 1 to 2", MARKUP)
        assert_harmless(console)
        await console.press("escape", "right", "C")
        await console.sees(about("word", "no numbers", "times"))
    assert "textual_plotext" in sys.modules
