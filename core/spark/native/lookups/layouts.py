"""Describe to `KeyLookup.java` where files of one schema hold the columns that a lookup reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pypaimon.schema.data_types import AtomicType, DataField
from pyspark.sql.types import ByteType, DataType, LongType, StructField, StructType

from paimark.core.spark.merging.model import MergeFile, MergeGroup, MergeRules
from paimark.core.spark.merging.narrow import ages_overlap
from paimark.core.spark.native.columns import table_types
from paimark.core.spark.native.state import TableState
from paimark.core.table.definition.column_types import KEY_PREFIX, ColumnType

_SEQUENCE = "_SEQUENCE_NUMBER"
_KIND = "_VALUE_KIND"
# The column in which Spark's reader gives the number of a row in a Parquet file.
_ROW = "_tmp_metadata_row_index"

# A file is read whole, or has a deletion vector (marked). A file of key versions has extra columns for keys
# (keyed), or none (thin).
FileForm = Literal["whole", "marked", "keyed", "thin"]


class CannotLookUp(Exception):
    """A lookup is not possible, for example because files hold a compared column with another type."""


@dataclass(frozen=True, slots=True)
class Reads:
    """The columns to read from a table. `equal` are those of the conditions.

    `key` are the columns of the merged key, in the order of `rules.key_types`.
    """

    state: TableState
    rules: MergeRules | None
    key: tuple[str, ...]
    equal: tuple[StructField, ...]
    result_columns: Collection[str]


class _Columns:
    """The columns to read, each once."""

    def __init__(self) -> None:
        self._indexes: dict[str, int] = {}
        self.fields: list[StructField] = []

    def index_of(self, name: str, kind: DataType) -> int:
        if name not in self._indexes:
            self._indexes[name] = len(self.fields)
            self.fields.append(StructField(name, kind))
        return self._indexes[name]


def layout_name(schema_id: int, file_format: str, form: FileForm) -> str:
    return f"{schema_id} {file_format} {form}"


def file_layout(reads: Reads, schema_id: int, file_format: str, form: FileForm) -> Mapping[str, Any]:
    """The layout of the rows of such files: which column is where. Raises `CannotLookUp`."""
    columns = _Columns()
    index_by_name: dict[str, int] = {}
    keys: list[int] = []
    sequence: list[int] = []
    number = kind = row = -1
    if form == "marked":
        row = columns.index_of(_ROW, LongType())
    if form in ("keyed", "thin"):
        assert reads.rules is not None
        names = reads.rules.columns[schema_id]
        key_types = read_types(reads.rules.key_types)
        for name, column, field in zip(reads.key, names.key, key_types, strict=True):
            stored = column if form == "keyed" else column.removeprefix(KEY_PREFIX)
            index_by_name[name] = columns.index_of(stored, field.dataType)
            keys.append(index_by_name[name])
        sequence_types = read_types(reads.rules.sequence_types)
        for stored_as, field in zip(names.sequence, sequence_types, strict=True):
            sequence.append(-1 if stored_as is None else columns.index_of(stored_as, field.dataType))
        number, kind = columns.index_of(_SEQUENCE, LongType()), columns.index_of(_KIND, ByteType())
    sources = _sources(reads, schema_id, file_format, columns)
    for field in reads.equal:
        if field.name not in index_by_name:
            index_by_name[field.name] = _stored(reads, schema_id, file_format, field.name, columns)
        if columns.fields[index_by_name[field.name]].dataType != field.dataType:
            raise CannotLookUp(field.name)
    return {
        "name": layout_name(schema_id, file_format, form),
        "format": file_format,
        "columns": StructType(columns.fields).jsonValue(),
        "key": keys,
        "sequence": sequence,
        "number": number,
        "kind": kind,
        "row": row,
        "conditions": [index_by_name[field.name] for field in reads.equal],
        # Files that are merged with others are sorted by key.
        "sorted": -1 if number < 0 else [field.name for field in reads.equal].index(reads.key[0]),
        "made": sources,
    }


def rules_fields(rules: MergeRules) -> dict[str, Any]:
    """The input of `MergeRules.java`."""
    return {
        "key": read_types(rules.key_types).jsonValue(),
        "sequence": read_types(rules.sequence_types).jsonValue(),
        "descending": rules.descending,
        "ignore_delete": rules.ignore_delete,
    }


def read_types(types: Sequence[str]) -> StructType:
    """The Spark types with which columns of these types (Paimon's texts) are read."""
    fields = [
        DataField(index, f"c{index}", AtomicType(each.upper().removesuffix(" NOT NULL")))
        for index, each in enumerate(types)
    ]
    return table_types(fields)


def needs_numbers(files: Sequence[MergeFile]) -> bool:
    """Whether the newest version of a key can only be found by the rows' sequence numbers."""
    return ages_overlap(files) or not all(file.has_row_numbers for file in files)


def keep_zeros(groups: Sequence[MergeGroup]) -> bool:
    """Whether Spark's readers distinguish -0.0 from 0.0, which is greater. The groups must be of one table.

    ORC's reader returns the first of successive equal numbers for all of them.
    """
    types = (*groups[0].rules.key_types, *groups[0].rules.sequence_types) if groups else ()
    if {ColumnType.of(each).name for each in types}.isdisjoint(("FLOAT", "DOUBLE")):
        return True
    return all(file.format != "orc" for group in groups for file in group.files)


def _sources(
    reads: Reads, schema_id: int, file_format: str, columns: _Columns
) -> Sequence[tuple[str, int] | None]:
    """The source of each column of the table; None for nulls."""
    state = reads.state
    sources: list[tuple[str, int] | None] = []
    constants = state.constants.names
    for name, origin in zip(state.names, state.columns[schema_id, file_format].origins, strict=True):
        if origin is None or name not in reads.result_columns:
            sources.append(None)
        elif origin in constants:
            sources.append(("constant", constants.index(origin)))
        else:
            sources.append(("column", _stored(reads, schema_id, file_format, name, columns)))
    return sources


def _stored(reads: Reads, schema_id: int, file_format: str, name: str, columns: _Columns) -> int:
    """The index of a value column of the table among `columns`. Raises `CannotLookUp`."""
    of_file = reads.state.columns[schema_id, file_format]
    origin = of_file.origins[reads.state.names.index(name)]
    if origin is None or origin not in of_file.read.names:
        raise CannotLookUp(name)
    return columns.index_of(origin, of_file.read[origin].dataType)
