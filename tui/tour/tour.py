"""The guide through the demo: it shows one step at a time, and the next when it sees that one done."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.binding import Binding
from textual.timer import Timer

from paimark.core.demo.directory import MARKER
from paimark.core.errors import NotFound, PaimarkError
from paimark.core.table.lineage.main_branch import branch_names
from paimark.tui.memory import TourState
from paimark.tui.messages import Say
from paimark.tui.named_keys import key, present
from paimark.tui.session import Session
from paimark.tui.tour.steps import STEPS, TABLE, Known, Seen, Step, write_files
from paimark.tui.tour.tour_bar import TourBar
from paimark.tui.widgets.key_bar import written
from paimark.tui.work.background import Slot

if TYPE_CHECKING:
    from paimark.tui.query.query_result import QueryResult
    from paimark.tui.screens.browse import BrowseScreen
    from paimark.tui.work.running_change import RunningChange

_LOOK_SECONDS = 0.4
# A second press within this time is a mistake: nobody has read the step in between.
_TWICE_SECONDS = 0.4
_OFFER = (
    "Bad prices came into shop.orders. Ten minutes: find when, see what happened, try a repair on a "
    "branch with checks, make that the main one, and take it back. Everything is real, and the plan of "
    "each change is shown first."
)


class Tour:
    """`keys` are formatted keys by the ids of their bindings."""

    def __init__(
        self, app: App[Any], session: Session, guided: BrowseScreen, say: Say, keys: Mapping[str, str]
    ) -> None:
        self._app = app
        self._session = session
        self._guided = guided
        self._say = say
        self._keys = keys
        self._step = 0
        self._seen = Seen()
        self._known: Known | None = None
        self._bar: TourBar | None = None
        self._timer: Timer | None = None
        self._has_written = False
        self._asked_at = 0.0
        # What was in view when the step began.
        self._difference = guided.compared
        self._result: QueryResult | None = None
        self._reading: Slot[Known] = Slot(app, "tour", self._begin, self._cannot)

    @property
    def running(self) -> bool:
        return self._timer is not None

    # Offering

    def offer(self) -> None:
        """Offer the tour: Enter begins it, any other key declines."""
        self._session.memory.keep_tour(None)
        bar = self._show()
        begin, decline = key("tour.accept"), key("tour.decline")
        bar.tell("A tour?", _OFFER, f"{begin} begins it   {decline} looks around")
        bar.focus()

    def answer(self, answered: TourBar.Answered) -> None:
        if self.running:
            return
        if answered.accepted:
            self.start()
            return
        self.leave()
        if answered.key is not None:
            self._app.post_message(type(answered.key)(answered.key.key, answered.key.character))

    def start(self) -> None:
        """Begin the tour, or continue at the step where the person left it."""
        kept = self._session.memory.tour
        self._reading.ask(
            lambda report: report(_read_known(self._session, None if kept is None else kept.branch))
        )

    def leave(self) -> None:
        """Remove it from the screen; `:tour` continues at this step."""
        was_running = self.running
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._bar is not None:
            has_focus = self._bar.has_focus
            self._bar.remove()
            self._bar = None
            if has_focus:
                self._guided.go_up()
        if was_running and self._step == len(STEPS) - 1:
            self._session.memory.keep_tour(None)
        else:
            self._say(f"{self._keys['app.palette']} tour {self._begins} it")

    @property
    def _begins(self) -> str:
        """What `:tour` does: it continues a tour that was left."""
        return "begins" if self._session.memory.tour is None else "goes on with"

    def _resumed(self) -> int:
        kept = self._session.memory.tour
        names = [step.name for step in STEPS]
        return names.index(kept.step) if kept is not None and kept.step in names else 0

    def _begin(self, known: Known) -> None:
        self._known = known
        bar = self._show()
        if bar.has_focus:
            self._guided.go_up()
        bar.can_focus = False
        if self._timer is None:
            self._timer = self._app.set_interval(_LOOK_SECONDS, self._look)
        self._go_to(self._resumed())

    def _cannot(self, error: PaimarkError) -> None:
        self.leave()
        self._say(error.said, "warn")

    def _show(self) -> TourBar:
        if self._bar is None:
            self._bar = TourBar()
            self._guided.mount(self._bar, before=self._guided.key_bar)
        return self._bar

    # Steps

    async def next(self) -> None:
        """Go on, unless this is a second press by mistake."""
        if time.monotonic() - self._asked_at >= _TWICE_SECONDS:
            await self._go_on()
        # Now: to write the statement can take longer than that.
        self._asked_at = time.monotonic()

    async def _go_on(self) -> None:
        """Skip the step; if it has a statement, first write that for the person."""
        if not self.running or self._known is None:
            self._say(f"{self._keys['app.palette']} tour {self._begins} the tour")
            return
        step = STEPS[self._step]
        if step.statement is not None and not self._has_written:
            try:
                write_files(step.name, self._known.directory)
            except OSError as error:
                self._say(f"{self._known.directory} can't be written to: {error.strerror}", "warn")
                return
            self._has_written = True
            await self._guided.prepare_statement(step.statement(self._known))
            self._tell()
        elif self._step < len(STEPS) - 1:
            self._go_to(self._step + 1)

    def saw(self, change: RunningChange) -> None:
        """Note a change that has ended."""
        if not self.running or change.plan.table != TABLE.full_name:
            return
        self._seen.tried |= {change.action.name}
        if change.outcome is not None:
            self._seen.applied = {**self._seen.applied, change.action.name: change.plan.arguments}
        self._look()

    def _go_to(self, step: int) -> None:
        self._step, self._seen, self._has_written = step, Seen(), False
        self._difference, self._result = self._guided.compared, self._answered
        if self._known is not None:
            self._session.memory.keep_tour(TourState(STEPS[step].name, self._known.branch))
        self._tell()

    def _tell(self) -> None:
        if self._known is None:
            return
        step, last = STEPS[self._step], self._step == len(STEPS) - 1
        skip = "" if last else f"{self._keys['tour.next']} {self._offered_by(step)}   "
        title = f"Tour {self._step + 1} of {len(STEPS)}: {step.title}"
        text = (step.written if self._has_written else step.text).format(self._keys, self._known)
        self._show().tell(
            title, text, f"{skip}{self._keys['tour.leave']} {'closes' if last else 'leaves'} it"
        )

    def _offered_by(self, step: Step) -> str:
        return "writes it" if step.statement is not None and not self._has_written else "skips"

    @property
    def _answered(self) -> QueryResult | None:
        """The statement in view, if it was answered."""
        from paimark.core.spark.protocol import Finished
        from paimark.tui.panes.query import QueryPane

        pane = self._guided.tabs.pane
        result = pane.result if isinstance(pane, QueryPane) else None
        return result if result is not None and isinstance(result.end, Finished) else None

    def _look(self) -> None:
        """Check what the person did, and go to the next step if this one is done."""
        seen, known = self._seen, self._known
        if known is None or not self.running:
            return
        if (result := self._answered) is not None and result is not self._result:
            seen.answered = result.statement
        difference = self._guided.compared
        if difference is not None and difference is not self._difference:
            sides = (difference.old, difference.new)
            ids = {each.snapshot.id for each in sides if each.snapshot is not None and each.name is not None}
            seen.compared = frozenset(ids | {each.root.label for each in sides})
        step = STEPS[self._step]
        if step.is_done(seen, known):
            self._done(step, known)

    def _done(self, step: Step, known: Known) -> None:
        if step.name == "again":
            # Use the name that the person gave to the branch.
            name = str(self._seen.applied["try"].get("name") or known.branch)
            self._known = replace(known, branch=name)
        self._go_to(self._step + 1)


def _read_known(session: Session, branch: str | None) -> Known:
    """Read the values for the texts, in a thread. Raises `NotFound` if this is not the demo."""
    if session.read_only or not session.files.exists(MARKER):
        raise NotFound(
            "The tour leads over the demo, where all can be tried",
            "`make demo` or `paimark demo` builds it and opens it.",
        )
    known = set(branch_names(session.files, TABLE))
    free = next(name for name in ("repair", *(f"repair{n}" for n in range(2, 1000))) if name not in known)
    return Known(branch if branch in known and branch else free, os.path.abspath(session.settings.warehouse))


def make_tour(app: App[Any], session: Session, guided: BrowseScreen, say: Say) -> Tour:
    """A tour with the present keys."""
    from paimark.tui.dialogs.plan_dialog import PlanDialog
    from paimark.tui.screens.help import key_sections

    sections = [*key_sections(app.BINDINGS), ("", PlanDialog.BINDINGS)]
    bindings = [each for _, section in sections for each in section if isinstance(each, Binding)]
    first = {each.id: written(each.key.partition(",")[0]) for each in bindings if each.id}
    keys = dict(zip(first, map(present, first, first.values()), strict=True))
    return Tour(app, session, guided, say, keys)
