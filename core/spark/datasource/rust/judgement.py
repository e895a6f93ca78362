"""Decide what pypaimon-rust may read: a table as a whole, then each split of it.

An answer is the reason for reading by Python, in words that EXPLAIN shows; it is empty if pypaimon-rust
reads. Tests compare all that it may read with stock Paimon, in the folder of this name and on generated
tables. Python reads everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from paimark.core.spark.datasource.field_types import INTEGERS, TEXTS, atoms, file_format, is_wider, type_name
from paimark.core.spark.datasource.rust.stores import StoreAccess
from paimark.core.table.definition.column_types import ColumnType
from paimark.core.table.definition.kind_signs import leaves_out_new_files, merge_engine

_FORMATS = ("parquet", "orc", "avro")
_WHOLE = frozenset(INTEGERS)
_BYTES = frozenset({"BINARY", "VARBINARY", "BYTES"})
_TIMES = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ"})
_VALUES = _WHOLE | TEXTS | _BYTES | _TIMES | {"BOOLEAN", "FLOAT", "DOUBLE", "DECIMAL"}
# Types of keys and sequence fields, by whose order rows are merged.
_KEYS = _WHOLE | TEXTS | _BYTES | _TIMES | {"BOOLEAN", "DECIMAL"}
_SEQUENCES = _KEYS | {"DOUBLE"}
_PARTITIONS = _WHOLE | {"STRING", "VARCHAR", "DATE", "BOOLEAN"}
_FINEST = 6
# In ORC, texts are padded, and it reads times in nanoseconds, which times before 1678 exceed.
_UNREAD_ORC = ("CHAR", "TIMESTAMP", "TIMESTAMP_LTZ")
# The names of internal columns of readers of keyed files.
_SYSTEM_NAMES = ("_KEY_", "_SEQUENCE_NUMBER", "_VALUE_KIND", "_ROW_ID", "rowkind")
_ENGINES = ("deduplicate", "partial-update", "aggregation", "first-row")
_AGGREGATES = ("sum", "max", "min", "last_non_null_value")
# A sum that exceeds its DECIMAL becomes null in it, and a longer number in stock Paimon; NaN is not tested.
_NOT_AGGREGATED = {"sum": ("DECIMAL",), "max": ("FLOAT", "DOUBLE"), "min": ("FLOAT", "DOUBLE")}

_Matters = Callable[[str], bool]


def _is_true(value: str) -> bool:
    return value.strip().lower() == "true"


def _always(value: str) -> bool:
    return True


def _other_than(*values: str) -> _Matters:
    return lambda value: value.strip().lower() not in values


# Only these options are passed on: with others it might read other rows from the same split.
_PASSED = (
    *("merge-engine", "sequence.field", "deletion-vectors.enabled", "read.batch-size"),
    *("fields.*.aggregate-function", "fields.default-aggregate-function"),
)
# Options that make rows in a way that it doesn't support. The first that matches a name counts.
_PYTHONS: tuple[tuple[str, _Matters], ...] = (
    ("merge-engine", _other_than(*_ENGINES)),
    ("fields.*.aggregate-function", _other_than(*_AGGREGATES)),
    ("fields.default-aggregate-function", _other_than(*_AGGREGATES)),
    ("fields.*", _always),
    ("partial-update.*", _always),
    ("aggregation.*", _always),
    # It ignores this option, and always takes the greatest.
    ("sequence.field.sort-order", _other_than("ascending")),
    ("data-evolution.enabled", _is_true),
    ("row-tracking.enabled", _is_true),
    ("data-file.thin-mode", _is_true),
    ("deletion-vectors.merge-on-read", _is_true),
)


@dataclass(frozen=True, slots=True)
class TableFacts:
    """The facts about a table. `fields` are pypaimon's."""

    store: StoreAccess
    fields: Sequence[Any]
    options: Mapping[str, str]
    keys: Sequence[str]
    partitions: Sequence[str]

    @property
    def engine(self) -> str:
        return merge_engine(self.options)

    def aggregate(self, column: str) -> str:
        """The function that aggregates a column's values of one key; empty if there is none."""
        if self.engine != "aggregation" or column in self.keys:
            return ""
        default = self.options.get("fields.default-aggregate-function", "")
        return self.options.get(f"fields.{column}.aggregate-function", default).strip().lower()

    @property
    def skips_new(self) -> bool:
        """Whether readers leave out files that no compaction has processed."""
        return leaves_out_new_files(self.options, self.keys)


class FileFacts(NamedTuple):
    """The facts about a data file. `fields` are pypaimon's, of the schema that wrote it; None: missing.

    `deletes` is how many of its rows retract, None if they weren't counted. `is_partial`: it has only some of
    the columns, or has row ids. `is_elsewhere`: it is in another store than the table. `has_vector`: it has a
    deletion vector.
    """

    name: str
    level: int
    deletes: int | None
    is_partial: bool
    fields: Sequence[Any] | None
    is_elsewhere: bool = False
    has_vector: bool = False

    @property
    def format(self) -> str:
        return file_format(self.name)


class SplitFacts(NamedTuple):
    """The facts about a split. `is_plain`: it consists only of data files."""

    files: Sequence[FileFacts]
    is_plain: bool
    is_streaming: bool


def rust_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options of a table that are passed to pypaimon-rust."""
    passed = {
        name: value for name, value in options.items() if any(fnmatchcase(name, option) for option in _PASSED)
    }
    # No test compares with stock Paimon which rows it skips by file indexes.
    return passed | {"file-index.read.enabled": "false"}


def why_not_table(table: TableFacts) -> str:
    if table.store.why_python:
        return table.store.why_python
    for name, value in table.options.items():
        matters = next((matters for option, matters in _PYTHONS if fnmatchcase(name, option)), None)
        if matters is not None and matters(value):
            return f"{name} is {value}"
    if table.engine != "deduplicate" and "rowkind.field" in table.options:
        return f"rowkind.field, by which nobody counts deletes, and merge-engine {table.engine}"
    return next(_unfit_columns(table), "")


def why_not_split(table: TableFacts, split: SplitFacts) -> str:
    if not split.is_plain:
        return "a split of more than data files"
    if table.keys and split.is_streaming:
        return "rows of keys as a commit wrote them"
    return next((reason for file in split.files if (reason := _why_not_file(table, file))), "")


def _unfit_columns(table: TableFacts) -> Iterator[str]:
    sequence = [name.strip() for name in table.options.get("sequence.field", "").split(",")]
    roles = (
        ("key", table.keys, _KEYS),
        ("sequence", sequence, _SEQUENCES),
        ("partition", table.partitions, _PARTITIONS),
    )
    for field in table.fields:
        if field.name.startswith(_SYSTEM_NAMES):
            yield f"a column is called {field.name}"
        for each in atoms(field.type):
            kind = ColumnType.of(each)
            is_fine = kind.name.startswith("TIMESTAMP") and kind.fraction > _FINEST
            if kind.name not in _VALUES or is_fine:
                yield f"column {field.name} is {each}"
        function = table.aggregate(field.name)
        if type_name(str(field.type)) in _NOT_AGGREGATED.get(function, ()):
            yield f"column {field.name} is the {function} of {field.type}"
        for role, names, kinds in roles:
            if field.name in names and ColumnType.of(str(field.type)).name not in kinds:
                yield f"{role} column {field.name} is {field.type}"


def _why_not_file(table: TableFacts, file: FileFacts) -> str:
    if file.format not in _FORMATS:
        return f"{file.format} files"
    if file.is_elsewhere:
        return "files in another store"
    if file.has_vector and file.format == "orc":
        # It fails for these if a condition is pushed.
        return "deletion vectors of orc files"
    if file.is_partial:
        return "files that hold some of the columns"
    if table.skips_new and file.level == 0:
        return "files that no compaction has looked at"
    if table.keys and table.engine in ("partial-update", "aggregation") and file.deletes != 0:
        return "files with deletes"
    if file.fields is None:
        return "a schema that files were written with is missing"
    file_types = {field.id: field for field in file.fields}
    for field in table.fields:
        old = file_types.get(field.id)
        if old is not None and not is_wider(field.type, old.type):
            return f"column {field.name} was {old.type} once"
        if old is not None and (reason := _unread(file.format, field.type)):
            return f"column {field.name} is {reason} in {file.format} files"
    return ""


def _unread(format_name: str, kind: Any) -> str:
    """The type that it reads wrongly in files of the format, or empty. It reads each ROW in Avro as null."""
    if format_name == "avro":
        return "ROW" if _has_row(kind) else ""
    names = (type_name(each) for each in atoms(kind)) if format_name == "orc" else ()
    return next((name for name in names if name in _UNREAD_ORC), "")


def _has_row(kind: Any) -> bool:
    match type(kind).__name__:
        case "RowType":
            return True
        case "ArrayType":
            return _has_row(kind.element)
        case "MapType":
            return _has_row(kind.key) or _has_row(kind.value)
    return False
