"""Where one has been: `[` goes back and `]` forward again."""

from __future__ import annotations

from tui.session import Target

Place = tuple[Target, int]
_KEPT = 100


class Places:
    """Tables and branches with their tabs, oldest first."""

    def __init__(self) -> None:
        self._been: list[Place] = []
        self._at = -1

    def went(self, target: Target, tab: int) -> None:
        """What lay ahead is forgotten, as in a browser."""
        if self._at >= 0 and self._been[self._at] == (target, tab):
            return
        self._been = [*self._been[: self._at + 1], (target, tab)][-_KEPT:]
        self._at = len(self._been) - 1

    def step(self, by: int) -> Place | None:
        """The place before (-1) or after (1); None where there is none."""
        if not 0 <= self._at + by < len(self._been):
            return None
        self._at += by
        return self._been[self._at]
