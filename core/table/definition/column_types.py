"""A column's type as Paimon writes it in a schema: `DECIMAL(10, 2) NOT NULL`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from paimark.core.quoting import quoted_if_needed

_WORDS = re.compile(r"\s*([A-Z_]+)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?(.*)", re.DOTALL)
_NOT_NULL = " NOT NULL"
# Other names of types.
_SAME = {"INTEGER": "INT", "NUMERIC": "DECIMAL", "DEC": "DECIMAL"}
# The families of types. Whole numbers and fractions from narrow to wide.
WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
FRACTIONS = ("FLOAT", "DOUBLE")
NUMBERS = (*WHOLE, *FRACTIONS, "DECIMAL")
# A CHAR is filled up with spaces, so its values are not those that were written.
UNPADDED_TEXTS = ("VARCHAR", "STRING")
TEXTS = ("CHAR", *UNPADDED_TEXTS)
BYTES = ("BINARY", "VARBINARY", "BYTES")
TIMES = ("TIMESTAMP", "TIMESTAMP_LTZ")
# All that have no parts.
ATOMS = frozenset({*NUMBERS, *TEXTS, *BYTES, *TIMES, "BOOLEAN", "DATE", "TIME", "VARIANT", "BLOB"})


class ColumnType(NamedTuple):
    """`name` is empty if the text is no type; of names for one type it is always the same one.

    `first` and `second` are the numbers in brackets.
    """

    name: str
    first: int | None
    second: int | None
    is_local: bool

    @classmethod
    def of(cls, text: str) -> ColumnType:
        matched = _WORDS.match(text.upper())
        if matched is None:
            return cls("", None, None, False)
        name, first, second, rest = matched.groups()
        is_local = name == "TIMESTAMP_LTZ" or "LOCAL" in rest
        # Java writes `TIMESTAMP(6) WITH LOCAL TIME ZONE`, pypaimon writes this name.
        name = "TIMESTAMP_LTZ" if is_local else _SAME.get(name, name)
        return cls(name, int(first) if first else None, int(second) if second else None, is_local)

    @property
    def decimal(self) -> tuple[int, int]:
        """Precision and scale of a DECIMAL."""
        return self.first or 10, self.second or 0

    @property
    def fraction(self) -> int:
        """Digits after the second of a TIMESTAMP."""
        return 6 if self.first is None else self.first

    @property
    def is_wide(self) -> bool:
        """Whether a serialised row stores it apart: a DECIMAL over a long, a TIMESTAMP finer than 1 ms."""
        if self.name == "DECIMAL":
            return self.decimal[0] > 18
        return self.name in TIMES and self.fraction > 3


# Java's texts of these values differ between its versions.
_TEXTS_OF_JAVA = (*FRACTIONS, *BYTES)


def names_legacy(options: Mapping[str, str]) -> bool:
    """Whether partitions' directories have the values as they are stored, as they do by default."""
    return options.get("partition.legacy-name", "true").strip().lower() == "true"


def has_path_of_writer(kind: str, *, legacy: bool) -> bool:
    """Whether the directory of a partition by such a column depends on who wrote it.

    Java prints some values differently each time; a moment is printed in the zone of the writer.
    """
    column = ColumnType.of(kind)
    return column.name in _TEXTS_OF_JAVA or (column.is_local and not legacy)


def type_text(kind: object) -> str:
    """A type as SQL writes it: `ROW<a INT, b ARRAY<STRING>>`. `kind` is the schema's value: a text, or an
    object for a nested type. An object of an unknown shape is returned as JSON."""
    if isinstance(kind, str):
        return kind
    try:
        return _nested(kind)
    except (KeyError, TypeError, RecursionError):
        return msgspec.json.encode(kind).decode()


_UNORDERED = re.compile(r"\b(?:(?:MAP|MULTISET)<|VARIANT\b)")


def unordered_part(kind: object) -> str:
    """`MAP`, `MULTISET` or `VARIANT` if the type has it, else empty: Spark can't compare their values."""
    found = _UNORDERED.search(type_text(kind))
    return found[0].rstrip("<") if found else ""


def has_ordered_entries(kind: object) -> bool:
    """Whether a column's values are maps, which their entries in the order of the keys can stand for.

    Not with floating numbers: Spark makes 0.0 of a key -0.0, and takes one for the other as a value.
    """
    if not isinstance(kind, Mapping) or "key" not in kind:
        return False
    parts = f"{type_text(kind['key'])} {type_text(kind['value'])}"
    return not _UNORDERED.search(parts) and not any(each in parts for each in FRACTIONS)


def parquet_paths(path: str, kind: object) -> Iterator[str]:
    """The dotted paths of a column's values in a Parquet file; `kind` as for `type_text`."""
    if not isinstance(kind, Mapping):
        yield path
        return
    for field in kind.get("fields", ()):
        yield from parquet_paths(f"{path}.{field['name']}", field["type"])
    if "key" in kind:
        yield from parquet_paths(f"{path}.key_value.key", kind["key"])
        yield from parquet_paths(f"{path}.key_value.value", kind["value"])
    elif "element" in kind:
        inside = "key_value.key" if str(kind["type"]).startswith("MULTISET") else "list.element"
        yield from parquet_paths(f"{path}.{inside}", kind["element"])


def nullable(kind: Any) -> Any:
    """A column's type, as a schema has it, without NOT NULL."""
    if isinstance(kind, str):
        return kind.removesuffix(_NOT_NULL)
    return {**kind, "type": str(kind["type"]).removesuffix(_NOT_NULL)}


def _nested(kind: object) -> str:
    """Raises `KeyError` and `TypeError` for an unknown shape."""
    if isinstance(kind, str):
        return kind
    if not isinstance(kind, Mapping):
        raise TypeError(kind)
    name, required = str(kind["type"]), ""
    if name.endswith(_NOT_NULL):
        name, required = name.removesuffix(_NOT_NULL), _NOT_NULL
    return f"{name}<{', '.join(_parts(name, kind))}>{required}"


def _parts(name: str, kind: Mapping[str, object]) -> list[str]:
    if name in ("ARRAY", "MULTISET"):
        return [_nested(kind["element"])]
    if name == "VECTOR":
        return [_nested(kind["element"]), str(kind["length"])]
    if name == "MAP":
        return [_nested(kind["key"]), _nested(kind["value"])]
    fields = kind["fields"] if name == "ROW" else None
    if not isinstance(fields, list):
        raise TypeError(kind)
    return [f"{quoted_if_needed(str(each['name']))} {_nested(each['type'])}" for each in fields]


# The prefix of the copy of a primary-key column, in files whose rows are merged by key.
KEY_PREFIX = "_KEY_"
