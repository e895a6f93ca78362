"""A column that files lack is null in each of their rows, also where nothing else is asked for."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from msgspec.structs import replace
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange

from paimark.core.errors import Refused
from paimark.core.spark.datasource.paimon import plan_splits, read_splits
from paimark.core.spark.datasource.scan import Scan, WarehouseAccess, make_scan
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from tests.interop.judge import Judge
from tests.paimon import commit, create_table, open_table
from tests.wording import about

SCHEMA = pa.schema([("k", pa.int32()), ("v", pa.int32())])
EVOLVES = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro", "row"])
def test_rows_from_before_a_column_was_added_are_there(tmp_path: Path, file_format: str) -> None:
    create_table(tmp_path, "d.t", SCHEMA, options={"bucket": "-1", "file.format": file_format})
    commit(tmp_path, "d.t", pa.table([[1, 2], [5, 6]], schema=SCHEMA))
    change = SchemaChange.add_column("x", AtomicType("INT"))
    open_table(tmp_path, "d.t").schema_manager.commit_changes([change])
    scan = replace(_scan(tmp_path), columns=("x",))
    assert _values(scan, "x") == [None, None]
    assert _number(replace(scan, columns=())) == 2


# Kinds of tables: a key or none, and options.
KINDS: dict[str, tuple[list[str], dict[str, str]]] = {
    "append": ([], {"bucket": "-1"}),
    "evolves": ([], {"bucket": "-1", **EVOLVES}),
    "deduplicate": (["k"], {"bucket": "1"}),
    "vectors": (["k"], {"bucket": "1", "deletion-vectors.enabled": "true"}),
    "partial-update": (["k"], {"bucket": "1", "merge-engine": "partial-update"}),
    "first-row": (["k"], {"bucket": "1", "merge-engine": "first-row"}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_rows_are_counted_without_a_column(tmp_path: Path, judge: Judge, file_format: str, kind: str) -> None:
    keys, options = KINDS[kind]
    columns = {"v": "INT", **dict.fromkeys(keys, "INT NOT NULL")}
    judge.create(tmp_path, "d.t", columns, keys=keys, options={"file.format": file_format, **options})
    for numbers in ([1, 2], [2, 3]):
        judge.put(tmp_path, "d.t", [("+I", [each, each][: len(columns)]) for each in numbers])
    if kind in ("vectors", "first-row"):
        judge.compact(tmp_path, "d.t")
    assert _number(replace(_scan(tmp_path), columns=())) == len(judge.rows(tmp_path, "d.t"))


def test_files_in_which_no_column_is_left_are_refused(tmp_path: Path, judge: Judge) -> None:
    create_table(tmp_path, "d.t", SCHEMA, options={"bucket": "-1", "file.format": "avro"})
    commit(tmp_path, "d.t", pa.table([[1, 2], [5, 6]], schema=SCHEMA))
    judge.alter(tmp_path, "d.t", "add", "x", type="INT")
    for name in SCHEMA.names:
        judge.alter(tmp_path, "d.t", "drop", name)
    assert judge.rows(tmp_path, "d.t") == [[None], [None]]
    for columns in (None, (), ("x",)):
        with pytest.raises(Refused, match=about("d.t", "files", "no column")):
            _number(replace(_scan(tmp_path), columns=columns))


@pytest.mark.parametrize("change", ["add", "rename", "drop"])
def test_data_evolution_whose_columns_were_changed_is_refused(
    tmp_path: Path, judge: Judge, change: str
) -> None:
    """Its manifests name columns by their old names, and rows without a selected column would be lost."""
    create_table(tmp_path, "d.t", SCHEMA, options={"bucket": "-1", **EVOLVES})
    commit(tmp_path, "d.t", pa.table([[1, 2], [5, 6]], schema=SCHEMA))
    builder = open_table(tmp_path, "d.t").new_batch_write_builder()
    writer, committer = builder.new_write().with_write_type(["v"]), builder.new_commit()
    writer.write_arrow(pa.table({"v": pa.array([7, 8], pa.int32())}))
    messages = writer.prepare_commit()
    messages[0].new_files[0].first_row_id = 0
    committer.commit(messages)
    assert _values(_scan(tmp_path), "v") == [8, 7]
    assert _number(replace(_scan(tmp_path), columns=())) == 2
    given = {"add": ("x", {"type": "INT"}), "rename": ("v", {"name": "w"}), "drop": ("v", {})}
    column, more = given[change]
    judge.alter(tmp_path, "d.t", change, column, **more)
    with pytest.raises(Refused, match=about("d.t", "data-evolution.enabled", "columns")):
        _number(_scan(tmp_path))


def _scan(warehouse: Path) -> Scan:
    files, root = LocalFiles(str(warehouse)), TablePath("d", "t").root()
    return make_scan(
        WarehouseAccess(files, str(warehouse), {}), root, Lineage(files, root).latest(), pinned=False
    )


def _number(scan: Scan) -> int:
    return sum(batch.num_rows for batch in read_splits(scan, plan_splits(scan)))


def _values(scan: Scan, name: str) -> list[int | None]:
    batches = list(read_splits(scan, plan_splits(scan)))
    return sorted((row[name] for batch in batches for row in batch.to_pylist()), key=str, reverse=True)
