"""The tabs of a table."""

from __future__ import annotations

from enum import IntEnum

from paimark.core.actions.declared.kinds import Thing


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
    OPERATIONS = 8

    @property
    def title(self) -> str:
        return self.name.capitalize()

    @property
    def things(self) -> frozenset[Thing]:
        """What its rows are, or have, that the keys of actions are about."""
        return _THINGS.get(self, frozenset())

    @property
    def key(self) -> str:
        return str(self + 1)


_THINGS: dict[Tab, frozenset[Thing]] = {
    Tab.SAVEPOINTS: frozenset({"savepoint"}),
    Tab.BRANCHES: frozenset({"branch"}),
    # A savepoint's tag is one too, and stands for the savepoint.
    Tab.TAGS: frozenset({"tag"}),
    Tab.TIMELINE: frozenset({"savepoint", "branch", "tag"}),
    Tab.SPACE: frozenset({"savepoint", "branch", "tag"}),
    Tab.OPERATIONS: frozenset({"operation"}),
}
