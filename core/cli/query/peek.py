"""`python -m core.cli.query.peek ROWS`: the first rows of a table without Spark, for whoever shows them.

A process of its own, because what reads tables is slow to import, large, and only stops when its process
ends. A `Scan` as JSON comes in on stdin; an Arrow stream goes out on stdout. Rows of a table with a primary
key are merged, so that a row is what a query shows of it.
"""

from __future__ import annotations

import sys

from core.spark.datasource.scan import Scan


def main() -> int:
    import pyarrow as pa
    from pypaimon.schema.data_types import PyarrowFieldParser

    from core.spark.datasource.paimon import open_table, plan_splits, read_splits
    from core.spark.datasource.types import as_spark_reads

    scan, left = Scan.from_text(sys.stdin.read()), int(sys.argv[1])
    schema = PyarrowFieldParser.from_paimon_schema(open_table(scan).fields)
    with pa.ipc.new_stream(sys.stdout.buffer, schema) as out:
        # Split by split: a limit given to the reader counts rows before they are merged.
        for split in plan_splits(scan, ()) if scan.snapshot else ():
            for batch in read_splits(scan, (), [split]):
                rows = as_spark_reads(batch.slice(0, left), schema)
                out.write_batch(rows)
                left -= rows.num_rows
                if left <= 0:
                    return 0
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception as error:
        # The edge of the process: whoever started it makes a sentence of the last line.
        print(f"{type(error).__name__}: {error}".replace("\n", " "), file=sys.stderr)
        sys.exit(1)
