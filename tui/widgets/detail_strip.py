"""All facts about the row under the cursor: names and values, in as many columns as fit."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from paimark.core.figures import counted, exact_moment, exact_time
from paimark.core.text import clean_text, width_of
from paimark.tui.formats import short_user, whole_text
from paimark.tui.named_keys import key
from paimark.tui.theme import Line, Piece
from paimark.tui.widgets.lines import Lines

Facts = Sequence[tuple[str, str]]
# In cells, enough for a short name and its value. Narrower columns are hard to read.
_NARROWEST = 25
# The record shows these facts too: they take the place of those that people look for.
_ONLY_IN_RECORD = re.compile(r"version|uuid|.*\bmanifest list\b.*")
# In characters: the strip has no room for more of a value; the record shows all of it.
_LONGEST = 2000


class Fact(NamedTuple):
    """A field of a record. `value` is as JSON has it; left out if that is the text."""

    name: str
    text: str
    value: object = ...

    @classmethod
    def moment(cls, name: str, epoch_ms: int, now_ms: int) -> Fact:
        return cls(name, exact_time(epoch_ms, now_ms), exact_moment(epoch_ms))

    @classmethod
    def number(cls, name: str, number: int | None) -> Fact:
        return cls(name, "" if number is None else f"{number:,}", number)

    @classmethod
    def id(cls, name: str, number: int | None) -> Fact:
        return cls(name, "" if number is None else str(number), number)

    @classmethod
    def cell(cls, name: str, value: object) -> Fact:
        """A value of a row of data, in full."""
        return cls(name, "null" if value is None else whole_text(value), value)


class Detail(msgspec.Struct, frozen=True):
    """`title` names the record, `facts` are its fields, `position` is its row number.

    `key` identifies the record, so that facts read later are never added to another record.
    """

    title: str = ""
    facts: tuple[Fact, ...] = ()
    position: str = ""
    key: Hashable = None


def described(title: str, facts: Iterable[Fact]) -> Detail:
    """The facts that have a text."""
    return Detail(title, tuple(each for each in facts if each.text))


class DetailStrip(Lines):
    """The facts. The title and the position are on the frame of the pane above."""

    detail = Detail()

    def look_at(self, detail: Detail) -> None:
        if detail != self.detail:
            self.detail = detail
            self.update_lines()

    def lines(self, width: int) -> Sequence[Line]:
        facts = [each for each in self.detail.facts if not _ONLY_IN_RECORD.fullmatch(each.name)]
        shown = [(each.name, short_user(each.text)) for each in facts]
        return flow(shown, width - 1, self.size.height)


def flow(facts: Facts, width: int, height: int) -> list[Line]:
    """Lay out facts in columns: the first fact, then the short ones, then those that need several columns."""
    if not facts or height <= 0:
        return []
    columns = max(1, width // _NARROWEST)
    slot = max(1, width // columns)
    lines: list[list[Piece]] = [[(" ", "")]]
    left = columns
    for name, value, used in _short_first(facts, slot):
        slots = min(columns, -(-(used + 2) // slot))
        if slots > left:
            lines.append([(" ", "")])
            left = columns
        lines[-1] += [(name, "quiet"), (f" {value}", ""), (" " * (slots * slot - used), "")]
        left -= slots
    if len(lines) > height:
        hidden = len(lines) - height + 1
        lines = [
            *lines[: height - 1],
            [
                (
                    f" … {counted(hidden, 'more line')}: {key('browse.record')} shows the whole record",
                    "quiet",
                )
            ],
        ]
    return list(lines)


def _short_first(facts: Facts, slot: int) -> list[tuple[str, str, int]]:
    """(name, value, width in cells) with cleaned texts, in the order of display."""
    cleaned = []
    for name, value in ((clean_text(name), clean_text(value[:_LONGEST])) for name, value in facts):
        cleaned.append((name, value, width_of(name) + width_of(value) + 1))
    return [cleaned[0], *sorted(cleaned[1:], key=lambda fact: fact[2] + 2 > slot)]
