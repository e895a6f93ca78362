"""Apply changes to a table's definition, by the rules of Paimon's own `SchemaManager`.

A column id is given only once, so that existing files keep their meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from paimark.core.actions.names import unseen_reason
from paimark.core.actions.schema.types import paimon_type, widened
from paimark.core.durations import parse_interval
from paimark.core.errors import UsageError
from paimark.core.redaction import shown_value
from paimark.core.table.definition.column_types import nullable
from paimark.core.table.definition.kind_signs import is_on
from paimark.core.table.definition.option_types import require_value
from paimark.core.table.definition.retention import RETENTION_OFF, require_consistent
from paimark.core.table.names import near_names
from paimark.core.table.records import SchemaField, TableSchema
from paimark.core.travel.parse.tokens import keywords
from paimark.core.travel.statements.alters import SchemaChange

# The columns that engines themselves add to rows, in files and in merging.
_SYSTEM_NAMES = frozenset({"_sequence_number", "_value_kind", "_level", "_row_id", "rowkind"})
_SYSTEM_PREFIXES = ("_key_", "__paimark")
_LONGEST_NAME = 200
# Options whose value is a list of columns, by the end of the option's name.
_NAME_COLUMNS = (".field", ".fields", "-field", "-fields", "-key", ".columns", ".sequence-group", ".keys")
# Options that Paimon never changes once there are rows, and options that define where and how the files lie.
# Stock Paimon lets some of them be changed, and then finds no rows.
_FIXED = keywords(
    """type path branch primary-key primary-key.nullable partition bucket bucket-key bucket-function.type
    merge-engine sequence.field sequence.snapshot-ordering rowkind.field force-lookup
    data-file.path-directory data-file.external-paths index-file-in-data-file-dir row-tracking.enabled
    data-evolution.enabled deletion-vectors.enabled aggregation.remove-record-on-delete
    manifest.format partition.default-name partition.legacy-name
    partial-update.remove-record-on-delete partial-update.remove-record-on-sequence-group
    dynamic-bucket.initial-buckets blob-field blob-descriptor-field blob-view-field video-frame-field
    blob-external-storage-field blob-external-storage-path pk-clustering-override"""
)
_FIXED_HINT = "It says how the rows lie that are there: make a new table with it, and copy the rows."


@dataclass
class _Draft:
    """The new definition while changes are applied to it."""

    name: str
    is_branch: bool
    fields: list[SchemaField]
    highest_id: int
    options: dict[str, str]
    partition_keys: list[str]
    primary_keys: list[str]
    undo: list[tuple[str, str]] | None = field(default_factory=list)
    clauses: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Changed:
    """`schema` is the new definition, None if nothing changes; `clauses` has one clause per change.

    `undo` are changes, by their kind, that take these back; None if some can't be taken back.
    """

    schema: TableSchema | None
    clauses: tuple[str, ...]
    undo: tuple[tuple[str, str], ...] | None


def changed(
    schema: TableSchema, changes: Iterable[SchemaChange], *, name: str, is_branch: bool, now_ms: int
) -> Changed:
    """The definition after `schema`, with the changes applied in their order; `name` is the table's.

    Raises `UsageError` for an impossible change.
    """
    draft = _Draft(
        name,
        is_branch,
        list(schema.fields),
        schema.highest_field_id,
        dict(schema.options),
        schema.partition_keys,
        schema.primary_keys,
    )
    for change in changes:
        _BY_KIND[change.kind](draft, change)
    if any(change.kind in ("set", "unset") for change in changes):
        require_consistent(draft.options)
    new = msgspec.structs.replace(
        schema,
        id=schema.id + 1,
        fields=draft.fields,
        highest_field_id=draft.highest_id,
        options=draft.options,
        time_millis=now_ms,
    )
    is_same = (new.fields, new.options) == (schema.fields, schema.options)
    undo = None if draft.undo is None else tuple(reversed(draft.undo))
    return Changed(None if is_same else new, tuple(draft.clauses), undo)


def _add(draft: _Draft, change: SchemaChange) -> None:
    _require_free(draft, change.name)
    draft.highest_id += 1
    new = SchemaField(
        id=draft.highest_id, name=change.name, type=paimon_type(change.value), description=change.comment
    )
    index = len(draft.fields)
    if change.after == "":
        index = 0
    elif change.after is not None:
        index = _place(draft, change.after) + 1
    elif is_on(draft.options, "add-column-before-partition"):
        names = [each.name for each in draft.fields]
        index = min((names.index(key) for key in draft.partition_keys), default=index)
    draft.fields.insert(index, new)
    draft.clauses.append(f"add column {change.name} {new.type}")
    _undone_by(draft, "drop", str(SchemaChange("drop", change.name)))


def _drop(draft: _Draft, change: SchemaChange) -> None:
    if change.if_exists and change.name not in [each.name for each in draft.fields]:
        return
    index = _place(draft, change.name)
    _require_unused(draft, change.name, "dropped")
    if len(draft.fields) == 1:
        raise UsageError(f"{draft.name} would be left without a column", "Drop the table instead.")
    del draft.fields[index]
    draft.clauses.append(f"drop column {change.name}")
    draft.undo = None


def _rename(draft: _Draft, change: SchemaChange) -> None:
    index = _place(draft, change.name)
    _require_unused(draft, change.name, "renamed")
    is_case_only = change.name.lower() == change.value.lower() and change.name != change.value
    _require_free(draft, change.value, but=change.name if is_case_only else None)
    draft.fields[index] = msgspec.structs.replace(draft.fields[index], name=change.value)
    draft.clauses.append(f"rename column {change.name} to {change.value}")
    if unseen_reason(change.name, "a column"):
        # Another engine gave it that name, which Paimark does not give.
        draft.undo = None
    _undone_by(draft, "rename", str(SchemaChange("rename", change.value, change.name)))


def _widen(draft: _Draft, change: SchemaChange) -> None:
    index = _place(draft, change.name)
    if change.name in (*draft.partition_keys, *draft.primary_keys):
        raise UsageError(f"Column {change.name} is a key of {draft.name}, and its type stays", "")
    old = draft.fields[index]
    new = widened(old, change.value)
    if new == old.type:
        return
    draft.fields[index] = msgspec.structs.replace(old, type=new)
    draft.clauses.append(f"make column {change.name} {new}")
    draft.undo = None


def _make_nullable(draft: _Draft, change: SchemaChange) -> None:
    index = _place(draft, change.name)
    if change.name in draft.primary_keys:
        raise UsageError(f"Column {change.name} is of the primary key of {draft.name}, which is never null")
    old = draft.fields[index]
    if (new := nullable(old.type)) == old.type:
        return
    draft.fields[index] = msgspec.structs.replace(old, type=new)
    draft.clauses.append(f"let column {change.name} be null")
    draft.undo = None


def _set(draft: _Draft, change: SchemaChange) -> None:
    old = draft.options.get(change.name)
    if old == change.value:
        return
    # A branch that another engine made may get the options that Paimark's have from the start.
    is_protecting = draft.is_branch and RETENTION_OFF.get(change.name) == change.value
    if not is_protecting:
        _require_free_option(draft, change.name)
    if change.name == "savepoint.create-interval":
        parse_interval(change.value)
    require_value(change.name, change.value)
    draft.options[change.name] = change.value
    draft.clauses.append(f"set {change.name} to {shown_value(change.name, change.value)}")
    if is_protecting:
        draft.undo = None
    elif old is None:
        _undone_by(draft, "unset", str(SchemaChange("unset", change.name)))
    else:
        _undone_by(draft, "set", str(SchemaChange("set", change.name, old)))


def _unset(draft: _Draft, change: SchemaChange) -> None:
    old = draft.options.get(change.name)
    if old is None:
        # As in Spark: unsetting an absent option does nothing.
        return
    _require_free_option(draft, change.name)
    del draft.options[change.name]
    draft.clauses.append(f"unset {change.name}")
    _undone_by(draft, "set", str(SchemaChange("set", change.name, old)))


_BY_KIND: Mapping[str, Callable[[_Draft, SchemaChange], None]] = {
    "add": _add,
    "drop": _drop,
    "rename": _rename,
    "widen": _widen,
    "nullable": _make_nullable,
    "set": _set,
    "unset": _unset,
}


def _undone_by(draft: _Draft, kind: str, text: str) -> None:
    if draft.undo is not None:
        draft.undo.append((kind, text))


def _place(draft: _Draft, name: str) -> int:
    names = [each.name for each in draft.fields]
    if name not in names:
        hint = near_names(name, names) or f"It has {', '.join(names)}."
        raise UsageError(f"{draft.name} has no column {name}", hint)
    return names.index(name)


def _require_free(draft: _Draft, name: str, but: str | None = None) -> None:
    """Raises `UsageError` for an invalid column name, or one that a column has, ignoring case."""
    hint = "Choose another name."
    if not name.strip() or name != name.strip():
        raise UsageError("The name of a column can't be blank, or begin or end with one", hint)
    if reason := unseen_reason(name, "a column"):
        raise UsageError(reason, hint)
    if "." in name:
        raise UsageError(f"Column {name} can't have a dot: it would mean a part of a column", hint)
    if len(name.encode()) > _LONGEST_NAME:
        raise UsageError(f"The name of a column can't be longer than {_LONGEST_NAME} bytes", hint)
    if name.lower() in _SYSTEM_NAMES or name.lower().startswith(_SYSTEM_PREFIXES):
        raise UsageError(f"Column names like {name} are given by the engines", hint)
    for each in draft.fields:
        if each.name != but and each.name.lower() == name.lower():
            # Spark takes names that differ only in case for the same.
            raise UsageError(f"{draft.name} has a column {each.name} already", hint)


def _require_unused(draft: _Draft, name: str, done: str) -> None:
    """Raises `UsageError` for a column that a key or an option names."""
    for keys, what in ((draft.partition_keys, "partitions"), (draft.primary_keys, "the primary key")):
        if name in keys:
            raise UsageError(f"Column {name} of {draft.name} is of {what}, and can't be {done}")
    for option, value in draft.options.items():
        of_field = option.startswith("fields.") and name in option.split(".")[1].split(",")
        named = option in _FIXED or option.endswith(_NAME_COLUMNS)
        if of_field or (named and name in (each.strip() for each in value.split(","))):
            reason = f"Option {option} of {draft.name} names column {name}, which can't be {done}"
            raise UsageError(reason, "Unset the option first, where it can be.")


def _require_free_option(draft: _Draft, option: str) -> None:
    if option in _FIXED:
        raise UsageError(f"Option {option} of {draft.name} can't be changed", _FIXED_HINT)
    if not option.strip():
        raise UsageError("The name of an option can't be blank")
    if reason := unseen_reason(option, "an option"):
        raise UsageError(reason)
    if draft.is_branch and option in RETENTION_OFF:
        reason = f"Option {option} keeps stock expiry off this branch of {draft.name}, and stays"
        raise UsageError(reason, "Without it stock engines would destroy what savepoints keep.")
