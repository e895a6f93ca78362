"""Files of which no column is read, for example those written before the selected columns were added.

pypaimon would read no rows from an Avro file, or from one of its own row format.
"""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import Any

import pyarrow as pa
from pypaimon.read.reader.format_avro_reader import FormatAvroReader
from pypaimon.read.reader.format_row_reader import FormatRowReader
from pypaimon.utils.arrow_utils import zero_column_batch

# The formats of files whose rows are counted without any column.
COUNTED_FORMATS = ("parquet", "orc", "avro", "row")


@cache
def count_all_rows() -> None:
    """Make pypaimon count the rows of such files, in this process, for all tables. Idempotent."""
    usual_avro, usual_row = FormatAvroReader.read_arrow_batch, FormatRowReader._build_table

    def read_arrow_batch(reader: Any) -> Any:
        if reader._fields:
            return usual_avro(reader)
        rows = sum(1 for _ in islice(reader._avro_reader, reader._batch_size))
        return zero_column_batch(rows) if rows else None

    def build_table(reader: Any, columns: list[Any], row_count: int) -> Any:
        if reader._read_field_names:
            return usual_row(reader, columns, row_count)
        return pa.Table.from_batches([zero_column_batch(row_count)])

    FormatAvroReader.read_arrow_batch = read_arrow_batch
    FormatRowReader._build_table = build_table
