"""The tabs of a table."""

from __future__ import annotations

from enum import IntEnum


class Tab(IntEnum):
    """In the order of the screen: key `1` opens the first."""

    SNAPSHOTS = 0
    SAVEPOINTS = 1
    BRANCHES = 2
    TAGS = 3
    SCHEMA = 4
    QUERY = 5
    TIMELINE = 6
    SPACE = 7

    @property
    def title(self) -> str:
        return self.name.capitalize()

    @property
    def key(self) -> str:
        return str(self + 1)
