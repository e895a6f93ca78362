"""Kinds of tables, and who reads each: the same rows as stock Paimon's. `docs/tables.md` says the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import paimark
from paimark.core.errors import Refused
from paimark.core.spark.client.client import Engine
from tests.interop.judge import Judge
from tests.long import long_but
from tests.paimon import create_table
from tests.spark.engine_fixture import ask, by_library, rows

DOCS = Path(__file__).parents[3] / "docs" / "tables.md"
Write = tuple[str, list[Any]]


@dataclass(frozen=True)
class Kind:
    """`writes` are commits, each of rows with their kinds. `compacts`: also the compacted table is read."""

    columns: Mapping[str, str | pa.DataType]
    writes: Sequence[Sequence[Write]]
    options: Mapping[str, str] = field(default_factory=dict)
    keys: Sequence[str] = ("k",)
    partitions: Sequence[str] = ()
    compacts: bool = True


def _inserts(*given: list[Any]) -> list[Write]:
    return [("+I", row) for row in given]


_PLAIN = {"file.compression": "none"}
_STRUCT = pa.struct([("a", pa.int32()), ("b", pa.string())])
_ARROW = {"INT": pa.int32(), "STRING": pa.string()}
_PARTIAL = {"bucket": "1", "merge-engine": "partial-update"}
_SUMS = {"bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
_NUMBERS = {"k": "INT", "v": "INT", "s": "STRING"}
_TWICE = [_inserts([1, 10, "a"], [2, 20, "b"]), _inserts([1, 5, "b"], [3, 30, None])]


def _aggregating(function: str, **more: str) -> dict[str, str]:
    options = {f"fields.s.{name.replace('_', '-')}": value for name, value in more.items()}
    return {**_SUMS, "fields.s.aggregate-function": function, **options}


WAYS = {"native": "Spark's readers", "paimon library": "Paimon's library"}
# The others differ less from these.
OFTEN = (
    "append",
    "sequence group",
    "retractions",
    "nested_update",
    "first row",
    "json",
    "row tracking",
)
KINDS = {
    "append": Kind(_NUMBERS, _TWICE, keys=(), compacts=False),
    "avro without keys": Kind(_NUMBERS, _TWICE, {"file.format": "avro"}, keys=(), compacts=False),
    "newest row of a key": Kind(_NUMBERS, _TWICE, {"bucket": "1"}),
    "newest row by sequence": Kind(_NUMBERS, _TWICE, {"bucket": "1", "sequence.field": "v"}),
    "dynamic buckets": Kind(_NUMBERS, _TWICE, {"bucket": "-1"}, compacts=False),
    "postponed buckets": Kind(_NUMBERS, _TWICE, {"bucket": "-2"}),
    "partial update": Kind(_NUMBERS, _TWICE, _PARTIAL),
    "aggregation": Kind(_NUMBERS, _TWICE, _SUMS),
    "listagg": Kind(_NUMBERS, _TWICE, _aggregating("listagg")),
    "sequence group": Kind(
        {"k": "INT", "v": "INT", "s": "STRING", "g": "INT"},
        [
            _inserts([1, 10, "a", 2], [2, 20, "b", 1]),
            _inserts([1, 11, "old", 1], [2, 21, "new", 2]),
            _inserts([1, None, "z", None]),
        ],
        {**_PARTIAL, "fields.g.sequence-group": "v,s"},
    ),
    "aggregated in a sequence group": Kind(
        {"k": "INT", "v": "INT", "s": "STRING", "g": "INT"},
        [_inserts([1, 10, "a", 2], [2, 20, "b", 1]), _inserts([1, 11, "old", 1], [2, 21, "new", 2])],
        {**_PARTIAL, "fields.g.sequence-group": "v,s", "fields.v.aggregate-function": "sum"},
    ),
    "retractions": Kind(
        _NUMBERS, [*_TWICE, [("-D", [1, 3, None]), ("-U", [2, 20, "b"]), ("-D", [9, 1, None])]], _SUMS
    ),
    "ignored retractions": Kind(
        _NUMBERS, [*_TWICE, [("-D", [1, 3, None])]], {**_SUMS, "fields.v.ignore-retract": "true"}
    ),
    "partial update that removes": Kind(
        _NUMBERS,
        [*_TWICE, [("-D", [1, None, None])]],
        {**_PARTIAL, "partial-update.remove-record-on-delete": "true"},
    ),
    "partial update that ignores deletes": Kind(
        _NUMBERS, [*_TWICE, [("-D", [1, None, None])]], {**_PARTIAL, "ignore-delete": "true"}
    ),
    "aggregation that removes": Kind(
        _NUMBERS, [*_TWICE, [("-D", [1, 1, None])]], {**_SUMS, "aggregation.remove-record-on-delete": "true"}
    ),
    "distinct listagg": Kind(
        _NUMBERS, [*_TWICE, *_TWICE], _aggregating("listagg", distinct="true", list_agg_delimiter=";")
    ),
    "collect": Kind(
        {"k": "INT", "v": "INT", "s": pa.list_(pa.int32())},
        [_inserts([1, 1, [1, 2]], [2, 1, None]), _inserts([1, 1, [2, 3]], [2, 1, [7]])],
        _aggregating("collect", distinct="true"),
    ),
    "merge_map": Kind(
        {"k": "INT", "v": "INT", "s": pa.map_(pa.string(), pa.int32())},
        [_inserts([1, 1, [["a", 1]]], [2, 1, None]), _inserts([1, 1, [["b", 2]]])],
        _aggregating("merge_map"),
    ),
    "nested_update": Kind(
        {"k": "INT", "v": "INT", "s": pa.list_(_STRUCT)},
        [_inserts([1, 1, [[1, "x"], [2, "y"]]]), _inserts([1, 1, [[2, "z"]]], [2, 1, [[9, None]]])],
        _aggregating("nested_update", nested_key="a"),
    ),
    "first row": Kind(_NUMBERS, _TWICE, {"bucket": "1", "merge-engine": "first-row"}),
    "avro": Kind(_NUMBERS, _TWICE, {"bucket": "2", "sequence.field": "v", "file.format": "avro"}),
    "csv": Kind(
        _NUMBERS, _TWICE, {"file.format": "csv", "file.compression": "none"}, keys=(), compacts=False
    ),
    "json": Kind(
        _NUMBERS, _TWICE, {"file.format": "json", "file.compression": "none"}, keys=(), compacts=False
    ),
    "zoned partitions": Kind(
        {"k": "INT", "v": "INT", "p": "TIMESTAMP_LTZ(3)"},
        [_inserts([1, 1, 1_700_000_000_123_000], [2, 2, 0])],
        {"partition.legacy-name": "false"},
        keys=(),
        partitions=("p",),
        compacts=False,
    ),
    "row tracking": Kind(_NUMBERS, _TWICE, {"row-tracking.enabled": "true"}, keys=(), compacts=False),
    "data evolution": Kind(
        _NUMBERS,
        _TWICE,
        {"row-tracking.enabled": "true", "data-evolution.enabled": "true"},
        keys=(),
        compacts=False,
    ),
    "wide vectors": Kind(
        _NUMBERS,
        [*_TWICE, [("-D", [1, 10, "a"])]],
        {"bucket": "1", "deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": "true"},
    ),
    "small files": Kind(
        _NUMBERS, _TWICE, {"bucket": "1", "data-file.thin-mode": "true", "file.format": "orc"}
    ),
}


def as_judged(value: Any) -> Any:
    """A value of the engine's as the judge writes it."""
    match value:
        case dict():
            return [as_judged(each) for each in value.values()]
        case list() | tuple():
            return [as_judged(each) for each in value]
    return value


def found(engine: Engine, sql: str) -> list[list[Any]]:
    return sorted(([as_judged(each) for each in row.values()] for row in rows(engine, sql)), key=repr)


def expected(judge: Judge, warehouse: Path, table: str, **at: Any) -> list[list[Any]]:
    return sorted(judge.rows(warehouse, table, **at), key=repr)


def make(judge: Judge, warehouse: Path, table: str, kind: Kind) -> None:
    words = {name: each for name, each in kind.columns.items() if isinstance(each, str)}
    if len(words) == len(kind.columns):
        judge.create(
            warehouse, table, words, keys=kind.keys, partitions=kind.partitions, options=kind.options
        )
    else:
        # The judge has no words for types within types.
        fields = [
            pa.field(name, _ARROW.get(each, each) if isinstance(each, str) else each, name not in kind.keys)
            for name, each in kind.columns.items()
        ]
        create_table(warehouse, table, pa.schema(fields), primary_keys=kind.keys, options=kind.options)
    for written in kind.writes:
        judge.put(warehouse, table, written)


@pytest.mark.parametrize("name", long_but(KINDS, *OFTEN))
def test_rows_are_those_of_stock_paimon(
    name: str, engine: Engine, engine_warehouse: Path, judge: Judge
) -> None:
    kind, table = KINDS[name], f"kinds.{name.replace(' ', '_')}"
    make(judge, engine_warehouse, table, kind)
    shown = ", ".join(
        f"unix_micros({each})" if str(word).startswith("TIMESTAMP_LTZ") else each
        for each, word in kind.columns.items()
    )
    scans = []
    for is_compacted in (False, True) if kind.compacts else (False,):
        if is_compacted:
            judge.compact(engine_warehouse, table)
        theirs = expected(judge, engine_warehouse, table)
        assert theirs or name in ("first row", "wide vectors")
        with by_library(engine):
            assert found(engine, f"SELECT {shown} FROM {table}") == theirs
            assert found(engine, f"SELECT count(*) FROM {table}") == [[len(theirs)]]
            of_one = [row for row in theirs if row[0] == 1]
            assert found(engine, f"SELECT {shown} FROM {table} WHERE k = 1") == of_one
            bounds = (
                [[min(row[0] for row in theirs), max(row[0] for row in theirs)]] if theirs else [[None] * 2]
            )
            assert found(engine, f"SELECT min(k), max(k) FROM {table}") == bounds
            assert len(found(engine, f"SELECT v FROM {table} LIMIT 1")) == min(1, len(theirs))
        # By itself, Spark's own readers or the library: nothing else.
        answer = ask(engine, f"SELECT {shown} FROM {table}")
        assert answer.finish.rows == len(theirs)
        (reading,) = answer.readings
        scans.append(WAYS[reading.scan])
    assert documented(name) == [scans[0], scans[-1], by_python(engine_warehouse, table, len(theirs))]


def by_python(warehouse: Path, table: str, count: int) -> str:
    """Whether Python reads the rows as they are, or refuses them."""
    try:
        read = paimark.open(str(warehouse)).table(table).at().to_arrow()
    except Refused:
        return "refused"
    assert read.num_rows == count
    return "works"


def documented(name: str) -> list[str]:
    """Who reads new rows, who reads compacted ones, and whether Python reads these."""
    (line,) = (line for line in DOCS.read_text().splitlines() if line.startswith(f"| {name} | by "))
    return [cell.strip().removeprefix("by ") for cell in line.split("|")[2:5]]
