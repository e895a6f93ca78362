"""The location on one line: warehouse, database, table, branch, and the special states of the table."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from paimark.core.figures import counted
from paimark.core.text import clean_text, cut_middle, width_of
from paimark.tui.named_keys import key
from paimark.tui.theme import Line, Piece
from paimark.tui.widgets.lines import Lines, line_width, spread

_STEP = " › "
_SHORT_MAIN = 16
# The fewest cells of a warehouse's name that tell anything.
_SHORTEST = 3
# In cells: of a longer branch only as much is kept free.
_SHORT_BRANCH = 7
_ENGINE_INKS = {"Spark ready": "good", "Spark failed": "bad"}


class Location(msgspec.Struct, frozen=True):
    """`main` names the branch that is main, `engine` is Spark's state, `jobs` the number of running jobs.

    `is_interrupted`: a change of the table was interrupted."""

    context: str
    database: str = ""
    table: str = ""
    branch: str = ""
    main: str = ""
    read_only: bool = False
    engine: str = ""
    jobs: int = 0
    is_interrupted: bool = False


class Breadcrumb(Lines):
    """context › database › table › branch          MAIN = main  READ-ONLY  Spark ready"""

    def __init__(self, location: Location) -> None:
        super().__init__()
        self.location = location

    def go(self, location: Location) -> None:
        if location != self.location:
            self.location = location
            self.update_lines()

    def lines(self, width: int) -> Sequence[Line]:
        # The table and the branch matter most. The warehouse goes first, then the database, then the engine.
        steps, right = self._steps(), self._states(width)
        room = width - line_width(right) - 1
        if not steps or room - _width(steps) > _SHORTEST:
            spare = room - line_width(_joined(steps)) - 1
            left = spare if spare > _SHORT_BRANCH else room - _width(steps) - 1
            context = cut_middle(clean_text(self.location.context), left)
            return [spread([(f" {context}", "quiet"), *_joined(steps)], right, width)]
        if len(steps) > 1 and room <= _width(steps):
            steps = steps[1:]
        if self.location.engine and room <= _width(steps):
            right = right[:-1]
        return [spread([(" ", ""), *_joined(steps)[1:]], right, width)]

    def _steps(self) -> list[Piece]:
        location = self.location
        named = ((location.database, ""), (location.table, "title"), (location.branch, ""))
        return [(clean_text(name), ink) for name, ink in named if name]

    def _states(self, width: int) -> list[Piece]:
        location, right = self.location, list[Piece]()
        if location.main:
            # A branch as main is rare and important, so it gets a warning colour.
            # The name is cut, so that it pushes nothing else off the line.
            main = cut_middle(clean_text(location.main), max(_SHORT_MAIN, width // 5))
            right.append((f"MAIN = {main} ", "quiet" if location.main == "main" else "warn"))
        if location.is_interrupted:
            right.append((" INTERRUPTED ", "warn"))
        if location.read_only:
            right.append((" READ-ONLY ", "warn"))
        if location.jobs:
            right.append((f" {counted(location.jobs, 'job')}: {key('browse.jobs')} ", "accent"))
        if location.engine:
            right.append((f" {location.engine} ", _ENGINE_INKS.get(location.engine, "quiet")))
        return right


def _joined(steps: Sequence[Piece]) -> list[Piece]:
    """Each step after an arrow."""
    return [part for step in steps for part in ((_STEP, "quiet"), step)]


def _width(steps: Sequence[Piece]) -> int:
    """The cells that steps need. A long branch is cut before anything is left out for it."""
    branch = sum(max(0, width_of(name) - _SHORT_BRANCH) for name, _ in steps[2:])
    return line_width(_joined(steps)) - branch
