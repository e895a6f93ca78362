"""The charts that `C` opens for the visible pane."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from textual.app import App

from paimark.tui.messages import Say
from paimark.tui.named_keys import run_key
from paimark.tui.session import Session, Target

if TYPE_CHECKING:
    from paimark.tui.charts.plotting import Chart
    from paimark.tui.panes.pane import Pane
    from paimark.tui.query.query_result import QueryResult


async def open_chart(app: App[Any], session: Session, target: Target, pane: Pane, say: Say) -> None:
    """Open histograms of the result in the query pane; on other panes charts of the branch over time."""
    from paimark.tui.panes.query import QueryPane

    if not isinstance(pane, QueryPane):
        await _open_over_time(app, session, target)
    elif pane.result is not None and pane.result.running and not len(pane.result.rows):
        say("No rows to draw yet: the statement is still running", "warn")
    elif pane.result is None or not len(pane.result.rows):
        say(f"No rows to draw yet: {run_key()} runs the statement", "warn")
    else:
        await _open_histogram(app, pane.result, pane.grid.column, say)


async def _open_over_time(app: App[Any], session: Session, target: Target) -> None:
    from paimark.core.space.over_time import over_time
    from paimark.tui.charts.chart_screen import ChartScreen
    from paimark.tui.charts.over_time import charts_over_time

    branch = f" {target.branch}" if target.branch else ""
    title = f"{target.table.full_name}{branch}"

    def read() -> list[Chart]:
        unit = session.begin_unit(target)
        states = over_time(session.files, session.open(target).root)
        return charts_over_time(states, int(time.time() * 1000), unit())

    await app.push_screen(ChartScreen(title, read))


async def _open_histogram(app: App[Any], result: QueryResult, column: int | None, say: Say) -> None:
    from paimark.tui.charts.chart_screen import ChartScreen
    from paimark.tui.charts.histogram import histograms, kind_of

    kinds = [kind_of(each) for each in result.types]
    if not any(kinds):
        say("No column here has numbers or times to draw", "warn")
        return
    if column is not None and kinds[column] is None:
        say(f"{result.names[column]} has no numbers or times: move to a column that has", "warn")
        return
    names, batches = result.names, result.rows.batches
    is_cut = result.is_cut or result.running
    first = names[column] if column is not None else ""
    await app.push_screen(
        ChartScreen("histogram", lambda: histograms(names, result.types, batches, is_cut=is_cut), first)
    )
