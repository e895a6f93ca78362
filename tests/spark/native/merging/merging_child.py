"""A Spark of its own that merges made-up buckets by tasks: `python -m ...merging_child SCRATCH N`.

It says so when N buckets came out bit for bit as the merging of the engine's process has them.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, Phase, assume, given, settings
from pyarrow import orc
from pyspark.sql import SparkSession

from paimark.core.spark.launch.session import start_spark
from paimark.core.spark.merging.model import Bits, MergeGroup
from paimark.core.spark.merging.opening import file_opener
from paimark.core.spark.merging.overlap import overlap_groups
from paimark.core.spark.merging.survive import survivors
from paimark.core.spark.native.by_tasks.merging import merged_by_tasks
from paimark.core.spark.protocol import Start
from tests.spark.native.merging.test_bitmap import Bucket, buckets, write_files
from tests.spark.streaming_child import FAST, QUIET

# Such tables are left to the Python source, or their keys are merged in this process.
_UNREAD = {
    "orc": ("TIME(", "TIMESTAMP", "DATE", "FLOAT", "DOUBLE"),
    "avro": ("TIME(", "TIMESTAMP", "SMALLINT"),
}
_AVRO = {
    **{"int8": "int", "int32": "int", "int64": "long", "bool": "boolean"},
    **{"float": "float", "double": "double", "string": "string", "binary": "bytes"},
}


def check(spark: SparkSession, bucket: Bucket, place: Path, stored: str) -> None:
    """In one task, and in as many as there can be."""
    rules, files, opener = write_files(bucket)
    place.mkdir()
    on_disk = []
    for file in files:
        table = pq.read_table(opener(file.path))
        path = place / file.path
        if stored == "orc":
            orc.write_table(table, path)
        elif stored == "avro":
            write_avro(table, path)
        else:
            names = table.schema.names
            thin = [name.removeprefix("_KEY_") for name in names] if stored == "thin" else names
            pq.write_table(table.rename_columns(thin), path, row_group_size=5, write_page_index=True)
        kind = stored if stored in ("orc", "avro") else "parquet"
        on_disk.append(replace(file, path=str(path), size=path.stat().st_size, format=kind))
    groups: list[MergeGroup] = overlap_groups(rules, on_disk)
    expected = [list(map(comparable, survivors(group, file_opener({})))) for group in groups]
    for task_rows in (1, 1_000_000):
        made = merged_by_tasks(spark, {}, groups, task_rows)
        found = [None if bits is None else list(map(comparable, bits)) for bits in made]
        assert found == expected, (stored, task_rows, found, expected)


def write_avro(table: pa.Table, path: Path) -> None:
    # A union's order is its writer's choice.
    unions = [["null", avro_type(each.type)][:: (-1) ** place] for place, each in enumerate(table.schema)]
    fields = [{"name": name, "type": union} for name, union in zip(table.column_names, unions, strict=True)]
    with path.open("wb") as into:
        schema = {"type": "record", "name": "record", "fields": fields}
        fastavro.writer(into, schema, table.to_pylist(), "deflate")


def avro_type(kind: pa.DataType) -> Any:
    if pa.types.is_decimal(kind):
        digits = {"precision": kind.precision, "scale": kind.scale}
        return {"type": "bytes", "logicalType": "decimal", **digits}
    if pa.types.is_date32(kind):
        return {"type": "int", "logicalType": "date"}
    return _AVRO[str(kind)]


def comparable(bits: Bits) -> tuple[int, list[bool]]:
    return bits.first, bits.truths().tolist()


def main(scratch: Path, examples: int) -> None:
    started = start_spark(Start("", {}, "local[1]", QUIET | FAST, str(scratch), False))
    numbers = count()

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(buckets())
    def merge(bucket: Bucket) -> None:
        number = next(numbers)
        stored = ("parquet", "orc", "thin", "avro")[number % 4]
        types = (*bucket.key_types, *bucket.sequence_types)
        assume(not any(each.startswith(_UNREAD.get(stored, "TIME(")) for each in types))
        check(started.session, bucket, scratch / f"bucket-{number}", stored)

    try:
        merge()
        print(f"{next(numbers)} buckets are alike", flush=True)
    finally:
        started.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
