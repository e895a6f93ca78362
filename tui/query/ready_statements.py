"""Statements that the palette and keys put into the query pane: questions, and a script to try."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from paimark.core.errors import UsageError
from paimark.core.quoting import literal
from paimark.core.storage.files import Files
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.names import split_name, split_system_name
from paimark.tui.session import Target

# Values that are the same as a text, in Spark and here; a moment is a date too.
EXACT = (str, int, date, Decimal)


def when_statement(of: Target) -> str:
    """It asks since when; the person writes the condition."""
    return _call("when", of.table, of.branch, "condition => ''")


def holders_statement(of: Target) -> str:
    """It asks who still holds some rows; the person writes the condition."""
    return _call("holders", of.table, None, "where => ''")


def try_statement(of: Target) -> str:
    """It tries a script on a branch; the person writes the file."""
    return _call("try", of.table, None, "file => ''")


def history_statement(files: Files, label: str, row: Mapping[str, Any]) -> str:
    """It asks what happened to a row of the table that a query calls `label`: `shop.orders$branch_b`.

    The row is named by its key, or without one by all its values that are the same as a text. Raises
    `UsageError` if the row has not the whole key, or nothing to name it by.
    """
    table, branch = table_of(label)
    schema = Lineage(files, branch_root(files, table, branch)).require_schema()
    known = {
        each.name: str(row[each.name]).lower() if isinstance(row[each.name], bool) else str(row[each.name])
        for each in schema.fields
        if isinstance(row.get(each.name), EXACT) and "," not in str(row[each.name])
    }
    keys = schema.primary_keys or tuple(known)
    if lacking := [each for each in keys if each not in known]:
        raise UsageError(f"The row has no {', '.join(lacking)}, which its key has", "Select it, too.")
    if not keys:
        raise UsageError(f"The row has no column of {label} to name it by", "Select one.")
    key = ", ".join(f"{each}={known[each]}" for each in keys)
    return _call("history", table, branch, f"key => {literal(key)}")


def blame_statement(files: Files, label: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """It asks which commit wrote each of these rows last. Raises `UsageError` as `history_statement`."""
    table, branch = table_of(label)
    schema = Lineage(files, branch_root(files, table, branch)).require_schema()
    if not (names := schema.primary_keys):
        raise UsageError(f"{label} has no primary key: its rows are not told apart", "")
    found = dict.fromkeys(_key_of(names, row) for row in rows)
    text = ", ".join(key[0] for key in found)
    if len(names) > 1 or "," in "".join(key[0] for key in found):
        text = json.dumps([dict(zip(names, key, strict=True)) for key in found], ensure_ascii=False)
    return _call("blame", table, branch, f"keys => {literal(text)}")


def _key_of(names: Sequence[str], row: Mapping[str, Any]) -> tuple[str, ...]:
    for name in names:
        if not isinstance(row.get(name), EXACT):
            raise UsageError(f"A row has no {name}, which its key has", "Select it, too.")
    return tuple(str(row[name]) for name in names)


def table_of(label: str) -> tuple[TablePath, str | None]:
    """The table that a query calls so, and its branch. Raises `UsageError` for a system table."""
    database, rest = split_name(label)
    name = split_system_name(rest)
    if name.system is not None:
        raise UsageError(f"{label} is a system table: its rows are of no table", "")
    return TablePath(database, name.table), name.branch


def _call(procedure: str, table: TablePath, branch: str | None, argument: str) -> str:
    on_branch = "" if branch is None else f", branch => {literal(branch)}"
    return f"CALL sys.{procedure}(table => {literal(table.full_name)}{on_branch}, {argument})"
