"""What a task refuses comes with its hint: of what it raises, Spark hands on the words alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from paimark.core.errors import PaimarkError
from paimark.core.spark.source import PaimarkSource
from tests.paimon import commit, create_table

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False)])


@pytest.fixture
def options(tmp_path: Path) -> dict[str, str]:
    create_table(tmp_path, "shop.log", SCHEMA)
    commit(tmp_path, "shop.log", pa.table({"id": [1]}, schema=SCHEMA))
    return {"warehouse": str(tmp_path), "table": "shop.log"}


def test_of_a_task_that_reads(options: dict[str, str], tmp_path: Path) -> None:
    (data,) = tmp_path.rglob("data-*")
    data.write_bytes(b"no file of any format" * 20)
    source = PaimarkSource(options)
    reader = source.reader(StructType([StructField("id", LongType())]))
    (part,) = reader.partitions()
    with pytest.raises(PaimarkError) as raised:
        list(reader.read(part))
    assert str(raised.value).startswith("Files of shop.log can't be read")
    assert str(raised.value).endswith("See `paimark verify`.")
