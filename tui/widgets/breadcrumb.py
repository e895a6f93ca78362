"""Where we are, on one line: warehouse, database, table, branch, and what is special about it."""

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
    """`main` is the name of the branch that is main; `engine` a word about Spark, `jobs` how much runs.

    `is_interrupted`: a change of the table died half-way."""

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
            # A main that is a branch is rare and matters: it is said louder.
            # So long that nothing beside it is pushed off the line.
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
