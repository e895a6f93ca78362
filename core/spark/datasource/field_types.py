"""Analyse pypaimon's columns, types and files: the atomic types in a type, and which types are wider."""

from __future__ import annotations

from typing import Any

from pypaimon.common.json_util import JSON
from pypaimon.schema.table_schema import TableSchema

from paimark.core.table.definition.column_types import TEXTS, UNPADDED_TEXTS, ColumnType
from paimark.core.table.definition.newer import require_known_types
from paimark.core.table.records import TableSchema as PaimonSchema

INTEGERS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10, "BIGINT": 19}


def fields_of(schema: str) -> list[Any]:
    """pypaimon's fields of a schema, from its JSON. Raises `Refused` for a type that came later."""
    try:
        fields: list[Any] = JSON.from_json(schema, TableSchema).fields
    except Exception:
        # pypaimon's for a type that it does not know has no class of its own.
        require_known_types("the table", PaimonSchema.from_json(schema.encode(), "the scan"))
        raise
    return fields


def type_name(text: str) -> str:
    """The name of a type: `CHAR` for `CHAR(3) NOT NULL`."""
    return ColumnType.of(text).name


def atoms(kind: Any) -> list[str]:
    """The atomic types in a type of pypaimon's."""
    match type(kind).__name__:
        case "AtomicType":
            return [kind.type.upper()]
        case "ArrayType":
            return atoms(kind.element)
        case "MapType":
            return [*atoms(kind.key), *atoms(kind.value)]
        case "RowType":
            return [each for field in kind.fields for each in atoms(field.type)]
    return [type(kind).__name__.removesuffix("Type").upper()]


def merged_by(table: Any) -> set[str]:
    """The names of the columns by which rows of pypaimon's `table` are merged: key and sequence fields."""
    in_order = table.table_schema.options.get("sequence.field", "").split(",")
    return {*table.primary_keys, *map(str.strip, in_order)}


def written_fields(table: Any, schema_id: int) -> list[Any]:
    """The fields of a schema of pypaimon's `table`, with which files were written; empty if it is missing."""
    if schema_id == table.table_schema.id:
        return list(table.table_schema.fields)
    # pypaimon reports a missing schema itself.
    file_schema = table.schema_manager.get_schema(schema_id)
    return [] if file_schema is None else list(file_schema.fields)


def file_format(name: str) -> str:
    """The format of a data file by its name: `parquet`."""
    return name.rpartition(".")[2].lower()


def is_wider(table_type: Any, in_file: Any) -> bool:
    """Whether type `table_type` has every value of type `in_file`, unchanged."""
    if type(table_type).__name__ != "AtomicType" or type(in_file).__name__ != "AtomicType":
        return shape(table_type) == shape(in_file)
    new, old = ColumnType.of(table_type.type), ColumnType.of(in_file.type)
    if new == old:
        return True
    if old.name in TEXTS and new.name in UNPADDED_TEXTS:
        is_longer = old.first is not None and new.first is not None and old.first <= new.first
        return new.name == "STRING" or is_longer
    if old.name in INTEGERS and new.name in INTEGERS:
        return INTEGERS[old.name] <= INTEGERS[new.name]
    if old.name == "DECIMAL" and new.name == "DECIMAL":
        (digits, scale), (new_digits, new_scale) = old.decimal, new.decimal
        return scale <= new_scale and digits - scale <= new_digits - new_scale
    return (old.name, new.name) == ("FLOAT", "DOUBLE")


def type_words(kind: Any) -> str:
    """A type of pypaimon's in Paimon's notation."""
    return str(getattr(kind, "type", kind))


def shape(kind: Any) -> object:
    """A comparable form of a type, without nullability. Its fields have ids and names."""
    match type(kind).__name__:
        case "AtomicType":
            return ColumnType.of(kind.type)
        case "ArrayType":
            return "ARRAY", shape(kind.element)
        case "MapType":
            return "MAP", shape(kind.key), shape(kind.value)
        case "RowType":
            return "ROW", tuple((field.id, field.name, shape(field.type)) for field in kind.fields)
    return str(kind)
