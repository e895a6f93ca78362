"""`python -m paimark.core.cli.query.peek ROWS`: read the first rows of a table without Spark.

This is a separate process, because the reader of tables is slow to import, large, and can only be stopped by
ending its process. It reads a `Scan` as JSON from stdin and writes an Arrow stream to stdout. Rows of a table
with a primary key are merged, as a query shows them.
"""

from __future__ import annotations

import sys

from paimark.core.spark.datasource.scan import Scan


def main() -> int:
    import pyarrow as pa

    from paimark.core.spark.datasource.paimon import arrow_schema, row_batches

    scan = Scan.from_text(sys.stdin.read())
    with pa.ipc.new_stream(sys.stdout.buffer, arrow_schema(scan)) as out:
        for batch in row_batches(scan, int(sys.argv[1])):
            out.write_batch(batch)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception as error:
        # The edge of the process: the parent process makes a sentence of the last line.
        print(f"{type(error).__name__}: {error}".replace("\n", " "), file=sys.stderr)
        sys.exit(1)
