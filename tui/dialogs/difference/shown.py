"""The lists, lines and facts of the difference of two versions, made from totals and rows. Pure.

Also which of its rows are to become again what they were in its older version.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from paimark.core.export.difference_rows import in_short
from paimark.core.figures import counted
from paimark.core.text import clean_text, quoted_if_unclear
from paimark.core.travel.diff.diff import Difference
from paimark.core.travel.diff.rows import Change, DiffRow, Totals
from paimark.tui.formats import whole_text
from paimark.tui.query.ready_statements import EXACT
from paimark.tui.records.sources import GridColumn, Records
from paimark.tui.theme import Line
from paimark.tui.widgets.detail_strip import Detail, Fact

# How many rows are read at a time.
PAGE_ROWS = 500
SIGNS: Mapping[Change, str] = {"added": "+ added", "removed": "- removed", "changed": "~ changed"}
CHOICE_COLUMNS = (GridColumn("what", most=30), GridColumn("rows", "number"))
# All changes of a row are in one column, so it takes the remaining width.
_WIDEST = 400
# A key as text, which stays the same over pages.
Marked = dict[str, DiffRow]


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice of rows: those of a kind of change, or those in which a column changed; None for all.

    A row that occurs several times counts once in `lines`.
    """

    only: Change | int | None
    label: str
    rows: int
    lines: int


def choices(difference: Difference, totals: Totals) -> list[Choice]:
    """All rows, each kind of change, then the columns that changed, the most changed first."""
    kinds = [
        Choice(each, SIGNS[each], totals.changes.get(each, 0), totals.lines.get(each, 0))
        for each in difference.changes
    ]
    columns = [
        Choice(place, f"  {difference.pairs[place].name}", count, count)
        for place, count in totals.columns.items()
    ]
    lines = sum(totals.lines.values())
    return [Choice(None, "all", totals.rows, lines), *kinds, *sorted(columns, key=lambda each: -each.rows)]


def choice_rows(listed: Sequence[Choice]) -> Records[Choice]:
    return Records(listed, lambda each: (each.label, each.rows), lambda each: str(each.only))


def columns_of(difference: Difference) -> tuple[GridColumn, ...]:
    """The kind of change, the key, and the changes in one column."""
    keys = tuple(GridColumn(pair.name, "id", most=24, nothing="null") for pair in difference.keys)
    if keys:
        return (GridColumn("change"), *keys, GridColumn("what changed", most=_WIDEST))
    return (GridColumn("change"), GridColumn("times", "number"), GridColumn("row", most=_WIDEST))


def rows_shown(
    difference: Difference, rows: Sequence[DiffRow], first: str | None, marked: Container[str] = ()
) -> Records[DiffRow]:
    """`first` is the column whose change is named first."""

    def values(row: DiffRow) -> Sequence[object]:
        lead: tuple[object, ...] = tuple(row.key.values()) if difference.keys else (row.times,)
        mark = "* " if key_of(row) in marked else ""
        return mark + SIGNS[row.change], *lead, in_short(row, first)

    return Records(rows, values, lambda row: (row.change, repr(row.key), id(row)))


def total_line(difference: Difference, totals: Totals) -> Line:
    if not totals.rows:
        return [("No row differs", "strong")]
    counts = ", ".join(f"{totals.changes.get(change, 0):,} {change}" for change in difference.changes)
    rows = difference.row_counts
    of_each = (
        ""
        if rows is None
        else f"   {difference.old.label} has {rows[0]:,} rows, {difference.new.label} {rows[1]:,}"
    )
    return [(counts, "strong"), (clean_text(of_each), "quiet")]


def position_line(choice: Choice, start: int, shown: int, *, by_most: bool, has_key: bool) -> Line:
    """The range of the chosen rows that is shown, and their order."""
    order = ("most changed first" if has_key else "most often first") if by_most else "in the order of keys"
    if not has_key and not by_most:
        order = "in the order of columns"
    one = "row" if has_key else "different row"
    if choice.lines > shown:
        here = f"{one}s {start + 1:,} to {start + shown:,} of {choice.lines:,}"
    else:
        here = counted(choice.lines, one)
    what = "" if choice.only is None else f" {choice.label.strip('+-~ ')}"
    if isinstance(choice.only, int):
        what = f" in which {clean_text(choice.label.strip())} changed"
    return [(here + what, ""), (f"  {order}", "quiet")]


def facts_of(difference: Difference, row: DiffRow) -> Detail:
    """All values of a row by name: the differing ones of both sides, then the equal ones."""
    old, new = difference.old.label, difference.new.label
    values: list[tuple[str, object]] = [("change", row.change), *row.key.items()]
    if row.old is not None and row.new is not None:
        for name in row.changed:
            values += [(f"{name} in {old}", row.old.get(name)), (f"{name} in {new}", row.new.get(name))]
        changed = {*row.changed}
        same = {name: value for name, value in {**row.old, **row.new}.items() if name not in changed}
    else:
        same = {**(row.new or row.old or {})}
    if row.times > 1:
        values.append(("times", row.times))
    values += same.items()
    facts = tuple(Fact(name, _text(value), value) for name, value in values)
    title = " ".join(_text(value) for value in row.key.values())
    return Detail(f"{row.change} row {title}".strip(), facts)


def copied(row: DiffRow) -> str:
    """A row as text for other programs: its key, and its changes."""
    return "\t".join([row.change, *(_text(value) for value in row.key.values()), in_short(row)])


def _text(value: object) -> str:
    if isinstance(value, str):
        return quoted_if_unclear(value)
    return "null" if value is None else whole_text(value)


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
