"""Rows of Avro files that hold none of the columns asked for, as those written before the columns were added.

pypaimon reads such a file as one without rows.
"""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import Any

from pypaimon.read.reader.format_avro_reader import FormatAvroReader
from pypaimon.utils.arrow_utils import zero_column_batch


@cache
def count_all_rows() -> None:
    """In this process, for all tables."""
    usual = FormatAvroReader.read_arrow_batch

    def read_arrow_batch(reader: Any) -> Any:
        if reader._fields:
            return usual(reader)
        rows = sum(1 for _ in islice(reader._avro_reader, reader._batch_size))
        return zero_column_batch(rows) if rows else None

    FormatAvroReader.read_arrow_batch = read_arrow_batch
