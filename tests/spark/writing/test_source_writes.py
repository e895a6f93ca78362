"""A program writes a frame through the data source: the library writes the rows, and it is one commit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from paimark.core.errors import Refused
from paimark.core.spark.source import PaimarkSource
from paimark.core.storage.local import LocalFiles
from paimark.core.table.layout import TablePath
from paimark.core.table.operations import read_operations
from paimark.core.table.savepoints import SavepointManager
from tests.interop.judge import Judge, comparable
from tests.paimon import create_table, open_table
from tests.spark.written_tables import lineage_of
from tests.wording import about

COLUMNS = pa.schema(
    [
        pa.field("k", pa.int32(), nullable=False),
        pa.field("whole", pa.int32()),
        pa.field("exact", pa.decimal128(5, 2)),
        pa.field("short", pa.float32()),
        pa.field("text", pa.string()),
        pa.field("bytes", pa.binary()),
        pa.field("many", pa.list_(pa.int32())),
    ]
)
WORDS = {"text": "VARCHAR(3)", "bytes": "VARBINARY(2)"}


@pytest.fixture
def shop(spark_of_library: SparkSession, warehouse: Path) -> Path:
    return warehouse


def save(rows: DataFrame | str, warehouse: Path, table: str, mode: str = "append", **options: str) -> None:
    frame = _session().sql(rows) if isinstance(rows, str) else rows
    here = {"warehouse": str(warehouse), "table": table}
    frame.write.format("paimark").mode(mode).options(**here, **options).save()


def refused(rows: str, warehouse: Path, table: str, mode: str = "append", **options: str) -> str:
    """What Spark says; nothing is written."""
    there = {path for path in warehouse.rglob("*") if path.is_file()}
    with pytest.raises(Exception) as raised:  # of Spark's many kinds
        save(rows, warehouse, table, mode, **options)
    assert {path for path in warehouse.rglob("*") if path.is_file()} == there
    return str(raised.value)


def _session() -> SparkSession:
    session = SparkSession.getActiveSession()
    assert session is not None
    return session


def set_option(warehouse: Path, table: str, name: str, value: str) -> None:
    path = warehouse / "shop.db" / table / "schema" / "schema-0"
    schema = msgspec.json.decode(path.read_bytes())
    schema["options"][name] = value
    path.write_bytes(msgspec.json.encode(schema))


def test_rows_of_several_tasks_are_one_commit_and_a_due_savepoint_follows(shop: Path, judge: Judge) -> None:
    set_option(shop, "orders", "savepoint.create-interval", "1 h")
    save("SELECT id AS order_id, 'spark' AS customer FROM range(0, 40, 1, 4)", shop, "shop.orders")
    expected = [{"order_id": number, "customer": "spark", "price": None} for number in range(40)]
    assert judge.read(shop, "shop.orders") == comparable(expected)
    assert judge.misplaced(shop, "shop.orders") == []
    snapshot = lineage_of(shop, "shop.orders").snapshot(6)
    assert (snapshot.commit_kind, snapshot.commit_user[:8]) == ("APPEND", "paimark-")
    files, table = LocalFiles(str(shop)), TablePath("shop", "orders")
    assert [each.saved_snapshot_id for each in SavepointManager(files, table).all()] == [6]
    [operation, *_] = read_operations(files, table)
    assert operation.action == "write" and operation.summary.endswith("of shop.orders: 40 records added")


def test_an_overwrite_replaces_all_or_the_partitions_that_rows_come_for(shop: Path, judge: Judge) -> None:
    new = "SELECT '2026-05-02' AS day, 'new' AS kind"
    others = [row for row in judge.read(shop, "shop.events") if row["day"] != "2026-05-02"]
    save(new, shop, "shop.events", "overwrite", partitionOverwriteMode="dynamic")
    row = {"day": "2026-05-02", "kind": "new"}
    assert judge.read(shop, "shop.events") == comparable([*others, row])
    save(new, shop, "shop.events", "overwrite")
    assert judge.read(shop, "shop.events") == [row]
    assert [each.action for each in read_operations(LocalFiles(str(shop)), TablePath("shop", "events"))] == [
        "overwrite",
        "overwrite",
    ]


def test_a_branch_gets_its_rows(shop: Path, judge: Judge) -> None:
    open_table(shop, "shop.events").create_tag("fork", 1)
    open_table(shop, "shop.events").branch_manager().create_branch("b", "fork")
    main = judge.read(shop, "shop.events")
    save("SELECT 'x' AS day, 'y' AS kind", shop, "shop.events", branch="b")
    assert {"day": "x", "kind": "y"} in judge.read(shop, "shop.events$branch_b")
    assert judge.read(shop, "shop.events") == main


def test_a_kind_that_is_read_compacted_only_shows_its_rows(shop: Path, judge: Judge) -> None:
    options = {"bucket": "1", "merge-engine": "first-row"}
    create_table(shop, "shop.firsts", COLUMNS, primary_keys=["k"], options=options)
    save("SELECT 1 AS k, 1 AS whole", shop, "shop.firsts")
    save("SELECT 1 AS k, 2 AS whole", shop, "shop.firsts")
    assert [(row["k"], row["whole"]) for row in judge.read(shop, "shop.firsts")] == [(1, 1)]


def test_values_are_converted_only_if_they_stay_the_same(shop: Path, judge: Judge) -> None:
    create_table(shop, "shop.typed", COLUMNS, words=WORDS)
    save(
        "SELECT 1L AS k, 2.0D AS whole, 1.25D AS exact, 0.1D AS short, 7 AS text, X'0102' AS bytes, "
        "array(1, null) AS many",
        shop,
        "shop.typed",
    )
    [row] = judge.read(shop, "shop.typed")
    assert (row["k"], row["whole"], str(row["exact"]), row["text"]) == (1, 2, "1.25", "7")
    for value, words in {
        "2.5D AS whole": "column whole hold 2.5",
        "3000000000L AS whole": "column whole hold 3000000000",
        "1.255D AS exact": "column exact hold 1.255",
        "1e300D AS short": "hold 1.0E300",
        "'abcd' AS text": "Exceeds char/varchar type length limitation: 3",
        "X'010203' AS bytes": "column bytes hold 3 2",
        "'7' AS whole": 'Cannot safely cast `whole` "STRING" to "INT"',
        "array(2.5D) AS many": "hold 2.5",
        "1 AS nothing": "nothing",
    }.items():
        assert about(*words.split()).search(refused(f"SELECT 2 AS k, {value}", shop, "shop.typed")), value
    for without in ("SELECT 1 AS whole", "SELECT CAST(null AS INT) AS k"):
        assert about("column k", "null").search(refused(without, shop, "shop.typed"))


def test_a_default_is_filled_in_as_an_insert_does(shop: Path, judge: Judge) -> None:
    create_table(shop, "shop.typed", COLUMNS)
    path = shop / "shop.db/typed/schema/schema-0"
    schema = msgspec.json.decode(path.read_bytes())
    schema["fields"][4]["defaultValue"] = "'none'"
    path.write_bytes(msgspec.json.encode(schema))
    save("SELECT 1 AS k", shop, "shop.typed")
    save("SELECT 2 AS k, CAST(null AS STRING) AS text", shop, "shop.typed")
    assert sorted((row["k"], row["text"]) for row in judge.read(shop, "shop.typed")) == [
        (1, "none"),
        (2, None),
    ]


@pytest.mark.parametrize(
    ("mode", "options", "words"),
    [
        ("error", {}, "append overwrite ErrorIfExists"),
        ("append", {"brunch": "b"}, "no option brunch"),
        ("append", {"partitionOverwriteMode": "some"}, "partitionOverwriteMode static dynamic some"),
        ("append", {"branch": "nowhere"}, "nowhere"),
    ],
)
def test_what_has_no_effect_is_refused(shop: Path, mode: str, options: dict[str, str], words: str) -> None:
    said = refused("SELECT 'x' AS day, 'y' AS kind", shop, "shop.events", mode, **options)
    assert about(*words.split()).search(said)


def test_partition_columns_are_the_tables_own(shop: Path) -> None:
    rows = _session().sql("SELECT 'x' AS day, 'y' AS kind").write.partitionBy("day").format("paimark")
    here: dict[str, Any] = {"warehouse": str(shop), "table": "shop.events"}
    with pytest.raises(Exception, match="partitionBy has no effect here"):
        rows.mode("append").options(**here).save()


def test_a_spark_without_paimarks_jar_is_told_how_to_get_it(shop: Path) -> None:
    source = PaimarkSource({"warehouse": str(shop), "table": "shop.events"})
    for way in (source.writer, source.streamWriter):
        with pytest.raises(Refused, match=about("Spark", "Paimon's", "Paimark")) as raised:
            way(None, False)  # type: ignore[arg-type]  # not looked at
        assert "spark_settings()" in raised.value.hint
