"""The location on one line: warehouse, database, table, branch, and the special states of the table."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from core.cells import cut_middle
from core.figures import counted
from core.text import clean_text
from tui.named_keys import key
from tui.theme import Line, Piece
from tui.widgets.lines import Lines, spread

_STEP = " › "
_SHORT_MAIN = 16
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
        location = self.location
        steps = [step for step in (location.database, location.table, location.branch) if step]
        left: list[Piece] = [(" " + clean_text(location.context), "quiet")]
        for number, step in enumerate(steps):
            left += [(_STEP, "quiet"), (clean_text(step), "title" if number == 1 else "")]
        right: list[Piece] = []
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
            right.append((f" {counted(location.jobs, 'job')}: {key('browse.jobs', 'J')} ", "accent"))
        if location.engine:
            right.append((f" {location.engine} ", _ENGINE_INKS.get(location.engine, "quiet")))
        return [spread(left, right, width)]
