"""Avro files without any selected column, for example those written before the columns were added.

pypaimon would read no rows from such a file.
"""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import Any

from pypaimon.read.reader.format_avro_reader import FormatAvroReader
from pypaimon.utils.arrow_utils import zero_column_batch


@cache
def count_all_rows() -> None:
    """Make pypaimon count the rows of such files, in this process, for all tables. Idempotent."""
    usual = FormatAvroReader.read_arrow_batch

    def read_arrow_batch(reader: Any) -> Any:
        if reader._fields:
            return usual(reader)
        rows = sum(1 for _ in islice(reader._avro_reader, reader._batch_size))
        return zero_column_batch(rows) if rows else None

    FormatAvroReader.read_arrow_batch = read_arrow_batch
