"""Options of the data source `paimark`: Paimon's and Spark's own names are obeyed, all others refused."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from pypaimon.common.options.config import (
    FileIOOptions,
    FuseOptions,
    GcsOptions,
    HdfsOptions,
    OssOptions,
    PVFSOptions,
    S3Options,
    SecurityOptions,
)
from pypaimon.common.options.config_option import ConfigOption
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import LongType, StructField, StructType

from paimark.core.errors import NotFound, PaimarkError, UsageError
from paimark.core.spark.datasource.options import READ, catalog_options, require_allowed
from paimark.core.spark.source import PaimarkSource
from paimark.core.storage.known_options import is_known
from tests.paimon import commit, create_table, open_table
from tests.wording import about

SCHEMA = pa.schema([("id", pa.int64())])
SPARK = StructType([StructField("id", LongType())])
# Where pypaimon names what its stores obey.
STORES = (
    *(FileIOOptions, FuseOptions, GcsOptions, HdfsOptions, OssOptions),
    *(PVFSOptions, S3Options, SecurityOptions),
)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`shop.log` with a row a snapshot, 1 to 4; tag `two` of the second, tag `1` of the third."""
    path = tmp_path_factory.mktemp("log") / "warehouse"
    create_table(path, "shop.log", SCHEMA)
    for number in range(1, 5):
        commit(path, "shop.log", pa.table({"id": [number]}, schema=SCHEMA))
    open_table(path, "shop.log").create_tag("two", 2)
    open_table(path, "shop.log").create_tag("1", 3)
    return path


def source(warehouse: Path, **options: str) -> PaimarkSource:
    """As Spark makes one: option names in any case. `__` stands for a dot, `_` for a dash."""
    given = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    named = {"warehouse": str(warehouse), "table": "shop.log", **given}
    return PaimarkSource(CaseInsensitiveDict(named))  # type: ignore[arg-type]  # as Spark does


def read(warehouse: Path, **options: str) -> list[int]:
    """The ids."""
    made = source(warehouse, **options)
    reader = made.reader(made.schema())
    batches = [batch for part in reader.partitions() for batch in reader.read(part)]
    return sorted(number for batch in batches for number in batch.to_pydict()["id"])


def time_of(warehouse: Path, snapshot: int) -> int:
    found: int = open_table(warehouse, "shop.log").snapshot_manager().get_snapshot_by_id(snapshot).time_millis
    return found


def written(time_ms: int, zone: dt.tzinfo | None) -> str:
    return dt.datetime.fromtimestamp(time_ms / 1000, zone).isoformat(" ", "milliseconds")


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ({}, [1, 2, 3, 4]),
        ({"version": "two"}, [1, 2]),
        ({"versionAsOf": "two"}, [1, 2]),
        ({"versionAsOf": "2"}, [1, 2]),
        ({"versionAsOf": "1"}, [1, 2, 3]),
        ({"scan__version": "snapshot.1"}, [1]),
        ({"scan__snapshot_id": "2"}, [1, 2]),
        # Of a snapshot, whatever tags are called.
        ({"scan__snapshot_id": "1"}, [1]),
        ({"scan__tag_name": "two"}, [1, 2]),
        ({"scan__tag_name": "1"}, [1, 2, 3]),
        ({"scan__mode": "latest-full"}, [1, 2, 3, 4]),
        ({"scan__mode": "from-snapshot", "scan__snapshot_id": "3"}, [1, 2, 3]),
        ({"scan__mode": "from-snapshot-full", "scan__snapshot_id": "3"}, [1, 2, 3]),
        ({"branch": "main"}, [1, 2, 3, 4]),
    ],
)
def test_a_version_is_read_by_any_of_its_names(
    options: dict[str, str], ids: list[int], warehouse: Path
) -> None:
    assert read(warehouse, **options) == ids


def test_a_time_is_read_by_any_of_its_names(warehouse: Path) -> None:
    at = time_of(warehouse, 2)
    assert read(warehouse, scan__timestamp_millis=str(at)) == [1, 2]
    assert read(warehouse, scan__mode="from-timestamp", scan__timestamp_millis=str(at)) == [1, 2]
    # Of this machine's zone, as in Paimon.
    assert read(warehouse, scan__timestamp=written(at, None)) == [1, 2]
    for zone in (dt.UTC, dt.timezone(dt.timedelta(hours=9))):
        assert read(warehouse, timestampAsOf=written(at, zone)) == [1, 2]
    with pytest.raises(NotFound, match=about("nothing", "old")):
        read(warehouse, scan__timestamp_millis="1")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scan__snapshot_id": "9"}, "no version 'snapshot.9'"),
        ({"scan__tag_name": "2"}, "no tag 2"),
        ({"scan__snapshot_id": "2", "scan__tag_name": "two"}, "scan.tag-name and scan.snapshot-id"),
        ({"version": "2", "timestampAsOf": "2026-05-01 00:00:00Z"}, "version and timestampAsOf"),
        ({"timestampAsOf": "2026-05-01 00:00:00"}, "no time zone"),
        ({"timestampAsOf": "yesterday"}, "not a timestamp"),
        ({"scan__mode": "from-snapshot"}, "scan.mode from-snapshot"),
        ({"scan__mode": "latest", "scan__snapshot_id": "2"}, "scan.mode latest"),
        ({"scan__mode": "incremental"}, "scan.mode"),
        ({"versionsAsOf": "2"}, "no option versionsasof.*versionAsOf"),
        ({"scan__snapshotid": "2"}, "no option scan.snapshotid.*scan.snapshot-id"),
        ({"scan__fallback_branch": "b"}, "no option scan.fallback-branch"),
        ({"snapshot": "2"}, "no option snapshot"),
        ({"path": "/lake/shop.db/log"}, "no option path.*warehouse and table"),
        ({"follow_main": "fork"}, "no option follow-main.*readStream"),
        ({"maxSnapshotsPerTrigger": "1"}, "no option maxsnapshotspertrigger.*readStream"),
        ({"partitionOverwriteMode": "dynamic"}, "no option partitionoverwritemode.*writing"),
        ({"s3__acess_key": "k"}, "no option s3.acess-key.*s3.access-key"),
        ({"paimark__scan__snapshot_id": "2"}, "no option paimark.scan.snapshot-id.*scan.snap"),
        ({"cache__foo": "1"}, "no option cache.foo"),
        ({"fs__x": "1"}, "no option fs.x"),
        ({"io__x": "1"}, "no option io.x"),
        ({"s4__endpoint": "http://x"}, "no option s4.endpoint.*s3.endpoint"),
    ],
)
def test_what_is_not_obeyed_is_refused_by_name(options: dict[str, str], words: str, warehouse: Path) -> None:
    with pytest.raises(PaimarkError, match=words):
        read(warehouse, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"version": "two"}, "version.*scan.snapshot-id"),
        ({"versionAsOf": "two"}, "versionasof"),
        ({"timestampAsOf": "2026-05-01 00:00:00Z"}, "timestampasof"),
        ({"scan__tag_name": "two"}, "scan.tag-name"),
        ({"maxSnapshotPerTrigger": "1"}, "Did you mean maxSnapshotsPerTrigger"),
        ({"followmain": "fork"}, "Did you mean follow-main"),
    ],
)
def test_a_stream_refuses_what_it_does_not_obey(options: dict[str, str], words: str, warehouse: Path) -> None:
    with pytest.raises(UsageError, match=words):
        source(warehouse, **options).streamReader(SPARK)


@pytest.mark.parametrize(
    "name",
    ["version", "scan__mode", "partitionOverwriteModes", "mergeSchema", "change", "partitions", "state"],
)
def test_writers_refuse_what_they_do_not_obey(name: str, warehouse: Path, tmp_path: Path) -> None:
    option = name.replace("__", ".").lower()
    with pytest.raises(UsageError, match=f"no option {option}"):
        source(warehouse, **{name: "x"}).writer(SPARK, False)
    with pytest.raises(UsageError, match=f"no option {option}"):
        source(warehouse, checkpointLocation=str(tmp_path), batch="0", **{name: "x"}).writer(SPARK, False)


def test_catalog_options_are_told_on_as_paimon_spells_them() -> None:
    """Spark makes the names of options lower case."""
    place = {"warehouse": "w", "table": "t"}
    given = {"fs.oss.accessKeyId": "k", "s3.endpoint": "e", "versionAsOf": "1", **place}
    assert catalog_options(CaseInsensitiveDict(given)) == {"fs.oss.accessKeyId": "k", "s3.endpoint": "e"}
    require_allowed(CaseInsensitiveDict(given), READ)


def test_every_option_of_pypaimons_stores_is_known() -> None:
    spelled = {
        each.key() for kind in STORES for each in vars(kind).values() if isinstance(each, ConfigOption)
    }
    assert len(spelled) > 25
    assert [each for each in sorted(spelled) if not is_known(each, "/lake")] == []


@pytest.mark.parametrize(
    ("option", "warehouse", "is_taken"),
    [
        ("s3a.connection.timeout", "s3://lake", True),
        ("fs.s3a.path_style_access", "s3://lake", True),
        ("s3.conection.timeout", "s3://lake", False),
        ("dfs.replication", "hdfs://name/lake", True),
        ("dfs.replication", "/lake", False),
        ("fs.oss.anything", "oss://lake", True),
        ("fs.azure.account.key.me.dfs.core.windows.net", "abfs://lake", True),
    ],
)
def test_names_that_only_a_client_knows_are_taken_where_it_is_used(
    option: str, warehouse: str, is_taken: bool
) -> None:
    assert is_known(option, warehouse) == is_taken
