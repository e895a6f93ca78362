"""Which files a snapshot needs, and where they lie: against what pypaimon writes and reads."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypaimon.schema.data_types import AtomicType, DataField
from pypaimon.table.row.generic_row import GenericRow, GenericRowSerializer
from pypaimon.utils.file_store_path_factory import FileStorePathFactory

from paimark.core.errors import Corrupt, FileMissing, Refused
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import (
    StoredFile,
    data_manifests,
    each_needed_file,
    live_facts,
    missing_files,
)
from paimark.core.table.manifests.manifests import read_manifests
from paimark.core.table.manifests.partitions import PartitionNames
from paimark.core.table.records import SchemaField, Snapshot, TableSchema
from tests.paimon import commit, create_table, open_table

ORDERS, EVENTS = TablePath("shop", "orders"), TablePath("shop", "events")
KEYED = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("v", pa.string())])


@pytest.fixture
def files(warehouse: Path) -> LocalFiles:
    return LocalFiles(str(warehouse))


def test_all_snapshots_together_need_every_file_that_was_written(files: LocalFiles, warehouse: Path) -> None:
    for table in (ORDERS, EVENTS):
        lineage = Lineage(files, table.root())
        needed = [
            each
            for number in lineage.snapshot_ids()
            for each in each_needed_file(files, table.root(), lineage.snapshot(number))
        ]
        directory = warehouse / table.directory
        written = {
            str(path.relative_to(warehouse)): path.stat().st_size
            for path in directory.rglob("*")
            if path.is_file() and path.relative_to(directory).parts[0] not in ("schema", "snapshot", "tag")
        }
        assert {each.path: each.size for each in needed} == written


def test_data_files_are_those_that_pypaimon_plans_to_read(files: LocalFiles, warehouse: Path) -> None:
    overwrite = (
        open_table(warehouse, "shop.events").new_batch_write_builder().overwrite({"day": "2026-05-01"})
    )
    writer, committer = overwrite.new_write(), overwrite.new_commit()
    writer.write_arrow(pa.table({"day": ["2026-05-01"], "kind": ["again"]}))
    committer.commit(writer.prepare_commit())
    snapshot = Lineage(files, EVENTS.root()).latest()
    assert snapshot is not None and snapshot.id == 3

    ours = _data_files(files, EVENTS, snapshot)

    splits = open_table(warehouse, "shop.events").new_read_builder().new_scan().plan().splits()
    planned = {path for split in splits for path in split.file_paths}
    assert {f"{warehouse}/{each.path}" for each in ours} == planned
    directories = sorted(each.path.rpartition("/")[0] for each in ours)
    assert directories == [f"shop.db/events/day=2026-05-0{day}/bucket-0" for day in (1, 2)]
    manifests = data_manifests(files, EVENTS, snapshot)
    assert sorted(each.rows for each in live_facts(files, EVENTS, manifests)) == [1, 3]
    assert all((warehouse / each.path).stat().st_size == each.size for each in ours)
    paths = [EVENTS.manifest(meta.file_name) for meta in manifests]
    assert len({entry.facts.name for entry in read_manifests(files, paths)}) == 3


def test_index_files_belong_to_it(files: LocalFiles, warehouse: Path) -> None:
    create_table(warehouse, "shop.dynamic", KEYED, primary_keys=["id"], options={"bucket": "-1"})
    commit(warehouse, "shop.dynamic", pa.table({"id": [1, 2], "v": ["a", "b"]}, schema=KEYED))
    table = TablePath("shop", "dynamic")
    snapshot = Lineage(files, table.root()).latest()
    assert snapshot is not None and snapshot.index_manifest

    needed = list(each_needed_file(files, table.root(), snapshot))

    kinds = {each.kind for each in needed}
    assert {"index-manifest", "index"} <= kinds
    assert missing_files(files, needed) == []
    [index] = [each for each in needed if each.kind == "index"]
    assert files.size(index.path) == index.size


def test_files_elsewhere_are_told_apart(files: LocalFiles, warehouse: Path, tmp_path: Path) -> None:
    def external(directory: Path) -> list[StoredFile]:
        name = f"far_{directory.name}"
        options = {
            "data-file.external-paths": f"file://{directory}",
            "data-file.external-paths.strategy": "round-robin",
        }
        create_table(warehouse, f"shop.{name}", KEYED, options=options)
        commit(warehouse, f"shop.{name}", pa.table({"id": [1], "v": ["a"]}, schema=KEYED))
        table = TablePath("shop", name)
        snapshot = Lineage(files, table.root()).snapshot(1)
        return _data_files(files, table, snapshot)

    [outside] = external(tmp_path / "outside")
    assert outside.is_outside and outside.path.startswith(f"file:{tmp_path}/outside")
    [inside] = external(warehouse / "inside")
    assert not inside.is_outside and inside.path.startswith("inside/")
    assert missing_files(files, [outside, inside]) == []


def test_data_in_a_directory_of_its_own_is_found(files: LocalFiles, warehouse: Path) -> None:
    create_table(warehouse, "shop.deep", KEYED, options={"data-file.path-directory": "data/parquet"})
    commit(warehouse, "shop.deep", pa.table({"id": [1], "v": ["a"]}, schema=KEYED))
    table = TablePath("shop", "deep")
    [file] = _data_files(files, table, Lineage(files, table.root()).snapshot(1))
    assert file.path.startswith("shop.db/deep/data/parquet/bucket-0/")
    assert files.exists(file.path)


def test_missing_files_are_named(files: LocalFiles, warehouse: Path) -> None:
    snapshot = Lineage(files, EVENTS.root()).snapshot(2)
    needed = list(each_needed_file(files, EVENTS.root(), snapshot))
    gone = sorted(each.path for each in needed if each.kind in ("manifest", "data"))[1:3]
    for path in gone:
        (warehouse / path).unlink()
    assert missing_files(files, needed) == gone
    for meta in data_manifests(files, EVENTS, snapshot):
        files.delete(EVENTS.manifest(meta.file_name))
    with pytest.raises(FileMissing):
        list(each_needed_file(files, EVENTS.root(), snapshot))


def test_every_partition_directory_that_pypaimon_makes_is_named(warehouse: Path, files: LocalFiles) -> None:
    schema = pa.schema(
        [
            pa.field("d", pa.date32()),
            pa.field("t", pa.timestamp("us")),
            pa.field("m", pa.decimal128(20, 2)),
            pa.field("b", pa.bool_()),
            pa.field("s", pa.string()),
            pa.field("v", pa.int32()),
        ]
    )
    values = [
        (date(2026, 5, 1), datetime(2026, 5, 1, 2, 3), Decimal("-1234567890123.45"), True, "a / = b {long}"),
        (None, datetime(1969, 12, 31, 23, 59, 59, 5000), Decimal("0.00"), False, " "),
        (date(1960, 1, 1), None, None, None, "é%:"),
    ]
    for legacy in ("true", "false"):
        name = f"parts_{legacy}"
        keys = ["d", "t", "m", "b", "s"]
        create_table(
            warehouse, f"shop.{name}", schema, partition_keys=keys, options={"partition.legacy-name": legacy}
        )
        for row in values:
            columns = {key: [value] for key, value in zip([*keys, "v"], (*row, 1), strict=True)}
            commit(warehouse, f"shop.{name}", pa.table(columns, schema=schema))
        table = TablePath("shop", name)
        snapshot = Lineage(files, table.root()).snapshot(3)
        paths = {each.path for each in _data_files(files, table, snapshot)}
        written = {str(p.relative_to(warehouse)) for p in (warehouse / table.directory).rglob("*.parquet")}
        assert paths == written and len(paths) == 3


TYPES: Mapping[str, st.SearchStrategy[Any]] = {
    "BOOLEAN": st.booleans(),
    "TINYINT": st.integers(-128, 127),
    "SMALLINT": st.integers(-(2**15), 2**15 - 1),
    "INT NOT NULL": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "STRING": st.text(st.characters(exclude_categories=["Cs"])),
    "VARCHAR(20) NOT NULL": st.text("ab/=é%{}^", max_size=20),
    "DECIMAL(10, 2)": st.decimals(-99999999, 99999999, places=2),
    "DECIMAL(30, 5)": st.decimals(-(10**20), 10**20, places=5),
    "DATE": st.dates(),
    "TIME(0)": st.times().map(lambda value: value.replace(microsecond=value.microsecond // 1000 * 1000)),
    "TIMESTAMP(3)": st.datetimes(min_value=datetime(1900, 1, 1)).map(
        lambda value: value.replace(microsecond=value.microsecond // 1000 * 1000)
    ),
    "TIMESTAMP(6)": st.datetimes(min_value=datetime(1900, 1, 1)),
}


@given(
    st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=9).flatmap(
        lambda types: st.tuples(
            st.just(types), st.tuples(*(st.none() | TYPES[each] for each in types)), st.booleans()
        )
    )
)
def test_partition_names_are_those_of_pypaimon(case: tuple[list[str], tuple[Any, ...], bool]) -> None:
    types, values, legacy = case
    keys = [f"k{number}=" for number in range(len(types))]
    # pypaimon keeps NOT NULL apart from the type.
    plain = [AtomicType(kind.removesuffix(" NOT NULL")) for kind in types]
    fields = [DataField(n, key, kind) for n, (key, kind) in enumerate(zip(keys, plain, strict=True))]
    data = GenericRowSerializer.to_bytes(GenericRow(list(values), fields))
    stock = FileStorePathFactory(
        "",
        keys,
        "__DEFAULT_PARTITION__",
        "parquet",
        "data-",
        "changelog-",
        legacy,
        False,
        "zstd",
        partition_types=plain,
    )

    names = PartitionNames(
        _schema(dict(zip(keys, types, strict=True)), {"partition.legacy-name": str(legacy)})
    )

    assert f"{names.path(data)}/bucket-0" == stock.relative_bucket_path(values, 0, canonical_partition=True)


def test_nanoseconds_are_named_as_java_does() -> None:
    millis = int(datetime(2026, 5, 1, 2, 3, 4, tzinfo=UTC).timestamp() * 1000) + 5
    row = bytes([0] * 8) + struct.pack("<Q", 16 << 32 | 600_007) + struct.pack("<q", millis)
    data = (1).to_bytes(4, "big") + row
    assert PartitionNames(_schema({"t": "TIMESTAMP(9)"})).path(data) == "t=2026-05-01T02%3A03%3A04.005600007"
    zoned = _schema({"t": "TIMESTAMP(9) WITH LOCAL TIME ZONE"})
    assert PartitionNames(zoned).path(data) == "t=2026-05-01T02%3A03%3A04.005600007"
    plain = _schema({"t": "TIMESTAMP(9)"}, {"partition.legacy-name": "false"})
    assert PartitionNames(plain).path(data) == "t=2026-05-01 02%3A03%3A04.005600007"


def test_the_default_name_is_the_tables_own() -> None:
    field = [DataField(0, "k", AtomicType("STRING"))]
    data = GenericRowSerializer.to_bytes(GenericRow([None], field))
    assert PartitionNames(_schema({"k": "STRING"}, {"partition.default-name": "none"})).path(data) == "k=none"


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE NOT NULL", "VARBINARY(3)", "BYTES", "MAP<INT, INT>"])
def test_a_type_whose_directories_cant_be_told_is_refused_by_name(kind: str) -> None:
    with pytest.raises(Refused, match=re.escape(f"Partition column price of type {kind}")):
        PartitionNames(_schema({"price": kind}))
    zoned = _schema({"z": "TIMESTAMP_LTZ(3)"}, {"partition.legacy-name": "false"})
    with pytest.raises(Refused, match="Partition column z of type"):
        PartitionNames(zoned)


@pytest.mark.parametrize(
    "data",
    [b"", b"\0\0\0\2" + bytes(16), b"\0\0\0\1" + bytes(8), b"\0\0\0\1" + bytes(8) + b"\xff" * 4 + b"\0" * 4],
)
def test_broken_partition_values_are_told_and_not_guessed(data: bytes) -> None:
    with pytest.raises(Corrupt, match="can't be read"):
        PartitionNames(_schema({"k": "STRING"})).path(data)


def test_a_time_below_the_second_is_named_digit_by_digit() -> None:
    field = [DataField(0, "k", AtomicType("TIME(3)"))]
    for micros, text in ((0, "01%3A02%3A03.0"), (101_000, "01%3A02%3A03.101"), (120_000, "01%3A02%3A03.12")):
        data = GenericRowSerializer.to_bytes(GenericRow([time(1, 2, 3, micros)], field))
        names = PartitionNames(_schema({"k": "TIME(3)"}, {"partition.legacy-name": "false"}))
        assert names.path(data) == f"k={text}"


def _schema(columns: Mapping[str, str], options: Mapping[str, str] | None = None) -> TableSchema:
    return TableSchema(
        id=0,
        fields=[SchemaField(id=n, name=name, type=kind) for n, (name, kind) in enumerate(columns.items())],
        highest_field_id=len(columns),
        partition_keys=list(columns),
        primary_keys=[],
        options=dict(options or {}),
    )


def _data_files(files: LocalFiles, table: TablePath, snapshot: Snapshot) -> list[StoredFile]:
    return [each for each in each_needed_file(files, table.root(), snapshot) if each.kind == "data"]
