"""Translate column types of Spark and Paimon to Paimon's text, and tell which may replace which."""

from __future__ import annotations

import re

from paimark.core.actions.rewrite.columns import holds
from paimark.core.errors import UsageError
from paimark.core.table.definition.column_types import type_text
from paimark.core.table.records import SchemaField

_TYPE = re.compile(r"([A-Za-z_]+)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
# The names of types in Spark and in Paimon, to Paimon's text.
_PLAIN = {
    "BOOLEAN": "BOOLEAN",
    "TINYINT": "TINYINT",
    "BYTE": "TINYINT",
    "SMALLINT": "SMALLINT",
    "SHORT": "SMALLINT",
    "INT": "INT",
    "INTEGER": "INT",
    "BIGINT": "BIGINT",
    "LONG": "BIGINT",
    "FLOAT": "FLOAT",
    "REAL": "FLOAT",
    "DOUBLE": "DOUBLE",
    "STRING": "STRING",
    "BINARY": "BYTES",
    "BYTES": "BYTES",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "TIMESTAMP_LTZ": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "TIMESTAMP_NTZ": "TIMESTAMP(6)",
}
_NOT_NULL = " NOT NULL"
_NESTED = ("ARRAY", "MAP", "STRUCT", "ROW", "MULTISET")
_KNOWN = (
    "There are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s), STRING, VARCHAR(n), "
    "CHAR(n), BINARY, DATE, TIMESTAMP and TIMESTAMP_NTZ."
)
_WIDER = (
    "A type can be made wider: INT to BIGINT, FLOAT to DOUBLE, DECIMAL to more digits, "
    "VARCHAR to a longer one."
)


def paimon_type(text: str) -> str:
    """`bigint` or `decimal(10,2)` in Paimon's text for schemas. Raises `UsageError`."""
    if text.upper().split("<")[0].split("(")[0].strip() in _NESTED:
        raise UsageError(f"{text} holds columns of its own, which are not added or altered here", _KNOWN)
    match = _TYPE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text} is not a type of a column", _KNOWN)
    name, length, scale = match[1].upper(), match[2], match[3]
    if name in _PLAIN and length is None:
        return _PLAIN[name]
    if name in ("DECIMAL", "DEC", "NUMERIC"):
        digits, behind = int(length or 10), int(scale or 0)
        if 1 <= digits <= 38 and behind <= digits:
            return f"DECIMAL({digits}, {behind})"
    elif name in ("VARCHAR", "CHAR") and length and not scale and 1 <= int(length) < 2**31:
        return f"{name}({int(length)})"
    raise UsageError(f"{text} is not a type of a column", _KNOWN)


def widened(field: SchemaField, wanted: str) -> str:
    """The type of a column after widening to `wanted`; NOT NULL stays. Raises `UsageError`."""
    old = type_text(field.type)
    is_text = isinstance(field.type, str)
    required = _NOT_NULL if is_text and old.endswith(_NOT_NULL) else ""
    target = paimon_type(wanted)
    kept = holds(target, field.type) if is_text else False
    if not kept or (target.startswith("CHAR") and not old.startswith("CHAR")):
        raise UsageError(f"Column {field.name} is {old}, which can't become {target} without loss", _WIDER)
    return target + required
