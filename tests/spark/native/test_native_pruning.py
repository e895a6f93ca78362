"""No file is passed over that holds a row which is wanted, whatever its statistics say or leave out."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypaimon.schema.data_types import AtomicType, DataField
from pypaimon.table.row.generic_row import GenericRow, GenericRowSerializer

from paimark.core.spark.native.conditions import Condition, Operator
from paimark.core.spark.native.pruning import Pruner
from paimark.core.spark.native.state import TableFile
from paimark.core.table.manifests.manifests import ManifestEntry
from paimark.core.table.records import SchemaField, TableSchema

TYPES = {
    "key": "BIGINT NOT NULL",
    "part": "STRING",
    "number": "INT",
    "text": "VARCHAR(20)",
    "money": "DECIMAL(22, 2)",
    "flag": "BOOLEAN",
    "rate": "DOUBLE",
}
TEXTS = ["", "a", "ab", "b", "Łódź", "\N{GRINNING FACE}", "longer than seven bytes"]
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "key": st.integers(-5, 5),
    "part": st.sampled_from(["", "x", "a longer one", None]),
    "number": st.none() | st.integers(-3, 3),
    "text": st.none() | st.sampled_from(TEXTS),
    "money": st.none() | st.integers(-300, 300).map(lambda cents: Decimal(cents) / 100),
    "flag": st.none() | st.booleans(),
    "rate": st.none() | st.floats(),
}
COLUMNS = list(TYPES)
OPERATORS: list[Operator] = ["=", "<", "<=", ">", ">=", "in", "null", "not null", "prefix"]


def schema(number: int, names: dict[str, str]) -> TableSchema:
    """The table's columns, some under other names."""
    fields = [
        SchemaField(id=place, name=names.get(name, name), type=TYPES[name])
        for place, name in enumerate(TYPES)
    ]
    return TableSchema(
        id=number,
        fields=fields,
        highest_field_id=len(fields),
        partition_keys=["part"],
        primary_keys=["part", "key"],
        options={},
    )


# Files were written when `number` was called otherwise.
PRUNER = Pruner(schema(1, {}), {0: schema(0, {"number": "old name"})})


def serialised(values: dict[str, Any]) -> bytes:
    fields = [
        DataField(place, name, AtomicType(TYPES[name].removesuffix(" NOT NULL")))
        for place, name in enumerate(values)
    ]
    data: bytes = GenericRowSerializer.to_bytes(GenericRow(list(values.values()), fields))
    return data


def file_of(rows: list[dict[str, Any]], known: list[str] | None) -> TableFile:
    """A file of the rows, all of one partition, with statistics of the columns `known` (None: of all)."""
    columns = COLUMNS if known is None else known
    have = {name: [row[name] for row in rows if row[name] is not None] for name in columns}
    bounds = {
        bound.__name__: serialised({name: bound(found) if found else None for name, found in have.items()})
        for bound in (min, max)
    }
    entry = {
        "_PARTITION": serialised({"part": rows[0]["part"]}),
        "_FILE": {
            "_MIN_KEY": serialised({"key": min(row["key"] for row in rows)}),
            "_MAX_KEY": serialised({"key": max(row["key"] for row in rows)}),
            "_VALUE_STATS": {
                "_MIN_VALUES": bounds["min"],
                "_MAX_VALUES": bounds["max"],
                "_NULL_COUNTS": [len(rows) - len(found) for found in have.values()],
            },
            "_VALUE_STATS_COLS": known and ["old name" if name == "number" else name for name in known],
        },
    }
    return TableFile("", "parquet", 1, len(rows), 0, (), ManifestEntry(entry))


def test_a_bound_that_java_cuts_wrongly_rules_nothing_out() -> None:
    """Of `b\ud7ff...` stock Paimon takes `b` and the next character, which is none: a question mark."""
    row = {"key": 1, "part": "x", "number": 1, "money": None, "flag": None, "rate": None}
    file = file_of([row | {"text": "a"}, row | {"text": "b?"}], None)
    for operator in OPERATORS[:6]:
        if operator not in ("<", "<="):
            assert PRUNER.keeps([Condition("text", operator, ("b\ud7ff",))])(file), operator
    intact = file_of([row | {"text": "a"}, row | {"text": "b!"}], None)
    assert not PRUNER.keeps([Condition("text", "=", ("b\ud7ff",))])(intact)


def holds(condition: Condition, row: dict[str, Any]) -> bool:
    value = row[condition.column]
    match condition.operator:
        case "null":
            return value is None
        case "not null":
            return value is not None
    if value is None:
        return False
    match condition.operator:
        case "<":
            return bool(value < condition.values[0])
        case "<=":
            return bool(value <= condition.values[0])
        case ">":
            return bool(value > condition.values[0])
        case ">=":
            return bool(value >= condition.values[0])
        case "prefix":
            return str(value).startswith(condition.values[0])
    return value in condition.values


@st.composite
def some_condition(draw: st.DrawFn) -> Condition:
    column = draw(st.sampled_from(COLUMNS))
    operator = draw(st.sampled_from(OPERATORS if column == "text" else OPERATORS[:-1]))
    if "null" in operator:
        return Condition(column, operator)
    values = draw(st.lists(VALUES[column].filter(lambda value: value is not None), min_size=1, max_size=3))
    return Condition(column, operator, tuple(values if operator == "in" else values[:1]))


@given(
    rows=st.lists(st.fixed_dictionaries(VALUES), min_size=1, max_size=4),
    known=st.none() | st.lists(st.sampled_from(COLUMNS), unique=True),
    asked=st.lists(some_condition(), min_size=1, max_size=3),
)
def test_a_file_with_a_row_that_is_wanted_is_kept(
    rows: list[dict[str, Any]], known: list[str] | None, asked: list[Condition]
) -> None:
    rows = [{**row, "part": rows[0]["part"]} for row in rows]
    if any(all(holds(each, row) for each in asked) for row in rows):
        assert PRUNER.keeps(asked)(file_of(rows, known))


ROW = {
    "key": 7,
    "part": "x",
    "number": 3,
    "text": "mm",
    "money": Decimal("1.50"),
    "flag": True,
    "rate": 0.5,
}


@pytest.mark.parametrize(
    ("column", "operator", "values"),
    [
        ("key", "=", (8,)),
        ("part", "in", ("y", "z")),
        ("part", "null", ()),
        ("number", ">", (3,)),
        ("number", "<", (3,)),
        ("text", "prefix", ("n",)),
        ("text", "prefix", ("ma",)),
        ("money", "<=", (Decimal("1.49"),)),
        ("flag", "=", (False,)),
        ("flag", "null", ()),
    ],
)
def test_a_file_that_can_have_none_is_passed_over(
    column: str, operator: Any, values: tuple[Any, ...]
) -> None:
    condition = Condition(column, operator, values)
    assert not PRUNER.keeps([condition])(file_of([ROW], None))
    if column not in ("key", "part"):
        # As pypaimon writes them.
        assert PRUNER.keeps([condition])(file_of([ROW], []))


def test_statistics_that_are_none_rule_nothing_out() -> None:
    file = file_of([ROW], None)
    file.entry.record["_FILE"]["_VALUE_STATS"] |= {"_MIN_VALUES": b"\0", "_MAX_VALUES": b"?" * 9}
    assert PRUNER.keeps([Condition("number", "=", (99,))])(file)
