"""Rows that are merged in Arrow are stock Paimon's: of every type, and by every function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from paimark.core.spark.datasource import paimon
from paimark.core.spark.datasource.merged.reading import merged_rows
from paimark.core.spark.datasource.paimon import plan_splits, read_splits
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge
from tests.paimon import create_table
from tests.spark.generated_tables import Generated, generate
from tests.spark.generated_tables_values import ATOMIC, comparable, key_values, nullable, plain

_MANY, _FEW = 300, 10
_CHOICES = ("last_value", "first_value", "last_non_null_value", "first_non_null_value")
_EXTREMES = [each for each in ATOMIC if not (pa.types.is_boolean(each) or pa.types.is_binary(each))]
_SUMS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float64()]
_KEYS = [pa.int64(), pa.int16(), pa.string(), pa.decimal128(30, 3), pa.date32(), pa.timestamp("us")]
_KEYS += [pa.bool_(), pa.binary()]
_SEQUENCES = [pa.int32(), pa.string(), pa.decimal128(10, 2), pa.timestamp("ms"), pa.date32()]
_SEQUENCES += [pa.bool_(), pa.binary()]


@dataclass
class Merges:
    """How many splits were merged in Arrow, and how many were left to pypaimon."""

    done: int = 0
    left: int = 0


@pytest.fixture
def merges(monkeypatch: pytest.MonkeyPatch) -> Merges:
    counts, usual = Merges(), merged_rows

    def counted(*arguments: Any) -> Any:
        rows = usual(*arguments)
        counts.done += rows is not None
        counts.left += rows is None
        return rows

    monkeypatch.setattr(paimon, "merged_rows", counted)
    return counts


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(1, (_MANY if metafunc.config.getoption("--long") else _FEW) + 1))


def test_generated_tables_are_merged_as_by_stock(
    seed: int, tmp_path: Path, judge: Judge, merges: Merges
) -> None:
    random = Random(seed)
    engine = random.choice(["partial-update", "aggregation"])
    table = Generated(seed, only=(engine, random.choice(["parquet", "parquet", "orc", "avro"])))
    generate(table, tmp_path, judge)
    kinds = [each.type for each in table.targets[0].columns]
    try:
        agree(_scan(tmp_path, table.name), judge.rows(tmp_path, table.name), kinds)
    except Exception as error:
        error.add_note("\n".join(table.story))
        raise


@dataclass
class Wide:
    """A table with a column for each function and type."""

    random: Random
    columns: list[pa.Field] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        random = self.random
        self.keys = [
            pa.field(f"k{i}", each, False)
            for i, each in enumerate(random.sample(_KEYS, random.choice([1, 2])))
        ]
        self.sequence = [
            pa.field(f"s{i}", each)
            for i, each in enumerate(random.sample(_SEQUENCES, random.choice([0, 0, 1, 2])))
        ]
        pairs = [(name, each) for name in _CHOICES for each in ATOMIC]
        pairs += [(name, each) for name in ("max", "min") for each in _EXTREMES]
        pairs += [("sum", each) for each in _SUMS]
        self.values = [
            pa.field(f"{name}_{i}", each) for i, (name, each) in enumerate(random.sample(pairs, 25))
        ]
        self.columns = [*self.keys, *self.sequence, *self.values]
        random.shuffle(self.columns)
        self.options = {
            "bucket": "1",
            "merge-engine": "aggregation",
            "write-only": random.choice(["true", "false"]),
            "num-sorted-run.compaction-trigger": "3",
            **{f"fields.{each.name}.aggregate-function": self.function(each) for each in self.values},
        }
        if self.sequence:
            self.options["sequence.field"] = ",".join(each.name for each in self.sequence)
            self.options["sequence.field.sort-order"] = random.choice(["ascending", "descending"])
        self.pools = {
            each.name: key_values(random, each.type, random.choice([2, 5, 20])) for each in self.keys
        }

    def function(self, column: pa.Field) -> str:
        return str(column.name).rpartition("_")[0]

    def rows(self, count: int) -> list[tuple[str, list[Any]]]:
        rows = {}
        for _ in range(count):
            row = {each.name: self._value(each) for each in self.columns}
            rows[tuple(repr(row[each.name]) for each in self.keys)] = row
        return [
            (self.random.choice(["+I", "+U"]), [plain(row[each.name], each.type) for each in self.columns])
            for row in rows.values()
        ]

    def _value(self, column: pa.Field) -> Any:
        if column.name in self.pools:
            return self.random.choice(self.pools[column.name])
        if column in self.sequence:
            # Few, so that sequence numbers decide too.
            return self.random.choice([None, *key_values(Random(1), column.type, 3)])
        if self.function(column) == "sum":
            return self.random.choice(
                [None, -3, 0, 5] if pa.types.is_integer(column.type) else [None, 0.1, 1e16, -1e16, 3.3]
            )
        return nullable(self.random, column.type)


def test_every_function_gives_stock_paimons_value(
    seed: int, tmp_path: Path, judge: Judge, merges: Merges
) -> None:
    wide = Wide(Random(f"functions {seed}"))
    create_table(
        tmp_path,
        "d.t",
        pa.schema(wide.columns),
        primary_keys=[each.name for each in wide.keys],
        options=wide.options,
    )
    for _ in range(wide.random.choice([2, 4, 6])):
        judge.put(tmp_path, "d.t", wide.rows(wide.random.choice([3, 20, 60])))
        if wide.random.random() < 0.2:
            judge.compact(tmp_path, "d.t")
    judge.put(tmp_path, "d.t", wide.rows(3))
    scan = _scan(tmp_path, "d.t")
    kinds = [each.type for each in wide.columns]
    agree(scan, judge.rows(tmp_path, "d.t"), kinds)
    assert (merges.done, merges.left) == (sum(not each.raw_convertible for each in plan_splits(scan, [])), 0)
    some = wide.random.sample(wide.columns, 3)
    names = [each.name for each in some]
    agree(
        replace(scan, columns=tuple(names)),
        judge.rows(tmp_path, "d.t", columns=names),
        [each.type for each in some],
    )


def agree(scan: Scan, expected: Sequence[list[Any]], kinds: list[pa.DataType]) -> None:
    assert Counter(_texts(_rows(scan), kinds)) == Counter(_texts(expected, kinds))


def _texts(rows: Sequence[list[Any]], kinds: list[pa.DataType]) -> list[str]:
    return [comparable(row, kinds) for row in rows]


def _rows(scan: Scan) -> list[list[Any]]:
    batches = list(read_splits(scan, (), plan_splits(scan, ())))
    assert all(batch.num_rows for batch in batches)
    return [
        [plain(each, kind.type) for each, kind in zip(row.values(), batch.schema, strict=True)]
        for batch in batches
        for row in batch.to_pylist()
    ]


def _scan(warehouse: Path, name: str) -> Scan:
    files, root = LocalFiles(str(warehouse)), TablePath(*name.split(".")).root()
    latest = Lineage(files, root).latest()
    scan = make_scan(WarehouseAccess(files, str(warehouse), {}), root, latest, pinned=False)
    return replace(scan, rust=False)
