"""What Avro files have no place for is refused by the column's name, before a file is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paimark.core.errors import Refused
from paimark.core.spark.writing.row_files import write_rows
from paimark.core.spark.writing.write import find_target
from tests.paimon import create_table

WHOLE = pa.list_(pa.int32())
ROW = pa.struct([("a", WHOLE)])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (WHOLE, [1, None]),
        (pa.list_(WHOLE), [[1], None]),
        (ROW, {"a": [None]}),
        (pa.list_(ROW), [{"a": [None]}]),
    ],
)
def test_a_null_inside_an_array_is_not_written_to_avro_files(
    tmp_path: Path, kind: pa.DataType, value: object
) -> None:
    with pytest.raises(Refused, match=r"Column v of d\.t has a null inside an ARRAY"):
        write(tmp_path, "avro", kind, [value])
    assert not list(tmp_path.rglob("*.avro"))
    assert write(tmp_path, "orc", kind, [value])


@pytest.mark.parametrize("values", [[[1], None, []], [None]])
def test_arrays_without_are_written(tmp_path: Path, values: list[Any]) -> None:
    assert write(tmp_path, "avro", WHOLE, values)


def write(warehouse: Path, file_format: str, kind: pa.DataType, values: list[Any]) -> list[Any]:
    schema = pa.schema([("v", kind)])
    options = {"file.format": file_format, "bucket": "-1"}
    name = "d.t" if file_format == "avro" else "d.other"
    create_table(warehouse, name, schema, options=options)
    target = find_target({"warehouse": str(warehouse), "table": name}, False)
    return write_rows(target, [pa.record_batch([pa.array(values, kind)], schema=schema)])
