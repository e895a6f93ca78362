"""Which rows are meant: a condition, some partitions, or keys, as one condition in SQL."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from paimark.core.actions.checks import text_argument
from paimark.core.actions.compaction.candidates import partition_parts
from paimark.core.actions.repair.edits import cell_text, spark_type, why_not
from paimark.core.actions.rewrite.spark_rewrite import QueryRefused
from paimark.core.errors import Refused, UsageError
from paimark.core.quoting import literal, quoted
from paimark.core.table.definition.column_types import FRACTIONS, ColumnType, type_text
from paimark.core.table.names import near_names
from paimark.core.table.records import TableSchema
from paimark.core.travel.parse.tokens import tokenize
from paimark.core.travel.when import require_condition
from paimark.core.working_directory import absolute

_WAYS = ("where", "partition", "keys")
# Of more keys the condition would be too long to plan.
MOST_KEYS = 1000
_QUERIES = ("SELECT", "VALUES", "TABLE")
_NO_PARTITION = ("NULL", "__DEFAULT_PARTITION__")


def meant_rows(schema: TableSchema, arguments: Mapping[str, object]) -> str:
    """The condition. Raises `UsageError` if no condition is given, or an invalid one."""
    given = {name: text for name in _WAYS if (text := text_argument(arguments, name)) is not None}
    if len(given) != 1:
        named = " and ".join(f"--{name}" for name in given)
        raise UsageError(
            f"{named} can't be together" if given else "It is not said which rows are meant",
            "Give one of --where, --partition and --keys.",
        )
    [(name, text)] = given.items()
    if name == "where":
        condition = require_condition(text)
        if found := [each.upper for each in tokenize(text) if each.upper in _QUERIES]:
            raise UsageError(
                f"There is a {found[0]} in the condition", "Write one about the columns of one row."
            )
        return condition
    if name == "partition":
        return _partition(schema, text)
    return _keys(schema, text)


@contextmanager
def errors_of_condition(condition: str) -> Iterator[None]:
    """Errors of queries within it speak of the condition as a person wrote it, and not of what is around it.

    It stands in the queries as `require_condition` returns it. Raises `UsageError` if it is none.
    """
    try:
        yield
    except QueryRefused as error:
        written = condition[1:-1].rstrip()
        if (place := _place_in(condition, error)) is None:
            raise
        if place >= len(written):
            # Spark stopped at our bracket.
            hint = "Something is missing at its end, or a word is too many."
            raise UsageError(f"{written} is not one condition", hint) from error
        message = f"{error.message}, at character {place + 1} of the condition"
        raise Refused(message, error.hint) from error


def _place_in(condition: str, error: QueryRefused) -> int | None:
    """Where in the condition, behind its bracket, an error is; None if it is elsewhere."""
    if error.position is None:
        return None
    start = error.sql.rfind(condition, 0, error.position + len(condition))
    place = error.position - start - 1
    return place if start >= 0 and 0 <= place < len(condition) else None


def values_condition(schema: TableSchema, values: Mapping[str, Any]) -> str:
    """The condition that columns have these values, None for NULL.

    Raises `UsageError` for an invalid value.
    """
    kinds = {field.name: field.type for field in schema.fields}
    parts = []
    for name, value in values.items():
        if name not in kinds:
            raise UsageError(f"The table has no column {name}", near_names(name, kinds))
        if value is None:
            parts.append(f"{quoted(name)} IS NULL")
            continue
        text = value if isinstance(value, str) else json.dumps(value)
        kind = type_text(kinds[name])
        if reason := why_not(kind):
            raise UsageError(f"{name} is {kind}: {reason}", "Write a condition about it.")
        # As the column has it: a cast would cut and round, and no text is rather than one that is close.
        exact = text if ColumnType.of(kind).name in FRACTIONS else cell_text(schema, name, text)
        parts.append(f"{quoted(name)} = CAST({literal(exact or '')} AS {spark_type(kind)})")
    return " AND ".join(parts)


def _partition(schema: TableSchema, text: str) -> str:
    keys = schema.partition_keys
    if not keys:
        raise UsageError("The table has no partitions", "Use --where or --keys.")
    parts = [each.partition("=") for each in partition_parts(text, keys)]
    if not parts or any(name not in keys for name, _, _ in parts):
        raise UsageError(f"{text} names no partition", f"Write {'/'.join(f'{key}=...' for key in keys)}.")
    return f"({values_condition(schema, {name: _value(value) for name, _, value in parts})})"


def _value(text: str) -> str | None:
    return None if text in _NO_PARTITION else text


def keys_of(schema: TableSchema, text: str) -> list[Mapping[str, Any]]:
    """The keys that a person named. Raises `UsageError` for what is no key."""
    keys = schema.primary_keys
    if not keys:
        raise UsageError("The table has no primary key", "Use --where.")
    found = [*_read_keys(keys, text)]
    if not found:
        raise UsageError("No key is named", "Write --keys 42,43.")
    if len(found) > MOST_KEYS:
        raise UsageError(f"More than {MOST_KEYS:,} keys are too many for one condition", "Use --where.")
    for each in found:
        if set(each) != set(keys) or any(value is None for value in each.values()):
            raise UsageError(f"{json.dumps(each)} is no key of the table", f"Its key is {', '.join(keys)}.")
    return found


def _keys(schema: TableSchema, text: str) -> str:
    return f"({' OR '.join(f'({values_condition(schema, each)})' for each in keys_of(schema, text))})"


def _read_keys(keys: Sequence[str], text: str) -> Iterator[Mapping[str, Any]]:
    text = text.strip()
    is_file = text.startswith("@")
    if is_file:
        path = absolute(os.path.expanduser(text[1:]))
        try:
            with open(path, encoding="utf-8") as file:
                lines = [line for line in file.read().splitlines() if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path} can't be read: {error}", "Name a file with one key a line.") from error
    else:
        lines = [text] if text[:1] in ("{", "[") else text.split(",")
    for line in lines:
        yield from _keys_of(keys, line.strip())


def _keys_of(keys: Sequence[str], text: str) -> Iterator[Mapping[str, Any]]:
    if text[:1] in ("{", "["):
        try:
            # Numbers stay as they are written.
            read = json.loads(text, parse_int=str, parse_float=str)
        except ValueError as error:
            raise UsageError(f"{text[:80]} is no JSON", 'Write {"id": 42}.') from error
        several = read if isinstance(read, list) else [read]
        if not all(isinstance(each, dict) for each in several):
            raise UsageError(f"{text[:80]} is no key", 'Write {"id": 42}.')
        yield from several
        return
    if len(keys) != 1:
        shown = ", ".join(f'"{key}": ...' for key in keys)
        raise UsageError(f"{text} is no key: the key has {len(keys)} columns", f"Write {{{shown}}}.")
    yield {keys[0]: text}
