"""`ctrl+e`: export the rows of a sheet's result to a file that a person names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from textual.app import App

from paimark.core.figures import counted
from paimark.core.spark.protocol import Finished
from paimark.tui.messages import StatusShown
from paimark.tui.named_keys import run_key
from paimark.tui.panes.sheets.sheet_job import SheetJob
from paimark.tui.query.exporting import Export, Exporting
from paimark.tui.query.query_result import QueryResult
from paimark.tui.work.engine_room import EngineRoom


class SheetExports:
    """Runs one export at a time. `changed` is called when one begins or ends."""

    def __init__(self, app: App[Any], room: EngineRoom, job: SheetJob, changed: Callable[[], None]) -> None:
        self._app = app
        self._job = job
        self._changed = changed
        self._exporting = Exporting(app, room, self._ended)

    @property
    def running(self) -> Export | None:
        return self._exporting.export

    async def ask(self, result: QueryResult | None, database: str | None) -> None:
        """Ask for the file, and export to it. It never overwrites a file."""
        from paimark.tui.dialogs.export import ExportScreen

        if result is None or not isinstance(result.end, Finished) or not result.names:
            self._say(f"There are no rows to export: {run_key()} runs the statement", "warn")
            return
        what = f"The {counted(len(result.rows), 'row')} of the result, not sorted or filtered."
        if result.is_cut:
            shown = f"{len(result.rows):,}"
            what = f"All rows, more than the {shown} shown, not sorted or filtered: the statement runs again."
        await self._app.push_screen(ExportScreen(what), partial(self._export_to, result, database))

    def _export_to(self, result: QueryResult, database: str | None, path: Path | None) -> None:
        if path is not None:
            export = self._exporting.start(path, result, database)
            self._job.begin(f"export to {path}", lambda: "".join(text for text, _ in export.line))
            self._changed()

    def _ended(self, sentence: str, ink: str) -> None:
        self._job.end(sentence, ink)
        self._say(sentence, ink)
        self._changed()

    def _say(self, text: str, ink: str) -> None:
        self._app.post_message(StatusShown(text, ink))
