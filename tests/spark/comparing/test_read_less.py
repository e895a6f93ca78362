"""A difference with the files of both left out is the same difference, and does without those files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from pypaimon import CatalogFactory
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange

from paimark.core.spark.client.client import Engine
from paimark.core.spark.datasource.scan import WarehouseAccess, make_scan
from paimark.core.spark.incremental.differing_files import narrowed_to_differences
from paimark.core.spark.protocol import Failed
from paimark.core.storage.local import LocalFiles
from paimark.core.table.catalog import find_table
from paimark.core.travel.diff.diff import Difference, make_difference
from paimark.core.travel.diff.versions import parse_version
from tests.long import long_but
from tests.paimon import commit, create_table, open_table
from tests.spark.engine_fixture import Answer, ask, by_library
from tests.table.branches import create_branch

LOG = pa.schema([pa.field("day", pa.string()), pa.field("n", pa.int64())])
ITEMS = pa.schema(
    [pa.field("id", pa.int64(), nullable=False), pa.field("op", pa.string()), pa.field("price", pa.float64())]
)
Make = Callable[[Path], None]


def log(warehouse: Path) -> None:
    """Nulls and rows that are there twice; then a column more, and one renamed; a day is written over."""
    create_table(warehouse, "less.log", LOG, partition_keys=["day"])
    for days in (["mon", "mon", None], ["tue", "tue"], ["wed"]):
        rows = pa.table({"day": days, "n": [1, 1, None][: len(days)]}, schema=LOG)
        commit(warehouse, "less.log", rows)
    catalog = CatalogFactory.create({"warehouse": str(warehouse)})
    changes = [
        SchemaChange.add_column("note", AtomicType("STRING")),
        SchemaChange.rename_column("n", "number"),
    ]
    catalog.alter_table("less.log", changes)
    later = pa.schema([LOG.field("day"), pa.field("number", pa.int64()), pa.field("note", pa.string())])
    commit(
        warehouse,
        "less.log",
        pa.table({"day": ["mon"], "number": [7], "note": ["x"]}, schema=later),
        overwrite=True,
    )


def items(warehouse: Path) -> None:
    """Four buckets; keys that are changed, deleted and made again; a branch that changes one of its own."""
    options = {"bucket": "4", "rowkind.field": "op"}
    create_table(warehouse, "less.items", ITEMS, primary_keys=["id"], options=options)
    _put(warehouse, "less.items", *((each, "+I", float(each)) for each in range(40)))
    open_table(warehouse, "less.items").create_tag("start", 1)
    create_branch(warehouse, "less.items", "fix", "start")
    _put(warehouse, "less.items", (1, "+I", None), (2, "-D", 2.0))
    _put(warehouse, "less.items", (2, "+I", 2.0), (1, "-D", None))
    _put(warehouse, "less.items$branch_fix", (7, "+I", -7.0), (99, "+I", float("nan")))


def _put(warehouse: Path, table: str, *rows: tuple[int, str, float | None]) -> None:
    made = [dict(zip(ITEMS.names, row, strict=True)) for row in rows]
    commit(warehouse, table, pa.Table.from_pylist(made, schema=ITEMS))


# Each difference, and how many files of each version it reads.
CASES = {
    "log": (log, {("1", "2"): (0, 1), ("2", "4"): (1, 2), ("4", "3"): (1, 1)}),
    "items": (items, {("1", "3"): (2, 6), ("start", "fix"): (1, 3)}),
}


@pytest.mark.parametrize("name", long_but(CASES, "items"))
def test_rows_are_those_of_the_whole_difference_and_other_files_are_not_needed(
    name: str, engine: Engine, engine_warehouse: Path
) -> None:
    make, pairs = CASES[name]
    make(engine_warehouse)
    for (old, new), read in pairs.items():
        difference = _difference(engine_warehouse, f"less.{name}", old, new)
        needed = _files_needed(engine_warehouse, difference)
        assert tuple(map(len, needed)) == read, (old, new)
        with _hidden(engine_warehouse / f"less.db/{name}", {*needed[0], *needed[1]}) as hidden:
            assert hidden
            less = _rows(ask(engine, difference.sql, differing=True))
        assert less == _rows(ask(engine, difference.sql)), (old, new)
    with by_library(engine), _hidden(engine_warehouse / f"less.db/{name}", {*needed[0], *needed[1]}):
        assert _rows(ask(engine, difference.sql, differing=True)) == less


def test_a_file_whose_rows_are_all_in_both_is_read_for_its_keys_alone(
    engine: Engine, engine_warehouse: Path
) -> None:
    def written(*rows: tuple[int, str, float | None]) -> set[str]:
        before = {*bucket.glob("*")}
        _put(engine_warehouse, "less.runs", *rows)
        return {path.name for path in {*bucket.glob("*")} - before}

    bucket = engine_warehouse / "less.db/runs/bucket-0"
    create_table(engine_warehouse, "less.runs", ITEMS, primary_keys=["id"], options={"bucket": "1"})
    changed = written(*((each, "+I", float(each)) for each in range(40)))
    assert written((5, "+I", 50.0), (6, "+I", 60.0))
    changed |= written((1, "+I", 10.0), (39, "+I", 39.0))
    difference = _difference(engine_warehouse, "less.runs", "2", "3")
    # Behind this it is known which rows of the files are in which of the versions.
    found = _rows(ask(engine, difference.sql, differing=True))
    assert found == _rows(ask(engine, difference.sql))
    assert len(found) == 1
    with _hidden(bucket.parent, changed) as hidden:
        assert len(hidden) == 1
        assert _rows(ask(engine, difference.sql, differing=True)) == found


def _difference(warehouse: Path, table: str, old: str, new: str) -> Difference:
    files = LocalFiles(str(warehouse))
    place = find_table(files, table)
    return make_difference(files, place, parse_version(files, place, old), parse_version(files, place, new))


def _rows(answer: Answer) -> list[str]:
    assert not isinstance(answer.end, Failed), answer.end
    return [repr(row) for row in answer.rows]


def _files_needed(warehouse: Path, difference: Difference) -> list[tuple[str, ...]]:
    files = LocalFiles(str(warehouse))
    access, sides = WarehouseAccess(files, str(warehouse), {}), (difference.old, difference.new)
    old, new = narrowed_to_differences(
        files, *(make_scan(access, each.root, each.snapshot, pinned=True) for each in sides)
    )
    assert old.scan.only is not None
    assert new.scan.only is not None
    return [old.scan.only, new.scan.only]


@contextmanager
def _hidden(table: Path, needed: set[str]) -> Iterator[list[Path]]:
    """Inside, no other data file of the table is there."""
    others = [path for path in table.rglob("bucket-*/*") if path.name not in needed]
    for path in others:
        path.rename(path.with_name(f"{path.name}.hidden"))
    try:
        yield others
    finally:
        for path in others:
            path.with_name(f"{path.name}.hidden").rename(path)
