"""Rows of an aggregation become what stock Paimon makes of them, or are refused by their column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from paimark.core.errors import Refused
from paimark.core.spark.datasource.paimon import row_batches
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge
from tests.interop.written import as_judged
from tests.paimon import create_table
from tests.wording import about

_FRACTIONS = [1.5, "NaN", -0.0, 0.0, None, "Infinity", "-Infinity"]
_NUMBERS = [2, None, -3, 1, 0]
_TEXTS = ["", "a", None, " ", "b", "", "a"]
_DECIMALS = ["1.25", "-2.00", None, "3.10"]
# By function: columns it is tried on, and the values of rows of one key.
ALIKE: dict[str, list[tuple[pa.DataType, list[Any]]]] = {
    "sum": [(pa.int32(), _NUMBERS), (pa.decimal128(9, 2), _DECIMALS)],
    "product": [(pa.int32(), _NUMBERS), (pa.decimal128(9, 2), _DECIMALS)],
    "max": [(pa.int32(), _NUMBERS), (pa.string(), _TEXTS), (pa.decimal128(9, 2), _DECIMALS)],
    "min": [(pa.int32(), _NUMBERS), (pa.string(), _TEXTS), (pa.decimal128(9, 2), _DECIMALS)],
    "first_value": [(pa.string(), _TEXTS), (pa.float64(), _FRACTIONS)],
    "last_non_null_value": [(pa.string(), _TEXTS), (pa.float64(), _FRACTIONS)],
    "bool_and": [(pa.bool_(), [True, None, False])],
}
_OPTIONS = {"bucket": "1", "merge-engine": "aggregation", "write-only": "true"}


def test_values_of_all_functions(tmp_path: Path, judge: Judge) -> None:
    columns = [
        (f"{function}{place}", function, kind, values)
        for function, tried in ALIKE.items()
        for place, (kind, values) in enumerate(tried)
    ]
    schema = pa.schema(
        [pa.field("k", pa.int32(), nullable=False), *((name, kind) for name, _, kind, _ in columns)]
    )
    functions = {f"fields.{name}.aggregate-function": function for name, function, _, _ in columns}
    create_table(tmp_path, "d.t", schema, primary_keys=["k"], options=_OPTIONS | functions)
    for step in range(max(len(values) for *_, values in columns)):
        forth = [values[step] if step < len(values) else None for *_, values in columns]
        back = [values[-1 - step] if step < len(values) else None for *_, values in columns]
        judge.put(tmp_path, "d.t", [("+I", [1, *forth]), ("+I", [2, *back])])
    expected = sorted(judge.rows(tmp_path, "d.t"), key=repr)
    batches = row_batches(_scan(tmp_path))
    found = as_judged([list(row.values()) for batch in batches for row in batch.to_pylist()])
    named = [dict(zip(schema.names, row, strict=True)) for row in found]
    assert repr(named) == repr([dict(zip(schema.names, row, strict=True)) for row in expected])


@pytest.mark.parametrize(("function", "kind"), [("max", pa.float64()), ("min", pa.float32())])
def test_what_is_merged_otherwise_is_refused(
    function: str, kind: pa.DataType, tmp_path: Path, judge: Judge
) -> None:
    schema = pa.schema([pa.field("k", pa.int32(), nullable=False), ("c", kind), ("n", pa.int32())])
    options = _OPTIONS | {"fields.c.aggregate-function": function}
    create_table(tmp_path, "d.t", schema, primary_keys=["k"], options=options)
    for _ in range(2):
        judge.put(tmp_path, "d.t", [("+I", [1, None, 7])])
    with pytest.raises(Refused, match=about("column c", "d.t", function)):
        list(row_batches(_scan(tmp_path)))
    some = replace(_scan(tmp_path), columns=("k", "n"))
    assert [row for batch in row_batches(some) for row in batch.to_pylist()] == [{"k": 1, "n": 7}]
    judge.compact(tmp_path, "d.t")
    assert [row["c"] for batch in row_batches(_scan(tmp_path)) for row in batch.to_pylist()] == [None]


def test_a_sum_that_its_column_can_t_hold(tmp_path: Path, judge: Judge) -> None:
    judge.create(
        tmp_path,
        "d.t",
        {"k": "INT NOT NULL", "c": "TINYINT"},
        keys=["k"],
        options=_OPTIONS | {"fields.c.aggregate-function": "sum"},
    )
    for _ in range(2):
        judge.put(tmp_path, "d.t", [("+I", [1, 100])])
    with pytest.raises(Refused, match=about("d.t", "merged", "large", "200")):
        list(row_batches(_scan(tmp_path)))


def _scan(warehouse: Path) -> Scan:
    files, root = LocalFiles(str(warehouse)), TablePath("d", "t").root()
    access = WarehouseAccess(files, str(warehouse), {})
    return make_scan(access, root, Lineage(files, root).latest(), pinned=False)
