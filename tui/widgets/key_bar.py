"""The bottom line: the keys of the focused widget, then those for help and to quit; or a message."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from textual import events
from textual.binding import ActiveBinding
from textual.keys import key_to_character
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer

from paimark.core.text import clean_text, cut, width_of, wrap
from paimark.tui.named_keys import key
from paimark.tui.terminal.key_order import keys_for
from paimark.tui.theme import Line, Piece
from paimark.tui.widgets.lines import Lines, line_width

_SIGNS = {"good": "✓ ", "warn": "! ", "bad": "✗ ", "": ""}
_SHOWN_FOR = 6.0
_READ_IN = 0.7
_HELP = ("help", "app.help")
_GAP = "  "
# A message takes at most one line in so many of the screen.
_SHARE = 8
# Short names for keys whose names in Textual are long.
_WRITTEN = {
    "question_mark": "?",
    "slash": "/",
    "colon": ":",
    "escape": "esc",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "comma": ",",
    "at": "@",
    "equals_sign": "=",
    "full_stop": ".",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
}
# The order of the keys, by prefixes of the bindings' ids: those of the pane first, then the general ones.
_FIRST = (
    # With many conflicts few people choose one by one.
    "conflicts.all",
    "conflicts.main",
    "edit.plan",
    "edit.",
    "pane.",
    "tables.",
    # The key that runs the query is the most important one of the query pane.
    "query.run",
    "query.",
    "dialog.",
    "conflicts.",
    "filter.",
    "branches.",
    "schema.",
    "timeline.",
    "command.",
    "browse.diff",
    "act.",
    # The strip above already names the key for the record.
    "grid.filter",
    "browse.record",
    "grid.",
    "browse.",
    "app.",
)
_BEFORE_THE_REST = _FIRST.index("browse.diff")


class KeyBar(Lines):
    """Shows keys in the order of their bindings, most specific first; it always ends with the same two."""

    class HeightChanged(Message):
        """It is higher now, because of a message, or as low as before."""

    _message: Piece | None = None
    _is_logged = False
    _message_time = 0.0
    _timer: Timer | None = None

    def __init__(
        self,
        first: Callable[[], Sequence[str]] = tuple,
        without: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """`first` returns the ids of bindings that come before all but those of the pane itself; `without`
        those that have no effect where the focus is."""
        super().__init__()
        self._first, self._without = first, without
        # The columns that each shown key covers.
        self._shown: list[tuple[range, str]] = []

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def _bindings_changed(self, screen: Screen[object]) -> None:
        self.update_lines()

    def say(self, text: str, ink: str = "", *, stays: bool = False, is_logged: bool = False) -> None:
        """Show a message in place of the keys, until the next one or `hush`, and for a few seconds at most.

        `stays` shows it without that limit. Of a message that is too long and `is_logged`, the end says so.
        """
        self._message_time, self._is_logged = time.monotonic(), is_logged
        self._message = (f" {_SIGNS[ink]}{clean_text(text)}", ink)
        if self._timer is not None:
            self._timer.stop()
        self._timer = None if stays else self.set_timer(_SHOWN_FOR, self.hush)
        self._fit()

    def hush(self) -> None:
        self._message = None
        self._fit()

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self._fit()

    def _fit(self) -> None:
        """Make the bar as high as the message: its end is the hint."""
        high = self.styles.height
        lines = max(1, len(self._message_lines(self.size.width)))
        if high is None or high.value != lines:
            self.styles.height = lines
            self.post_message(self.HeightChanged())
        self.update_lines()

    def _message_lines(self, width: int) -> Sequence[Line]:
        if self._message is None:
            return ()
        text, ink = self._message
        if not width or width_of(text) <= width:
            return [[self._message]]
        inside, most = max(1, width - 1), max(1, self.app.size.height // _SHARE)
        lines = wrap(text.strip(), inside)
        if len(lines) > most:
            lines = [*lines[: most - 1], self._cut(" ".join(lines[most - 1 :]), inside)]
        return [[(f" {line}", ink)] for line in lines]

    def _cut(self, text: str, width: int) -> str:
        """Cut the last line of a message; say where the whole message is."""
        # While somebody types, the key of the log is text.
        is_typing = self.screen.focused is not None and self.screen.focused.check_consume_key("L", "L")
        log = "in the log" if is_typing else f"{key('browse.log')}: all of it"
        where = f" {log}" if self._is_logged else ""
        return cut(text, max(1, width - len(where))) + where

    def key_pressed(self) -> None:
        """Hide a message after a key press, unless it is so new that it may be about this very key."""
        if self._message is not None and time.monotonic() - self._message_time > _READ_IN:
            self.hush()

    def key_at(self, x: int) -> str:
        """The key that is shown at a column, by Textual's name; empty if none is."""
        return next((shown for columns, shown in self._shown if x in columns), "")

    def lines(self, width: int) -> Sequence[Line]:
        if self._message is not None:
            self._shown = []
            return self._message_lines(width)
        shown: dict[str, tuple[int, int, str, str, str]] = {}
        first, without = self._first(), self._without()
        active = self.screen.active_bindings
        for _, binding, enabled, _ in active.values():
            is_first = binding.action not in (*shown, *_HELP)
            if binding.show and enabled and is_first and binding.id not in without:
                pressed = binding.key_display or written(binding.key)
                rank, place = _rank(binding.id), len(shown)
                if binding.id in first:
                    rank, place = _BEFORE_THE_REST, first.index(binding.id) - len(first)
                shown[binding.action] = (rank, place, pressed, binding.description, binding.key)
        last = self._last_keys(active)
        end = sum(line_width(_key(name, description)) for name, description, _ in last)
        line: list[Piece] = []
        self._shown = []
        keys = [each[2:] for each in sorted(shown.values())]
        for name, description, pressed in [*keys, *last]:
            piece, start = _key(name, description), line_width(line)
            piece[0] = piece[0] if line else (" ", "")
            if (name, description, pressed) not in last and start + line_width(piece) + end > width:
                continue
            line += piece
            self._shown.append((range(start, line_width(line)), pressed))
        return [line]

    def _last_keys(self, active: Mapping[str, ActiveBinding]) -> list[tuple[str, str, str]]:
        """Name, description and key of the keys for help, as it works while typing, and to quit."""
        focused = self.screen.focused
        helping = [
            pressed
            for pressed, each in active.items()
            if each.binding.action in _HELP
            and not (focused is not None and focused.check_consume_key(pressed, key_to_character(pressed)))
        ]
        # A dialog hides the application's bindings, but not those with priority.
        quitting = keys_for(self.screen, "quit")
        last = [(written(each), "keys", each) for each in helping[:1]]
        return last + [(_in_short(each), "quit", each) for each in quitting[:1]]


def written(key: str) -> str:
    """Format a key for people."""
    modifiers, plus, last = key.rpartition("+")
    return f"{modifiers}{plus}{_WRITTEN.get(last, last)}"


def _in_short(key: str) -> str:
    """`^q` for `ctrl+q`."""
    return written(key).replace("ctrl+", "^")


def _key(name: str, description: str) -> list[Piece]:
    return [(_GAP, ""), (name, "title"), (f" {description}", "quiet")]


def _rank(id_: str | None) -> int:
    for rank, start in enumerate(_FIRST):
        if (id_ or "").startswith(start):
            return rank
    return len(_FIRST)
