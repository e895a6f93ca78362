"""One run of the statements of a text: the one that runs, and what came of those before it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from paimark.core.errors import Cancelled
from paimark.core.figures import counted, seconds
from paimark.core.spark.protocol import Failed
from paimark.core.statements.script import Numbered, ScriptStatement, hint_with, run_and_left
from paimark.core.text import clean_text, cut
from paimark.tui.named_keys import cancel_key, key, run_key
from paimark.tui.query.query_result import QueryResult
from paimark.tui.theme import Line
from paimark.tui.widgets.query_status import problem

if TYPE_CHECKING:
    from paimark.tui.work.running_change import RunningChange

_IN_SHORT = 60
# The lines of statements that have ended are so many at most.
_MOST_LINES = 4
_PART = "   only what is selected"
_NOT_AGREED = ("Its plan was closed", "It changed nothing.")


class Problem(NamedTuple):
    """Why a run has stopped."""

    message: str
    hint: str
    is_cancel: bool = False


class TextRun:
    """It goes on from one statement to the next, and stops at the first that fails.

    `base` is the offset of the text in the editor's. Without a `script` the text can't be parsed.
    `is_part`: the editor has more text.
    """

    def __init__(
        self, text: str, base: int, script: Sequence[ScriptStatement] = (), *, is_part: bool = False
    ) -> None:
        self.is_part = is_part
        self.text = text
        self.base = base
        self.script = script
        self.began = time.monotonic()
        self.number = 0
        # The statement that runs with Spark, or was the last one that did.
        self.result: QueryResult | None = None
        # The change that does the statement, after a person has agreed to its plan.
        self.change: RunningChange | None = None
        # Whether the next statement's plan waits for a person to look at it.
        self.awaits_look = False
        self.is_cancelled = False
        self.is_done = False
        self.problem: Problem | None = None
        self._ended: list[Line] = []
        self._took = 0.0

    @property
    def is_single(self) -> bool:
        return len(self.script) < 2

    @property
    def running(self) -> bool:
        return not self.is_done and self.problem is None

    @property
    def place(self) -> Numbered:
        """The place of the present statement."""
        return self.script[self.number - 1].place if self.script and self.number else Numbered()

    def next(self) -> ScriptStatement | None:
        """Go on to the next statement; None if the run is over."""
        if not self.running:
            return None
        if self.number == len(self.script):
            self.is_done, self._took = True, time.monotonic() - self.began
            return None
        if self.is_cancelled:
            left = run_and_left(self.number, self.number + 1, len(self.script))
            self._stop(Problem("Cancelled between two statements", left, is_cancel=True))
            return None
        self.number += 1
        self.change = None
        return self.script[self.number - 1]

    def begin(self) -> QueryResult:
        """The result of the present statement, which begins to run with Spark."""
        asked = self.script[self.number - 1].statement if self.script else self.text
        self.result = QueryResult(
            asked, self.base + self.place.base, time.monotonic(), "" if self.is_single else self.place.label
        )
        return self.result

    def take_end(self, result: QueryResult) -> None:
        """The present statement has ended with Spark."""
        end = result.end
        if isinstance(end, Failed):
            self.stop(Problem(end.message, end.hint, is_cancel=end.cause == "cancelled"))
        else:
            self._note(result.outcome)

    def take_change(self, change: RunningChange) -> None:
        """The change of the present statement has ended."""
        if change.error is not None:
            is_cancel = isinstance(change.error, Cancelled)
            self.stop(Problem(change.error.message, change.error.hint, is_cancel))
        elif change.outcome is not None:
            self._note(change.outcome.message)

    def leave_to(self, change: RunningChange) -> None:
        """It is one statement, which the change does; others may run meanwhile."""
        self.change, self.is_done = change, True

    def refuse(self) -> None:
        """Nobody has agreed to the plan of the present statement."""
        self.stop(Problem(*_NOT_AGREED, is_cancel=True))

    def stop(self, problem: Problem) -> None:
        """End the run: the present statement has failed."""
        if not self.is_single:
            message = f"{self.place.label.capitalize()}: {problem.message}"
            problem = problem._replace(message=message, hint=hint_with(problem.hint, self.place.rest()))
        self._stop(problem)

    def _stop(self, problem: Problem) -> None:
        self.problem, self._took = problem, time.monotonic() - self.began

    def _note(self, outcome: str) -> None:
        self._ended.append([("✓ ", "good"), (f"{self.number}  ", "quiet"), (clean_text(outcome), "")])

    # Texts

    @property
    def title(self) -> str:
        """The text on one line, cut for the bottom line and the log."""
        number = "" if self.is_single else f"{len(self.script)} statements: "
        return cut(number + " ".join(self.text.split()), _IN_SHORT)

    @property
    def in_short(self) -> str:
        """The result in a few words, for the history."""
        if self.is_single and self.result is not None:
            return self.result.in_short
        if self.problem is not None:
            return f"{self.problem_word} at {self.place.label}"
        return f"{counted(len(self.script), 'statement')}, {seconds(self._took)}"

    @property
    def problem_word(self) -> str:
        return "cancelled" if self.problem is not None and self.problem.is_cancel else "failed"

    @property
    def outcome(self) -> tuple[str, str]:
        """The result as a sentence, and its ink."""
        if self.is_single and self.result is not None:
            return self.result.outcome, self.result.ink
        if self.problem is not None:
            return self.problem.message, "warn" if self.problem.is_cancel else "bad"
        return self.in_short, "good"

    @property
    def error_place(self) -> tuple[str, int] | None:
        """The text and the offset of the error in it, if that is known."""
        return None if self.result is None else self.result.place

    def how_far(self, engine: str) -> str:
        """The progress in a few words, or what it waits for."""
        if self.awaits_look:
            return f"{self.place.label} waits for somebody to look at its plan"
        if self.change is not None:
            return f"{self.place.label}: {self.change.how_far}"
        return "" if self.result is None else self.result.how_far(time.monotonic(), engine)

    def status(self, shown: QueryResult | None, engine: str) -> tuple[Line, list[Line]]:
        """The status line and the lines after it; `shown` is the result whose rows are on the screen."""
        result = self.result
        if self.is_single and self.change is not None:
            first, *more = _lines_of(self.change)
        elif self.is_single and result is not None:
            first, more = result.status(time.monotonic(), engine)
        elif self.problem is not None:
            first, *more = problem(self.problem.message, self.problem.hint, is_cancel=self.problem.is_cancel)
            more += self._ended_lines
        else:
            first, more = self._line(engine), self._ended_lines
        if not self.is_single and shown is not None:
            more = [*more, *shown.read_lines]
        return [*first, *([(_PART, "quiet")] if self.is_part and self.is_done else [])], more

    @property
    def _ended_lines(self) -> list[Line]:
        """A line for each statement that has ended; of many the last ones."""
        ended = self._ended[-_MOST_LINES:]
        if (left := len(self._ended) - len(ended)) == 0:
            return ended
        says = f"{counted(left, 'statement')} before, done: {key('browse.log')} lists them"
        return [[("… ", "quiet"), (says, "quiet")], *ended]

    def _line(self, engine: str) -> Line:
        if self.is_done:
            return [
                ("✓ ", "good"),
                (counted(len(self.script), "statement"), ""),
                (f"  in {seconds(self._took)}", "quiet"),
            ]
        if self.awaits_look:
            says = f"  {run_key()} shows its plan, {cancel_key()} stops here"
            return [("! ", "warn"), (f"{self.place.label} has a plan to look at", ""), (says, "quiet")]
        if self.change is not None:
            return [("running  ", "accent"), (self.place.label, ""), (f"  {self.change.how_far}", "quiet")]
        if self.result is not None and self.result.running:
            return self.result.status(time.monotonic(), engine)[0]
        return [("running  ", "accent"), (self.place.label, "")]


def _lines_of(change: RunningChange) -> list[Line]:
    """What became of a change, or how far it is."""
    if change.outcome is not None:
        return [[("✓ ", "good"), (clean_text(change.outcome.message), "")]]
    if (error := change.error) is not None:
        return problem(error.message, error.hint, is_cancel=isinstance(error, Cancelled))
    return [[("running  ", "accent"), (change.how_far, "quiet")]]
