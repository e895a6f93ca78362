"""Format rows of a difference: as fields for JSON, and as one line of text."""

from __future__ import annotations

from collections.abc import Iterable

from paimark.core.export.json_rows import as_text, plain
from paimark.core.text import (
    ELLIPSIS,
    Compared,
    Fitted,
    clean_text,
    compared,
    cut,
    quoted_if_unclear,
    width_of,
)
from paimark.core.travel.diff.rows import DiffRow, Values

ARROW = "->"
# The longest value in characters; a longer one is cut.
_LONGEST = 200
# The fewest cells for a value in which it can be seen how it differs.
_LEAST = 8


class ChangesText(Fitted):
    """Changed cells as one line: in few cells too, both values of the first show where they differ."""

    changes: tuple[tuple[str, Compared, Compared], ...]

    def __new__(cls, changes: Iterable[tuple[str, Compared, Compared]]) -> ChangesText:
        listed = tuple(changes)
        made = super().__new__(cls, _changes(listed, _LONGEST))
        made.changes = listed
        return made

    def fitted(self, width: int) -> str:
        if self.fits(width) or not self.changes:
            return super().fitted(width)
        is_more = len(self.changes) > 1
        beside = width_of(clean_text(self.changes[0][0])) + len(f":  {ARROW} ") + is_more
        return cut(clean_text(_changes(self.changes, max(_LEAST, (width - beside) // 2))), width)


def as_fields(row: DiffRow, *, has_key: bool) -> dict[str, object]:
    """The fields of a row with a key: `change`, `key`, `changes` (old and new by column), `old` and `new`.

    `old` or `new` is the row that only one version has. Without a key: `change`, `times` and `row`. Values
    are as JSON holds them.
    """
    whole = row.new if row.old is None else row.old
    if not has_key:
        return {"change": row.change, "times": row.times, "row": plain(whole)}
    changes = None
    if row.old is not None and row.new is not None:
        changes = {
            name: {"old": plain(row.old.get(name)), "new": plain(row.new.get(name))} for name in row.changed
        }
    added = plain(row.new) if row.old is None else None
    removed = plain(row.old) if row.new is None else None
    return {"change": row.change, "key": plain(row.key), "changes": changes, "old": removed, "new": added}


def in_short(row: DiffRow, first: str | None = None) -> str:
    """One line: each changed cell as `price: 1.0 -> 2.0`, the column `first` before the others.

    If only one version has the row, all its values. The text is not cleaned for a terminal.
    """
    if row.old is None or row.new is None:
        return _listed(row.new or row.old or {})
    names = sorted(row.changed, key=lambda name: name != first)
    return ChangesText(_pair(name, row.old, row.new) for name in names)


def _pair(name: str, old: Values, new: Values) -> tuple[str, Compared, Compared]:
    before, after = compared([_text(old.get(name)), _text(new.get(name))])
    return name, before, after


def value_text(value: object) -> str:
    """A value as text, cut if it is long; a text in quotes if it would look like another value."""
    text = _text(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + ELLIPSIS


def _text(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return quoted_if_unclear(value)
    return str(value).lower() if isinstance(value, bool) else as_text(value)


def _changes(changes: Iterable[tuple[str, Compared, Compared]], width: int) -> str:
    """The changes, with values of at most `width` cells."""
    return ", ".join(f"{name}: {old.fitted(width)} {ARROW} {new.fitted(width)}" for name, old, new in changes)


def _listed(values: Values) -> str:
    return ", ".join(f"{name}: {value_text(value)}" for name, value in values.items())
