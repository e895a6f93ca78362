"""Files of which no column is read, for example those written before the selected columns were added.

pypaimon would read no rows from an Avro file, or from one of its own row format. With data evolution it would
leave out rows of which some columns were written anew. So does stock Paimon.
"""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import Any

import pyarrow as pa
from pypaimon.read.reader.format_avro_reader import FormatAvroReader
from pypaimon.read.reader.format_row_reader import FormatRowReader
from pypaimon.read.split_read import DataEvolutionSplitRead
from pypaimon.utils.arrow_utils import zero_column_batch
from pypaimon.utils.data_evolution_utils import retrieve_anchor_file

# The formats of files whose rows are counted without any column.
COUNTED_FORMATS = ("parquet", "orc", "avro", "row")


@cache
def count_all_rows() -> None:
    """Make pypaimon count the rows of such files, in this process, for all tables. Idempotent."""
    usual_avro, usual_row = FormatAvroReader.read_arrow_batch, FormatRowReader._build_table
    usual_union = DataEvolutionSplitRead._create_union_reader

    def read_arrow_batch(reader: Any) -> Any:
        if reader._fields:
            return usual_avro(reader)
        rows = sum(1 for _ in islice(reader._avro_reader, reader._batch_size))
        return zero_column_batch(rows) if rows else None

    def build_table(reader: Any, columns: list[Any], row_count: int) -> Any:
        if reader._read_field_names:
            return usual_row(reader, columns, row_count)
        return pa.Table.from_batches([zero_column_batch(row_count)])

    def create_union_reader(read: Any, files: list[Any], vector: Any = None) -> Any:
        union = usual_union(read, files, vector)
        if any(reader is not None for reader in union.readers):
            return union
        # No file has a selected column. One alone is read as rows of one file are: with nulls.
        file = retrieve_anchor_file(files)
        return read._create_file_reader(file, read._get_final_read_data_fields(), vector)

    FormatAvroReader.read_arrow_batch = read_arrow_batch
    FormatRowReader._build_table = build_table
    DataEvolutionSplitRead._create_union_reader = create_union_reader
