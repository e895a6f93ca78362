"""Edits of the rows of one table, kept beside the rows as they were read. Nothing is written."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from paimark.core.actions.repair.edits import cell_text, in_zone, is_local_time, why_not
from paimark.core.errors import UsageError
from paimark.core.table.definition.column_types import type_text
from paimark.core.table.records import TableSchema
from paimark.core.text import quoted_if_unclear
from paimark.core.travel.times import zone_of
from paimark.tui.formats import whole_text
from paimark.tui.records.sources import InkText, RowSource

# A value as text for its column, None for NULL.
Cell = str | None
ADD, DELETE, SET = "add", "delete", "set"
SIGNS = {ADD: "+", DELETE: "-", SET: "~", "": " "}


@dataclass
class _RowEdit:
    """`cells` are the new ones; of an added row all that a person gave. Another one has its `row` as read."""

    word: str
    cells: dict[str, Cell] = field(default_factory=dict)
    row: Sequence[object] = ()


class Staging:
    """A source of rows: those that were read, with their edits, and then those that were added.

    A result may have a row twice, so edits are kept by the row's key. Moments are typed and shown in `zone`,
    if that is known.
    """

    def __init__(
        self, schema: TableSchema, names: Sequence[str], rows: RowSource, zone: str | None = None
    ) -> None:
        self.schema, self.names, self.zone = schema, names, zone
        self._moments = {field.name for field in schema.fields if is_local_time(field.type)}
        self._rows = rows
        self._keys = [names.index(name) for name in schema.primary_keys]
        self._edits: dict[tuple[Cell, ...], _RowEdit] = {}
        self._added: list[_RowEdit] = []

    # As a source of rows

    def __len__(self) -> int:
        return len(self._rows) + len(self._added)

    def row(self, index: int) -> Sequence[object]:
        if index >= len(self._rows):
            cells = self._added[index - len(self._rows)].cells
            return [
                InkText(self._said(name, cells[name]), "good") if name in cells else None
                for name in self.names
            ]
        row, edit = self._rows.row(index), self._edit(index)
        if edit is None:
            return row
        if edit.word == DELETE:
            return [InkText(_text(value), "bad") for value in row]
        return [
            InkText(f"{_text(value)} -> {self._said(name, edit.cells[name])}", "warn")
            if name in edit.cells
            else value
            for name, value in zip(self.names, row, strict=True)
        ]

    def key(self, index: int) -> Hashable:
        return index

    def find(self, key: Hashable) -> int | None:
        return key if isinstance(key, int) and key < len(self) else None

    # The edits

    @property
    def count(self) -> int:
        """The number of edited rows."""
        return len(self._edits) + len(self._added)

    def sign(self, index: int) -> str:
        """`+`, `-` or `~`, that tells an edit without colour."""
        edit = self._edit(index)
        return SIGNS[edit.word if edit is not None else ""]

    def text(self, index: int, column: int) -> str:
        """The present text of a cell, to edit it; empty for NULL."""
        name, edit = self.names[column], self._edit(index)
        if edit is not None and name in edit.cells:
            return self._in_zone(name, edit.cells[name]) or ""
        value = None if index >= len(self._rows) else self._rows.row(index)[column]
        return "" if value is None else whole_text(value)

    def why_not(self, index: int, column: int) -> str:
        """Why a cell can't be edited; empty if it can."""
        name, edit = self.names[column], self._edit(index)
        if edit is not None and edit.word == DELETE:
            return "This row is to be deleted"
        if name in self.schema.primary_keys and index < len(self._rows):
            return f"{name} is in the key: another key is another row, so delete this one and add one"
        kinds = {each.name: type_text(each.type) for each in self.schema.fields}
        if name not in kinds:
            return f"The table has no column {name}"
        reason = why_not(kinds[name])
        return f"{name} is {kinds[name]}: {reason}" if reason else ""

    def set_cell(self, index: int, column: int, text: Cell) -> None:
        """Raises `UsageError` for what is no value of the column."""
        name = self.names[column]
        if text is not None and self.zone is not None and name in self._moments:
            text = in_zone(text, self.zone)
        value = cell_text(self.schema, name, text)
        if index >= len(self._rows):
            self._added[index - len(self._rows)].cells[name] = value
            return
        key, edit = self._key(index), self._edit(index) or _RowEdit(SET, row=self._rows.row(index))
        old, edit.cells[name] = self._rows.row(index)[column], value
        # What is there may be none that could be typed, as NaN.
        with suppress(UsageError):
            if value == (None if old is None else cell_text(self.schema, name, whole_text(old))):
                del edit.cells[name]
        self._edits[key] = edit
        if not edit.cells:
            del self._edits[key]

    def add(self) -> int:
        """Stage an empty row, and return its index."""
        self._added.append(_RowEdit(ADD))
        return len(self) - 1

    def delete(self, index: int) -> None:
        """Stage the deletion of a row, or take that back; an added row is dropped."""
        edit = self._edit(index)
        if edit is not None and edit.word != SET:
            self.take_back(index)
        else:
            self._edits[self._key(index)] = _RowEdit(DELETE, row=self._rows.row(index))

    def take_back(self, index: int) -> None:
        """Drop the edits of a row."""
        if index >= len(self._rows):
            del self._added[index - len(self._rows)]
        else:
            self._edits.pop(self._key(index), None)

    def lines(self, *, tells_old: bool = False) -> str:
        """The edits as a file for `edit-rows`. Raises `UsageError` for an added row without its key.

        `tells_old`: also the cells as they were read, because no snapshot has them any more.
        """
        keys, made = self.schema.primary_keys, list[dict[str, object]]()
        for values, edit in self._edits.items():
            does = {DELETE: True} if edit.word == DELETE else {SET: edit.cells}
            old = {"was": self._old(edit)} if tells_old else {}
            made.append({"key": dict(zip(keys, values, strict=True)), **does, **old})
        for edit in self._added:
            if lacking := [name for name in keys if edit.cells.get(name) is None]:
                raise UsageError(f"An added row has no {', '.join(lacking)}, which its key has", "")
            cells = {name: value for name, value in edit.cells.items() if name not in keys}
            made.append({"key": {name: edit.cells[name] for name in keys}, ADD: cells})
        return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in made)

    def _old(self, edit: _RowEdit) -> dict[str, Cell]:
        """The cells that are edited, as they were read; of a row that goes all."""
        found: dict[str, Cell] = {}
        fields = (each for each in self.schema.fields if each.name not in self.schema.primary_keys)
        known = {each.name for each in fields if not why_not(type_text(each.type))}
        for name, value in zip(self.names, edit.row, strict=True):
            if name in known and (edit.word == DELETE or name in edit.cells):
                # What has no exact text is not compared.
                with suppress(UsageError):
                    text = None if value is None else cell_text(self.schema, name, whole_text(value))
                    found[name] = text
        return found

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Each edited row by its key, and what changes."""
        keys = self.schema.primary_keys
        found = []
        for values, edit in self._edits.items():
            name = ", ".join(
                f"{key}={self._said(key, value)}" for key, value in zip(keys, values, strict=True)
            )
            found.append((f"{SIGNS[edit.word]} {name}", self._cells(edit) or "deleted"))
        return [*found, *((SIGNS[ADD], self._cells(edit) or "an empty row") for edit in self._added)]

    def zone_of(self, column: int) -> str:
        """The zone of the moments in a column; empty if it has none."""
        return (self.zone or "") if self.names[column] in self._moments else ""

    def _cells(self, edit: _RowEdit) -> str:
        return ", ".join(f"{name} -> {self._said(name, value)}" for name, value in edit.cells.items())

    def _said(self, name: str, value: Cell) -> str:
        return "NULL" if value is None else quoted_if_unclear(self._in_zone(name, value) or "")

    def _in_zone(self, name: str, value: Cell) -> Cell:
        if value is None or self.zone is None or name not in self._moments:
            return value
        return str(datetime.fromisoformat(value).astimezone(zone_of(self.zone)))

    def _edit(self, index: int) -> _RowEdit | None:
        if index >= len(self._rows):
            return self._added[index - len(self._rows)]
        # A row of an outer join may have no key: it has no edit.
        with suppress(UsageError):
            return self._edits.get(self._key(index)) if self._edits else None
        return None

    def _key(self, index: int) -> tuple[Cell, ...]:
        """Raises `UsageError` for a key without an exact text."""
        row = self._rows.row(index)
        values = (None if row[place] is None else whole_text(row[place]) for place in self._keys)
        return tuple(
            cell_text(self.schema, name, value)
            for name, value in zip(self.schema.primary_keys, values, strict=True)
        )


def _text(value: object) -> str:
    return "NULL" if value is None else whole_text(value)
