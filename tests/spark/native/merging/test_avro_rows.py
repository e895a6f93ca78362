"""Columns of Avro files, as merging reads them."""

from __future__ import annotations

import io
from datetime import date
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from paimark.core.spark.merging.avro_rows import AvroRows
from paimark.core.table.manifests.avro import BadAvro

DAY = {"type": "int", "logicalType": "date"}
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}


def opened(types: dict[str, Any], rows: list[dict[str, Any]]) -> AvroRows:
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    file = io.BytesIO()
    schema = {"type": "record", "name": "record", "fields": fields}
    fastavro.writer(file, schema, rows, "zstandard", sync_interval=1 << 20)
    return AvroRows(io.BytesIO(file.getvalue()))


def test_only_what_is_asked_for_is_there() -> None:
    row = {"k": 7, "day": date(1970, 1, 3), "late": None, "price": Decimal("1.50"), "text": "x"}
    types = {"k": "long", "day": ["null", DAY], "late": [DAY, "null"], "price": PRICE, "text": "string"}
    file = opened(types, [row, {**row, "k": 8, "late": date(1969, 12, 31)}])
    assert (file.rows, file.group_rows, list(file.names)) == (2, [2], list(types))
    found = file.read(["late", "day", "price", "k"])
    assert found.column("day").type == pa.int32()
    assert found.select(["k", "day", "late", "price"]).to_pydict() == {
        "k": [7, 8],
        "day": [2, 2],
        "late": [None, -1],
        "price": [Decimal("1.50")] * 2,
    }
    assert file.read(["text"], 1).to_pydict() == {"text": ["x"]}


def test_rows_that_are_alike_are_unpacked_whatever_they_come_to() -> None:
    file = opened({"k": "long", "text": "string"}, [{"k": 1, "text": "x" * 200}] * 60_000)
    assert file.read(["k"]).num_rows == 60_000


def test_what_is_not_merged_by_is_refused() -> None:
    moment = {"type": "long", "logicalType": "timestamp-micros"}
    with pytest.raises(BadAvro, match="is none that rows are merged by"):
        opened({"at": moment}, []).read(["at"])
    with pytest.raises(BadAvro, match="not an Avro file"):
        AvroRows(io.BytesIO(b"PAR1"))
