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

    from core.spark.datasource.table_rows import arrow_schema, row_batches

    scan = Scan.from_text(sys.stdin.read())
    with pa.ipc.new_stream(sys.stdout.buffer, arrow_schema(scan)) as out:
        for batch in row_batches(scan, int(sys.argv[1])):
            out.write_batch(batch)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception as error:
        # The edge of the process: whoever started it makes a sentence of the last line.
        print(f"{type(error).__name__}: {error}".replace("\n", " "), file=sys.stderr)
        sys.exit(1)
