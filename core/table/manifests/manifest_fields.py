"""The fields that the records of manifest lists, manifests and index manifests must have, and their types.

All records of an Avro file follow its writer's schema: one check of it shows whether a field exists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from paimark.core.table.manifests.avro import BadAvro

_INT = frozenset({"int", "long"})
_TEXT = frozenset({"string"})
_BYTES = frozenset({"bytes"})
_TEXTS = frozenset({"array"})
_TIME = frozenset({"timestamp"})
_RECORD = frozenset({"record"})

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """`needed` must exist and never be null, `known` may be missing or null, `below` are fields of fields."""

    version: int
    needed: Mapping[str, frozenset[str]]
    known: Mapping[str, frozenset[str]] = field(default_factory=dict)
    below: Mapping[str, Layout] = field(default_factory=dict)


_FILE = Layout(
    0,
    {
        **{"_FILE_NAME": _TEXT, "_FILE_SIZE": _INT, "_ROW_COUNT": _INT, "_SCHEMA_ID": _INT, "_LEVEL": _INT},
        **{"_MIN_KEY": _BYTES, "_MAX_KEY": _BYTES},
        **{"_MIN_SEQUENCE_NUMBER": _INT, "_MAX_SEQUENCE_NUMBER": _INT},
    },
    {
        **dict.fromkeys(("_DELETE_ROW_COUNT", "_FILE_SOURCE", "_FIRST_ROW_ID"), _INT),
        "_EMBEDDED_FILE_INDEX": _BYTES,
        "_EXTRA_FILES": _TEXTS,
        "_VALUE_STATS_COLS": _TEXTS,
        "_EXTERNAL_PATH": _TEXT,
        "_CREATION_TIME": _TIME,
    },
)
LIST = Layout(
    2,
    {"_VERSION": _INT, "_FILE_NAME": _TEXT, "_FILE_SIZE": _INT, "_SCHEMA_ID": _INT},
    {"_NUM_ADDED_FILES": _INT, "_NUM_DELETED_FILES": _INT, "_EXTRA_FILES": _TEXTS},
)
ENTRIES = Layout(
    2,
    {"_VERSION": _INT, "_KIND": _INT, "_PARTITION": _BYTES, "_BUCKET": _INT, "_FILE": _RECORD},
    below={"_FILE": _FILE},
)
INDEX = Layout(
    1,
    {
        **{"_VERSION": _INT, "_KIND": _INT, "_PARTITION": _BYTES, "_BUCKET": _INT},
        **{"_INDEX_TYPE": _TEXT, "_FILE_NAME": _TEXT, "_FILE_SIZE": _INT},
    },
    {"_EXTERNAL_PATH": _TEXT},
)


def nullable_fields(schema: Any, layout: Layout) -> list[Path]:
    """The needed fields that may be null in a record. Raises `BadAvro` for a missing or mistyped field."""
    fields = {each["name"]: each["type"] for each in _record(schema).get("fields", ())}
    paths: list[Path] = []
    for name, kinds in {**layout.known, **layout.needed}.items():
        kind = _kinds(fields[name]) if name in fields else set()
        if name not in fields and name in layout.needed:
            raise BadAvro(f"it has no field {name}")
        if kind - kinds - {"null"}:
            raise BadAvro(f"its {name} is of type {' or '.join(sorted(kind))}")
        if "null" in kind and name in layout.needed:
            paths.append((name,))
        if name in layout.below:
            paths += ((name, *rest) for rest in nullable_fields(fields[name], layout.below[name]))
    return paths


def require_values(record: Mapping[str, Any], nullable: list[Path]) -> None:
    """Raises `BadAvro` if one of these fields is null."""
    for path in nullable:
        value: Any = record
        for name in path:
            value = value[name]
            if value is None:
                raise BadAvro(f"a record has no {name}")


def _record(schema: Any) -> Mapping[str, Any]:
    """The record type in a type; some writers wrap it in a union with null."""
    choices = schema if isinstance(schema, list) else [schema]
    return next((each for each in choices if isinstance(each, dict) and each.get("type") == "record"), {})


def _kinds(kind: Any) -> set[str]:
    """The names of the types that a value may have."""
    if isinstance(kind, list):
        return {name for each in kind for name in _kinds(each)}
    if not isinstance(kind, dict):
        return {str(kind)}
    if str(kind.get("logicalType", "")).startswith(("timestamp-", "local-timestamp-")):
        return {"timestamp"}
    if kind.get("type") == "array":
        return {"array"} if _kinds(kind.get("items")) <= {"string", "null"} else {"array of others"}
    return _kinds(kind.get("type"))
