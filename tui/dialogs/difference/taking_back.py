"""The rows of a difference that are to become again what they were in its older version."""

from __future__ import annotations

import json
from collections.abc import Iterable

from paimark.core.travel.diff.diff import Difference
from paimark.core.travel.diff.rows import DiffRow
from paimark.tui.query.asking import EXACT

# A key as text, which stays the same over pages.
Marked = dict[str, DiffRow]


def key_of(row: DiffRow) -> str:
    return repr(tuple(row.key.values()))


def why_not(difference: Difference) -> str:
    """Why `restore-rows` can't take rows of it; empty if it can."""
    keys = {pair.name for pair in difference.keys}
    if not keys or keys != {*difference.new.schema.primary_keys}:
        return "Without a primary key no row is taken back by itself: :restore-rows takes a condition"
    if difference.old.snapshot is None:
        return f"{difference.old.label} has no rows yet"
    if difference.old.root != difference.new.root:
        return f"{difference.old.label} and {difference.new.label} are of two branches: merge them"
    return ""


def arguments_of(difference: Difference, rows: Iterable[DiffRow]) -> dict[str, object] | None:
    """The arguments of `restore-rows`; None if a key has no exact text."""
    keys = [dict(row.key) for row in rows]
    if not all(isinstance(value, EXACT) for key in keys for value in key.values()):
        return None
    assert difference.old.snapshot is not None
    texts = [{name: str(value) for name, value in key.items()} for key in keys]
    arguments: dict[str, object] = {
        "from_version": difference.old.name or f"snapshot.{difference.old.snapshot.id}",
        "keys": json.dumps(texts, ensure_ascii=False),
    }
    if not difference.is_main[1]:
        arguments["branch"] = difference.new.root.label
    return arguments
