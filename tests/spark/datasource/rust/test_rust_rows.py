"""Rows that pypaimon-rust reads are stock Paimon's; what it would misread Python reads."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from paimark.core.errors import NotFound, Refused
from paimark.core.spark.datasource.paimon import open_table, plan_splits, read_splits, without_padding
from paimark.core.spark.datasource.rust.choice import Choice
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from paimark.core.spark.datasource.table_rows import row_batches
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge
from tests.paimon import create_table

pytestmark = pytest.mark.usefixtures("by_rust")
BY_RUST = "by pypaimon-rust"
Written = Sequence[tuple[str, list[Any]]]
OLD: Written = [("+I", [1, 5, "a"]), ("+I", [2, 5, "b"]), ("+I", [3, 5, None])]
NEW: Written = [("+I", [1, 7, None]), ("+I", [2, 3, "B"]), ("+I", [4, 0, "d"])]


@dataclass(frozen=True)
class Case:
    """A table of `k`, its key, `v` INT and `s`, in two commits. `by` is what is said of its readers."""

    name: str
    by: str
    options: dict[str, str] = field(default_factory=dict)
    s: pa.DataType = field(default_factory=pa.string)
    word: str = "STRING"
    written: tuple[Written, Written] = (OLD, NEW)
    compacted: bool = False

    def __str__(self) -> str:
        return self.name


def _python(reason: str) -> str:
    return f"not by pypaimon-rust: {reason}"


CASES = [
    Case("deduplicate", BY_RUST),
    Case("deletes", BY_RUST, written=(OLD, [("-D", [1, 5, "a"]), ("-U", [2, 5, "b"]), ("+U", [3, 6, "c"])])),
    Case("sequence", BY_RUST, {"sequence.field": "v"}),
    Case(
        "descending",
        _python("sequence.field.sort-order is descending"),
        {"sequence.field": "v", "sequence.field.sort-order": "descending"},
    ),
    Case("partial-update", BY_RUST, {"merge-engine": "partial-update"}),
    Case(
        "aggregation",
        BY_RUST,
        {
            "merge-engine": "aggregation",
            "fields.v.aggregate-function": "sum",
            "fields.s.aggregate-function": "last_non_null_value",
        },
    ),
    Case("first-row", BY_RUST, {"merge-engine": "first-row", "write-only": "false"}, compacted=True),
    Case("vectors", BY_RUST, {"deletion-vectors.enabled": "true", "write-only": "false"}, compacted=True),
    Case("keyed avro", BY_RUST, {"file.format": "avro"}),
    Case("keyed orc", BY_RUST, {"file.format": "orc"}, word="VARCHAR(5)"),
    Case(
        "spaces in orc",
        _python("column s is CHAR in orc files"),
        {"file.format": "orc"},
        word="CHAR(5)",
    ),
    Case("spaces in parquet", BY_RUST, word="CHAR(5)"),
    Case(
        "rows in avro",
        _python("column s is ROW in avro files"),
        {"file.format": "avro"},
        s=pa.struct([("a", pa.int32()), ("b", pa.string())]),
        written=([("+I", [1, 5, [1, "a"]])], [("+I", [2, 5, [None, "b"]])]),
    ),
]


def scan_of(warehouse: Path) -> Scan:
    files, root = LocalFiles(str(warehouse)), TablePath("d", "t").root()
    access = WarehouseAccess(files, str(warehouse), {})
    return make_scan(access, root, Lineage(files, root).latest(), pinned=False)


def make(case: Case, warehouse: Path, judge: Judge) -> Scan:
    options = {"bucket": "1", "write-only": "true", **case.options}
    key = pa.field("k", pa.int32(), nullable=False)
    schema = pa.schema([key, ("v", pa.int32()), ("s", case.s)])
    words = {"s": case.word} if pa.types.is_string(case.s) else None
    create_table(warehouse, "d.t", schema, primary_keys=["k"], options=options, words=words)
    for rows in case.written:
        judge.put(warehouse, "d.t", rows)
    if case.compacted:
        judge.compact(warehouse, "d.t")
    return scan_of(warehouse)


def read(scan: Scan, splits: list[Any]) -> list[list[Any]]:
    found = [row for batch in read_splits(scan, [], splits) for row in batch.to_pylist()]
    return [
        [list(each.values()) if isinstance(each, dict) else each for each in row.values()] for row in found
    ]


def by_key(rows: list[list[Any]]) -> list[list[Any]]:
    return sorted(rows, key=lambda row: int(row[0]))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_its_rows_are_stock_paimons(
    case: Case, tmp_path: Path, judge: Judge, caplog: pytest.LogCaptureFixture
) -> None:
    scan = make(case, tmp_path, judge)
    splits = plan_splits(scan, [])
    assert Choice(scan, open_table(scan)).describe(splits) == case.by
    with caplog.at_level(logging.WARNING, "paimark"):
        assert by_key(read(scan, splits)) == by_key(judge.rows(tmp_path, "d.t"))
    # It has not left them to Python.
    assert not caplog.records
    alone = replace(scan, rust=False)
    assert Choice(alone, open_table(alone)).describe(splits) == _python("it is switched off")
    assert by_key(read(alone, splits)) == by_key(judge.rows(tmp_path, "d.t"))


def test_spaces_of_orc_beside_another_format_are_refused(tmp_path: Path, judge: Judge) -> None:
    """A value's own spaces can't be told from those that fill it up."""
    scan = make(Case("", "", {"file.format": "orc"}, word="CHAR(5)"), tmp_path, judge)
    [split] = plan_splits(scan, [])
    split.files[0].file_name = split.files[0].file_name.replace(".orc", ".parquet")
    with pytest.raises(Refused, match=r"Column s of d\.t holds CHAR in ORC files"):
        list(without_padding("d.t", [pa.RecordBatch.from_pydict({"s": ["a "]})], ["s"], split))


def test_a_lost_file_is_named_as_python_names_it(tmp_path: Path, judge: Judge) -> None:
    scan = make(CASES[0], tmp_path, judge)
    data = next(tmp_path.rglob("bucket-0/data-*.parquet"))
    data.unlink()
    with pytest.raises(NotFound, match=f"A file that this version of d.t needs is not there.*{data.name}"):
        list(row_batches(scan))
