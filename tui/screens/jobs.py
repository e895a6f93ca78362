"""`J`: the jobs that run or have ended lately. A person can cancel one, or go to it."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any, ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from paimark.core.figures import whole_seconds
from paimark.core.text import clean_text
from paimark.tui.dialogs.dialog import Dialog
from paimark.tui.records.sources import GridColumn, Records, values_by
from paimark.tui.widgets.grid.record_grid import RecordGrid
from paimark.tui.widgets.grid.scroll_lines import ScrollLines
from paimark.tui.work.jobs import NO_RETURN, Job, Jobs

# The bell rings at the end of a job that took at least this long while nobody watched.
BELL_SECONDS = 5.0
_TICK = 1.0
_COLUMNS = (
    GridColumn("", of=lambda job: _state_of(job)),
    GridColumn("job", most=32, middle=True, of=lambda job: clean_text(job.title)),
    GridColumn("time", of=lambda job: whole_seconds(job.elapsed)),
    GridColumn("how far", most=200, of=lambda job: summary_of(job)),
)
_STATES = {"good": "✓ done", "bad": "✗ failed", "warn": "! stopped", "": "ended"}


class JobsScreen(Dialog[Job]):
    """The list of jobs. The result is the job to go to."""

    DEFAULT_CSS = """
    JobsScreen > Vertical { height: 70%; max-width: 100%; width: 96%; }
    JobsScreen ScrollLines { height: 3; color: $quiet; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "go to it", id="jobs.open"),
        Binding("x", "stop", "cancel it", tooltip="cancel the job under the cursor", id="jobs.cancel"),
        Binding("J,q", "close", "close", show=False, id="jobs.close"),
    ]

    def __init__(self, jobs: Jobs) -> None:
        self._grid = RecordGrid(_COLUMNS)
        # The whole sentence about the job under the cursor: in the list a narrow terminal cuts it.
        self._summary = ScrollLines(lambda: "")
        super().__init__("Jobs", self._grid, self._summary)
        self._jobs = jobs

    def on_mount(self) -> None:
        self.set_focus(self._grid)
        self.set_interval(_TICK, self._show)
        self._show()

    def _show(self) -> None:
        jobs = [*self._jobs.running, *self._jobs.ended]
        note = "Nothing runs. Changes, statements and exports that take long are found here."
        self._grid.show(Records(jobs, values_by(_COLUMNS), id), note=note)
        self._tell()

    def _tell(self) -> None:
        job = self._job
        self._summary.show([] if job is None else [[(summary_of(job), "")]])
        self.refresh_bindings()

    def on_record_grid_moved(self, event: RecordGrid.Moved) -> None:
        event.stop()
        self._tell()

    @property
    def _job(self) -> Job | None:
        index = self._grid.index
        rows = self._grid.source
        return rows.records[index] if index is not None and isinstance(rows, Records) else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "open":
            return self._job is not None
        if action == "stop":
            return self._job is not None and self._job.end is None
        return True

    def action_open(self) -> None:
        if self._job is not None:
            self.dismiss(self._job)

    def action_stop(self) -> None:
        self.cancel()

    def cancel(self) -> bool:
        """Stop the job under the cursor; return whether it is running."""
        job = self._job
        if job is None or job.end is not None:
            return False
        if not job.stop():
            self.bar.say(NO_RETURN, "warn")
        self._show()
        return True


async def open_jobs(app: App[Any], jobs: Jobs) -> None:
    """Open the list, and go to the job that is chosen."""

    async def chosen(job: Job | None) -> None:
        opening = None if job is None else job.show()
        if isawaitable(opening):
            await opening

    await app.push_screen(JobsScreen(jobs), chosen)


def _state_of(job: Job) -> str:
    return "● runs" if job.end is None else _STATES.get(job.end[1], "ended")


def summary_of(job: Job) -> str:
    """Its progress or its result, without its title, which the list shows before it."""
    return clean_text(job.how_far() if job.end is None else job.end[0].removeprefix(f"{job.title}: "))
