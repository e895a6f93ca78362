"""Tests of a table's definition for a kind of table: the reason in words, empty if it is of another kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

import msgspec

from paimark.core.table.definition.column_types import (
    ColumnType,
    has_path_of_writer,
    names_legacy,
    parquet_paths,
)
from paimark.core.table.definition.newer import formats, of_format, of_option, unknown_type
from paimark.core.table.records import TableSchema

Sign = Callable[[TableSchema], str]

# The first of these that is set counts.
_IGNORE_DELETE = (
    "ignore-delete",
    "first-row.ignore-delete",
    "deduplicate.ignore-delete",
    "partial-update.ignore-delete",
)
# Spark lacks these types or changes their values: they are finer than a microsecond.
_LOSSY = re.compile(r"TIMESTAMP(_LTZ)?\([789]\)|TIME\([789]\)")
# Otherwise a batch write gives rows of postponed buckets real ones at once.
_FIXED_BUCKET = "postpone.batch-write-fixed-bucket"


def is_on(options: Mapping[str, str], name: str) -> bool:
    """Whether an option is set to `true`, in any case."""
    return options.get(name, "").strip().lower() == "true"


# How rows of one key become one: the first is the default.
MERGE_ENGINES = ("deduplicate", "partial-update", "aggregation", "first-row")
# Those that make a row of several, by options `fields.<column>.` and one of these words.
MERGING = ("partial-update", "aggregation")
FIELD_RULES = ("aggregate-function", "ignore-retract", "sequence-group")
# What a rule takes, and what has to do with no merging.
FIELD_DETAILS = (
    *("count-limit", "default-value", "distinct", "list-agg-delimiter"),
    *("nested-key", "stats-mode", "ts-field"),
)


def merge_engine(options: Mapping[str, str]) -> str:
    """How rows of one key become one, in small letters: stock Paimon accepts any case."""
    return options.get("merge-engine", "").strip().lower() or MERGE_ENGINES[0]


def leaves_out_new_files(options: Mapping[str, str], primary_keys: Collection[str]) -> bool:
    """Whether batch readers skip files of level 0 until a compaction has rewritten them.

    They read all other files without merging, minus the rows in deletion vectors: no key is in two of them.
    """
    if not primary_keys:
        return False
    if is_on(options, "deletion-vectors.enabled"):
        return not is_on(options, "deletion-vectors.merge-on-read")
    return merge_engine(options) == "first-row"


def column_files(schema: TableSchema) -> str:
    """What gives columns files of their own, beside those of their rows; empty if nothing does."""
    if schema.options.get("vector.file.format"):
        return f"vector.file.format is {schema.options['vector.file.format']}"
    blobs = (each.name for each in schema.fields if ColumnType.of(str(each.type)).name == "BLOB")
    return next((f"{name} is a BLOB" for name in blobs), "")


def hides_written_rows(schema: TableSchema) -> bool:
    """Whether nobody sees rows before a compaction: those of level 0, or those in no bucket yet."""
    if leaves_out_new_files(schema.options, schema.primary_keys):
        return True
    postpones = bool(schema.primary_keys) and schema.options.get("bucket", "").strip() == "-2"
    return postpones and schema.options.get(_FIXED_BUCKET, "").strip().lower() == "false"


def chain_branches(options: Mapping[str, str]) -> tuple[str, str]:
    """The snapshot branch and the delta branch of a chain table; two empty texts for any other."""
    if not is_on(options, "chain-table.enabled"):
        return "", ""
    full, delta = (options.get(f"scan.fallback-{name}-branch", "").strip() for name in ("snapshot", "delta"))
    return full, delta


def ignored_deletes(options: Mapping[str, str]) -> str | None:
    """The option by which deletes in files are ignored, if one is set."""
    for option in _IGNORE_DELETE:
        if option in options:
            return option if is_on(options, option) else None
    return None


def has(name: str, *values: str) -> Sign:
    """The option has one of these values."""
    return lambda schema: (
        f"{name} = {value}{of_option(name)}" if (value := _option(schema, name)) in values else ""
    )


def has_other(name: str, *values: str) -> Sign:
    """The option has a value, and none of these."""
    return lambda schema: (
        f"{name} = {value}" if (value := _option(schema, name)) and value not in values else ""
    )


def is_true(*names: str) -> Sign:
    return either(*(has(name, "true") for name in names))


def is_set(*patterns: str) -> Sign:
    """An option is set whose whole name matches one of the patterns."""
    pattern = re.compile("|".join(patterns))
    return lambda schema: next(
        (f"{name} is set{of_option(name)}" for name in schema.options if pattern.fullmatch(name)), ""
    )


def either(*signs: Sign) -> Sign:
    return lambda schema: next((reason for sign in signs if (reason := sign(schema))), "")


def keyed(sign: Sign) -> Sign:
    """The sign, for tables with a primary key only: the option has no effect on others."""
    return lambda schema: sign(schema) if schema.primary_keys else ""


def without_key(sign: Sign) -> Sign:
    """The sign, for tables without a primary key only."""
    return lambda schema: "" if schema.primary_keys else sign(schema)


def both(first: Sign, second: Sign) -> Sign:
    return lambda schema: second(schema) if first(schema) else ""


def unkeyed(schema: TableSchema) -> str:
    return "" if schema.primary_keys else "no primary key"


def deduplicates(schema: TableSchema) -> str:
    engine = merge_engine(schema.options)
    return f"merge-engine = {engine}" if engine == "deduplicate" else ""


def postpones_buckets(schema: TableSchema) -> str:
    return "bucket = -2" if _bucket(schema) == "-2" else ""


def grows_buckets(schema: TableSchema) -> str:
    return "bucket = -1" if _bucket(schema) == "-1" and not crosses_partitions(schema) else ""


def crosses_partitions(schema: TableSchema) -> str:
    outside = [key for key in schema.partition_keys if key not in schema.primary_keys]
    if not (outside and schema.primary_keys and _bucket(schema) == "-1"):
        return ""
    return f"bucket = -1, and {outside[0]} is not in the primary key"


def lossy_column(schema: TableSchema) -> str:
    for field in schema.fields:
        if lossy := _LOSSY.search(msgspec.json.encode(field.type).decode()):
            return f"column {field.name} is {lossy[0]}"
    return ""


def unknown_column(schema: TableSchema) -> str:
    found = unknown_type(schema)
    return f"column {found.column} is {found.told}" if found else ""


def other_rule(schema: TableSchema) -> str:
    if merge_engine(schema.options) not in MERGING:
        return ""
    known = ("fields.default-aggregate-function", *(f".{word}" for word in (*FIELD_RULES, *FIELD_DETAILS)))
    others = (name for name in schema.options if name.startswith("fields.") and not name.endswith(known))
    return next((f"{name} is set{of_option(name)}" for name in others), "")


def other_format(*known: str) -> Sign:
    """Data files have, or will have, none of these formats."""
    return lambda schema: next(
        (
            f"{option} = {form}{of_format(form)}"
            for option, form in formats(schema.options)
            if form not in known
        ),
        "",
    )


def vector_without_files(schema: TableSchema) -> str:
    if (_option(schema, "file.format") or "parquet") in ("avro", "json"):
        return ""
    vectors = (each.name for each in schema.fields if b"VECTOR" in msgspec.json.encode(each.type))
    return next((f"column {name}" for name in vectors), "")


def one_path_in_parquet(schema: TableSchema) -> str:
    """Two values whose paths in a Parquet file are one text: the library takes the bounds of one for both."""
    if (_option(schema, "file.format") or "parquet") != "parquet":
        return ""
    seen = set[str]()
    for path in (path for field in schema.fields for path in parquet_paths(field.name, field.type)):
        if path in seen:
            return f"{path} names two of its values"
        seen.add(path)
    return ""


def backtick_in_orc(schema: TableSchema) -> str:
    if _option(schema, "file.format") != "orc":
        return ""
    paths = (path for field in schema.fields for path in parquet_paths(field.name, field.type))
    return next((f"column {path}" for path in paths if "`" in path), "")


def partition_without_path(schema: TableSchema) -> str:
    legacy = names_legacy(schema.options)
    for field in schema.fields:
        if field.name in schema.partition_keys and has_path_of_writer(str(field.type), legacy=legacy):
            by = ", partition.legacy-name = false" if ColumnType.of(str(field.type)).is_local else ""
            return f"partition column {field.name} is {field.type}{by}"
    return ""


def _option(schema: TableSchema, name: str) -> str:
    return schema.options.get(name, "").strip().lower()


def _bucket(schema: TableSchema) -> str:
    return _option(schema, "bucket") or "-1"
