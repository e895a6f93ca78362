"""Read a few rows where statements are planned, those of some keys or the first: a job would take longer.

Paimon's library reads them: `library/FewRows.java`. Of tables that Spark's own readers serve Python chooses
the few files that may have them. More rows may be found than are wanted: Spark applies the conditions.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import msgspec
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
)

from paimark.core.cancelling import check_cancelled
from paimark.core.spark.datasource.scan import Scan
from paimark.core.spark.datasource.table_options import ReadScope
from paimark.core.spark.datasource.types import spark_columns
from paimark.core.spark.launch.session_settings import DEFAULTS, LOOKUPS
from paimark.core.spark.library.reads import LibraryReads, has_chars
from paimark.core.spark.merging.model import MergeGroup, Vector
from paimark.core.spark.native.conditions import Condition, ViewNeeds, digits_of
from paimark.core.spark.native.first_rows import SMALL_RESULT
from paimark.core.spark.native.pruning import Pruner
from paimark.core.spark.native.scans import NativeTable
from paimark.core.spark.native.state import TableFile, TableState
from paimark.core.spark.session_conf import SessionConf
from paimark.core.spark.stores.access import HadoopStores
from paimark.core.table.definition.column_types import FRACTIONS, ColumnType

# Each file is opened, some at a time, and each row is compared with the values.
_MOST_FILES = 64
_MOST_VALUES = 64
# A row group of a big file, whose pages nobody may tell apart, and what is beside it.
_MOST_ROWS = 2_000_000
_MOST_BYTES = 1 << 20
# The first rows are not found at once where most of them are deleted.
_MOST_LOOKED_AT = 100_000
_KEPT = 64
_WHOLE = (ByteType, ShortType, IntegerType, LongType, DateType, TimestampNTZType, BooleanType)

# A column, and the values one of which it must have.
Equality = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class _Part:
    """Files of one bucket that are read together. `merged`: versions of the same key replace one another."""

    files: Sequence[TableFile]
    merged: bool
    vector: Vector | None = None


class Lookups:
    """The lookups of one session. Remembers for which columns of a table they took too much."""

    def __init__(self, conf: SessionConf, library: LibraryReads, stores: HadoopStores) -> None:
        self._conf = conf
        self._library = library
        self._stores = stores
        self._refused: OrderedDict[Any, None] = OrderedDict()

    def frame(self, table: NativeTable, scan: Scan, need: ViewNeeds) -> DataFrame | None:
        """A frame of at least the needed rows, in which other columns are null; None if a scan is needed."""
        if table.beside is not None:
            return None
        if not need.conditions:
            # Of Parquet the scan itself reads the first rows in this process.
            if not _is_of_first(need) or all(file.file_format == "parquet" for file in table.state.files):
                return None
            parts = _first_parts(table.state, need.limit or 0)
            if parts is None:
                return None
            return self._asked(scan, "root", need, {"splits": [self._split(part) for part in parts]})
        pruner = table.pruner
        # Partition columns have the same value in all rows of a file.
        equal = _equalities(table.types, need.conditions, pruner.key, pruner.partition)
        parts = _parts(table.state, pruner, need.conditions) if _has_all(equal, pruner.key) else None
        if parts is None:
            return None
        place = {"conditions": equal, "splits": [self._split(part) for part in parts]}
        return self._asked(scan, "root", need, place)

    def frame_of(self, scan: Scan, scope: ReadScope, need: ViewNeeds) -> DataFrame | None:
        """The same of a table whose rows the library reads in any case."""
        if scan.beside is not None or has_chars(scan):
            return None
        if not need.conditions:
            return self._asked(scan, scope, need, {})
        schema = scan.table_schema
        equal = _equalities(spark_columns(scan), need.conditions, schema.primary_keys, ())
        if not _has_all(equal, schema.trimmed_primary_keys):
            return None
        return self._asked(scan, scope, need, {"conditions": equal})

    def _asked(
        self, scan: Scan, scope: ReadScope, need: ViewNeeds, place: dict[str, Any]
    ) -> DataFrame | None:
        """The rows at a place; the first ones, if it has no conditions."""
        equal: Sequence[Equality] = place.get("conditions", ())
        if self._conf.get(LOOKUPS, DEFAULTS[LOOKUPS]) == "off" or not (equal or _is_of_first(need)):
            return None
        kind = scan.root.directory, scan.snapshot, scan.schema, frozenset(name for name, _ in equal)
        if kind in self._refused or not self._library.can_read(scan):
            return None
        most = {"first": need.limit, "most_rows": _MOST_LOOKED_AT, "conditions": ()}
        question = {
            "columns": list(need.columns),
            "most_bytes": _MOST_BYTES,
            "most_files": _MOST_FILES,
            **({"most_rows": _MOST_ROWS} if equal else most),
            **place,
        }
        try:
            frame = self._library.few(scan, scope, msgspec.json.encode(question).decode())
        except Py4JJavaError:
            check_cancelled()
            # The scan reports the error, as for all statements.
            return None
        if frame is None:
            self._refused[kind] = None
            while len(self._refused) > _KEPT:
                self._refused.popitem(last=False)
        return frame

    def _split(self, part: _Part) -> dict[str, Any]:
        entry = part.files[0].entry
        mark = part.vector
        vector = None if mark is None else (self._stores.address(mark.path), mark.offset, mark.length)
        return {
            "partition": entry.partition,
            "bucket": entry.bucket,
            "merged": part.merged,
            "files": [{**_file(file), "vector": vector} for file in part.files],
        }


def _file(file: TableFile) -> dict[str, Any]:
    """The fields of a file's record that `ChosenFiles.java` takes."""
    record = file.entry.file
    return {
        "name": record["_FILE_NAME"],
        "size": file.size,
        "rows": file.row_count,
        "min_key": record["_MIN_KEY"],
        "max_key": record["_MAX_KEY"],
        "min_sequence": record["_MIN_SEQUENCE_NUMBER"],
        "max_sequence": record["_MAX_SEQUENCE_NUMBER"],
        "schema_id": file.schema_id,
        "level": record["_LEVEL"],
        "deletes": record.get("_DELETE_ROW_COUNT"),
        "extra_files": record["_EXTRA_FILES"],
        "index": record.get("_EMBEDDED_FILE_INDEX"),
        "external_path": record.get("_EXTERNAL_PATH"),
    }


def _equalities(
    types: StructType, conditions: Iterable[Condition], key: Collection[str], without: Collection[str]
) -> list[Equality]:
    """Those of the conditions that all versions of a row satisfy.

    `key`: the columns of the table's key. Conditions on columns `without` values in rows are left out.
    """
    equal = []
    for each in conditions:
        if each.operator not in ("=", "in") or each.column in without or (key and each.column not in key):
            continue
        values = tuple(_compared(value, types[each.column].dataType) for value in each.values)
        if values and len(values) <= _MOST_VALUES and all(value is not None for value in values):
            equal.append((each.column, values))
    return equal


def _has_all(equal: Sequence[Equality], key: Collection[str]) -> bool:
    return bool(equal) and {name for name, _ in equal}.issuperset(key)


def _compared(value: Any, kind: DataType) -> Any:
    """A value in the form of `ChosenFiles.java`; None if a lookup can't compare it: Spark alone does."""
    if kind == StringType():
        return value if isinstance(value, str) else None
    if isinstance(kind, DecimalType):
        # One that the column's scale would round equals none of its values.
        is_exact = isinstance(value, Decimal) and digits_of(value, kind.scale) is not None
        return str(value) if is_exact else None
    return value if isinstance(kind, _WHOLE) and isinstance(value, int) else None


def _parts(state: TableState, pruner: Pruner, conditions: Sequence[Condition]) -> list[_Part] | None:
    """The files that may have the rows; None if they are too many."""
    # Other conditions hold only for the newest versions, so they may not exclude files of older ones.
    always = pruner.on_keys(conditions) if pruner.key else conditions
    chosen = {file.address: file for file in filter(pruner.keeps(always), state.files)}
    parts = list(_grouped(state.merged, chosen))
    if len(chosen) > _MOST_FILES or (any(part.merged for part in parts) and _has_zeros(state.merged[0])):
        return None
    grouped = {file.address for part in parts for file in part.files}
    whole = (file for address, file in chosen.items() if address not in grouped)
    return [*parts, *(_Part((file,), merged=False) for file in filter(pruner.keeps(conditions), whole))]


def _is_of_first(need: ViewNeeds) -> bool:
    """Whether a few rows are enough, whichever they are."""
    return not need.conditions and need.limit is not None and need.limit <= SMALL_RESULT


def _first_parts(state: TableState, limit: int) -> list[_Part] | None:
    """Files with so many rows: first those that need no merging. None if they are too many."""
    merged = {file.path for group in state.merged for file in group.files}
    parts: list[_Part] = []
    sure = 0
    for file in state.files:
        if sure < limit and file.address not in merged:
            parts.append(_Part((file,), merged=False))
            sure += file.row_count
    if sure < limit:
        parts += _grouped(state.merged, {file.address: file for file in state.files})
    return parts if sum(len(part.files) for part in parts) <= _MOST_FILES else None


def _has_zeros(group: MergeGroup) -> bool:
    """Whether rows are ordered by numbers whose two zeros the library may take for equal, as no scan does."""
    types = (*group.rules.key_types, *group.rules.sequence_types)
    return not {ColumnType.of(each).name for each in types}.isdisjoint(FRACTIONS)


def _grouped(groups: Iterable[MergeGroup], chosen: dict[str, TableFile]) -> Iterator[_Part]:
    for group in groups:
        files = tuple(chosen[file.path] for file in group.files if file.path in chosen)
        if files:
            yield _Part(files, not group.has_vector, group.files[0].vector)
