"""Rows of a difference as JSON has them, and as a person reads them: the key, and what changed."""

from __future__ import annotations

from core.cells import ELLIPSIS
from core.export.json_rows import as_text, plain
from core.travel.diff.rows import DiffRow, Values

ARROW = "->"
# A longer value is cut in a line of many.
_LONGEST = 200


def as_fields(row: DiffRow, *, has_key: bool) -> dict[str, object]:
    """With a key: `change`, `key`, `changes` (old and new by column), and the row that only one version has.

    Without: `change`, `times` and the row. Values are as JSON holds them.
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

    Of a row that only one version has, all its values. Not clean yet.
    """
    if row.old is None or row.new is None:
        return _listed(row.new or row.old or {})
    names = sorted(row.changed, key=lambda name: name != first)
    return ", ".join(
        f"{name}: {value_text(row.old.get(name))} {ARROW} {value_text(row.new.get(name))}" for name in names
    )


def value_text(value: object) -> str:
    """A value in a line of many: cut where it is long."""
    if value is None:
        return "null"
    text = str(value).lower() if isinstance(value, bool) else as_text(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + ELLIPSIS


def _listed(values: Values) -> str:
    return ", ".join(f"{name}: {value_text(value)}" for name, value in values.items())
