"""The lanes beside each run, as a line of box-drawing characters."""

from __future__ import annotations

from collections.abc import Sequence

from paimark.core.table.timeline.lanes import Lane, LaneCommit, Run, forked_at

MOST_LANES = 8
FOLDED = "┊"
_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_BOXES = " ╵╷│╴╯╮┤╶╰╭├─┴┬┼"


class Drawing:
    """Draws runs in their order, from the top. A lane has a column while it is live.

    If more than `MOST_LANES` are live, the others are shown as a count, `+192`, until a column is free.
    """

    def __init__(self, lanes: Sequence[Lane], runs: Sequence[Sequence[Run]]) -> None:
        self._lanes = lanes
        self._left = [len(each) for each in runs]
        self._children = {
            commit: [child for child in children if runs[child]]
            for commit, children in forked_at(lanes).items()
        }
        self._has_fork = {child for children in self._children.values() for child in children}
        self._drawn: set[LaneCommit] = set()
        # Lanes by column; the first column is kept for main's lane.
        self._columns: list[int | None] = [None] * MOST_LANES
        self._hidden: set[int] = set()

    def draw(self, run: Run, sign: str) -> str:
        """The line of the next run, with its sign in its lane."""
        commit = run.newest_commit
        live = [lane is not None for lane in self._columns]
        here = self._column_for(run.lane)
        down = [
            self._column_for(source.lane)
            for source in self._lanes[run.lane].merges.get(run.newest, ())
            if source.lane != run.lane and source not in self._drawn and not run.is_folded
        ]
        up = [
            self._columns.index(child) for child in self._children.get(commit, ()) if child in self._columns
        ]
        line = self._line(here, sign, live, up, [column for column in down if column is not None])
        self._drawn.add(commit)
        for child in self._children.get(commit, ()):
            self._end(child)
        self._left[run.lane] -= 1
        if not self._left[run.lane] and run.lane not in self._has_fork:
            self._end(run.lane)
        return line

    def _column_for(self, lane: int) -> int | None:
        """The column of a lane. If it has none yet, it gets a free one, if there is one."""
        if lane in self._columns:
            return self._columns.index(lane)
        free = [column for column, lane in enumerate(self._columns) if lane is None and column]
        column = 0 if lane == 0 else free[0] if free else None
        if column is None:
            self._hidden.add(lane)
        else:
            self._columns[column] = lane
            self._hidden.discard(lane)
        return column

    def _end(self, lane: int) -> None:
        self._hidden.discard(lane)
        if lane in self._columns:
            self._columns[self._columns.index(lane)] = None

    def _line(self, here: int | None, sign: str, live: list[bool], up: list[int], down: list[int]) -> str:
        """`live`: columns that come from above; `up`: those that end here; `down`: those of merged lanes."""
        cells = [(_UP | _DOWN) if each else 0 for each in live]
        between = [False] * MOST_LANES
        if here is not None:
            for column in up:
                cells[column] &= ~_DOWN
            for column in down:
                cells[column] |= _DOWN
            for column in (*up, *down):
                cells[column] |= _LEFT if column > here else _RIGHT
                first, last = min(here, column), max(here, column)
                between[first:last] = [True] * (last - first)
                for crossed in range(first + 1, last):
                    # Only lanes that end or begin here are joined; others pass below the line.
                    if not live[crossed] or crossed in up or crossed in down:
                        cells[crossed] |= _LEFT | _RIGHT
        boxes = [_BOXES[cell] for cell in cells]
        if here is not None:
            boxes[here] = sign
        text = "".join(box + ("─" if joined else " ") for box, joined in zip(boxes, between, strict=True))
        if self._hidden:
            return f"{text}{sign if here is None else ' '}+{len(self._hidden):,}"
        return text.rstrip()
