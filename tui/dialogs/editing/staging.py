"""Edits of the rows of one table, kept beside the rows as they were read. Nothing is written."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from paimark.core.actions.repair.edits import cell_text, why_not
from paimark.core.errors import UsageError
from paimark.core.table.definition.column_types import type_text
from paimark.core.table.records import TableSchema
from paimark.core.text import quoted_if_unclear
from paimark.tui.formats import whole_text
from paimark.tui.records.sources import InkText, RowSource

# A value as text for its column, None for NULL.
Cell = str | None
ADD, DELETE, SET = "add", "delete", "set"
SIGNS = {ADD: "+", DELETE: "-", SET: "~", "": " "}


@dataclass
class _RowEdit:
    """`cells` are the new ones; of an added row all that a person gave."""

    word: str
    cells: dict[str, Cell] = field(default_factory=dict)


class Staging:
    """A source of rows: those that were read, with their edits, and then those that were added.

    A result may have a row twice, so edits are kept by the row's key.
    """

    def __init__(self, schema: TableSchema, names: Sequence[str], rows: RowSource) -> None:
        self.schema, self.names = schema, names
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
            return [_ink(cells[name], "good") if name in cells else None for name in self.names]
        row, edit = self._rows.row(index), self._edit(index)
        if edit is None:
            return row
        if edit.word == DELETE:
            return [InkText(_text(value), "bad") for value in row]
        return [
            InkText(f"{_text(value)} -> {_said(edit.cells[name])}", "warn") if name in edit.cells else value
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
            return edit.cells[name] or ""
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
        value = cell_text(self.schema, name, text)
        if index >= len(self._rows):
            self._added[index - len(self._rows)].cells[name] = value
            return
        key, edit = self._key(index), self._edit(index) or _RowEdit(SET)
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
            self._edits[self._key(index)] = _RowEdit(DELETE)

    def take_back(self, index: int) -> None:
        """Drop the edits of a row."""
        if index >= len(self._rows):
            del self._added[index - len(self._rows)]
        else:
            self._edits.pop(self._key(index), None)

    @property
    def lines(self) -> str:
        """The edits as a file for `edit-rows`. Raises `UsageError` for an added row without its key."""
        keys, made = self.schema.primary_keys, list[dict[str, object]]()
        for values, edit in self._edits.items():
            key = dict(zip(keys, values, strict=True))
            made.append({"key": key, **({DELETE: True} if edit.word == DELETE else {SET: edit.cells})})
        for edit in self._added:
            if lacking := [name for name in keys if edit.cells.get(name) is None]:
                raise UsageError(f"An added row has no {', '.join(lacking)}, which its key has", "")
            cells = {name: value for name, value in edit.cells.items() if name not in keys}
            made.append({"key": {name: edit.cells[name] for name in keys}, ADD: cells})
        return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in made)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """Each edited row by its key, and what changes."""
        keys = self.schema.primary_keys
        found = []
        for values, edit in self._edits.items():
            name = ", ".join(f"{key}={_said(value)}" for key, value in zip(keys, values, strict=True))
            found.append((f"{SIGNS[edit.word]} {name}", _cells(edit) or "deleted"))
        return [*found, *((SIGNS[ADD], _cells(edit) or "an empty row") for edit in self._added)]

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


def _cells(edit: _RowEdit) -> str:
    return ", ".join(f"{name} -> {_said(value)}" for name, value in edit.cells.items())


def _said(value: Cell) -> str:
    return "NULL" if value is None else quoted_if_unclear(value)


def _text(value: object) -> str:
    return "NULL" if value is None else whole_text(value)


def _ink(value: Cell, ink: str) -> InkText:
    return InkText(_said(value), ink)
