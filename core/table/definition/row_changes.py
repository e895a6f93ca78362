"""Which rows of a table can be deleted, updated and merged: as Paimon itself allows it, by the kind of table.

`docs/tables.md` shows the same rules to people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from paimark.core.table.definition.kind_signs import (
    column_files,
    hides_written_rows,
    ignored_deletes,
    is_on,
    merge_engine,
)
from paimark.core.table.definition.kinds import WriteRefusal
from paimark.core.table.records import TableSchema

Command = Literal["delete", "update", "merge"]
# The names of these statements among the actions.
ACTIONS: Mapping[str, str] = {"delete": "delete-from", "update": "update", "merge": "merge-into"}
# By the merge engine: options, of which one lets the table delete rows.
_DELETE_BY: Mapping[str, tuple[str, ...]] = {
    "partial-update": (
        "partial-update.remove-record-on-delete",
        "partial-update.remove-record-on-sequence-group",
    ),
    "aggregation": ("aggregation.remove-record-on-delete",),
}
_UPDATED = ("deduplicate", "partial-update")
# What pypaimon has for tables with data evolution; its messages are committed as those of a write.
_BY_COLUMN = "table.new_batch_write_builder().new_update().update_by_predicate(predicate, {column: value})"
_ROWKIND = "rowkind.field"


def change_rules(schema: TableSchema, command: str) -> list[WriteRefusal]:
    """Why its rows can't be changed by that `Command`, where INSERT INTO works; empty if they can."""
    options = schema.options
    if is_on(options, "data-evolution.enabled"):
        return _rules_of_evolution(schema, command)
    if not schema.primary_keys:
        return []
    if hides_written_rows(schema):
        hint = "Change them with the engine that made it."
        return [WriteRefusal("shows rows when they are compacted, and rows to change are not all seen", hint)]
    if column := options.get(_ROWKIND):
        hint = "INSERT INTO it rows with -D in that column."
        return [WriteRefusal(f"has a column that says what a row does ({_ROWKIND} is {column})", hint)]
    engine = merge_engine(options)
    if command != "delete":
        if engine in _UPDATED:
            return []
        reason = f"gets no other rows by {command.upper()} (merge-engine is {engine})"
        hint = "INSERT INTO it rows of the same keys: it merges them by its own rules."
        return [WriteRefusal(reason, hint)]
    if ignored := ignored_deletes(options):
        hint = f"Without {ignored} it deletes rows: ALTER TABLE t SET TBLPROPERTIES ('{ignored}' = 'false')."
        return [WriteRefusal(f"ignores deletes ({ignored} is true), and would keep its rows", hint)]
    ways = _DELETE_BY.get(engine, ())
    if engine == "deduplicate" or any(_is_set(options.get(way)) for way in ways):
        return []
    hint = f"The option {ways[0]} lets it delete rows." if ways else "INSERT OVERWRITE it without them."
    return [WriteRefusal(f"deletes no rows (merge-engine is {engine})", hint)]


def _rules_of_evolution(schema: TableSchema, command: str) -> list[WriteRefusal]:
    if command == "delete":
        hint = "INSERT OVERWRITE it with the rows that stay."
        return [WriteRefusal("deletes no rows (data-evolution.enabled is true)", hint)]
    if reason := column_files(schema):
        hint = f"pypaimon writes a column beside them: {_BY_COLUMN}."
        return [WriteRefusal(f"keeps columns in files of their own ({reason})", hint)]
    return []


def all_change_rules(schema: TableSchema) -> list[WriteRefusal]:
    """Why its rows can't be changed and deleted at will."""
    return [*change_rules(schema, "merge"), *change_rules(schema, "delete")]


def takes_any_change(schema: TableSchema) -> bool:
    """Whether rows that are added can make any row of a key any other one, and can delete it.

    Not by `sequence.field`: there an older row is left out.
    """
    return (
        bool(schema.primary_keys)
        and not schema.options.get("sequence.field")
        and not all_change_rules(schema)
    )


def _is_set(value: str | None) -> bool:
    """Of an option that is true, or names something."""
    return (value or "false").strip().lower() != "false"
