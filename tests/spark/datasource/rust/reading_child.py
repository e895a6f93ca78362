"""Reads splits in a process of its own, as pypaimon-rust looks at variables of proxies once in a process.

On stdin a pickle of scans and their splits; on stdout a line of JSON for each: who reads, and how many rows.
"""

from __future__ import annotations

import json
import logging
import pickle
import sys

from paimark.core.spark.datasource.paimon import open_table, read_splits
from paimark.core.spark.datasource.rust.choice import Choice


def main() -> None:
    logging.basicConfig(stream=sys.stderr)
    for scan, splits in pickle.load(sys.stdin.buffer):
        description = Choice(scan, open_table(scan)).describe(splits)
        rows = sum(batch.num_rows for batch in read_splits(scan, (), splits))
        print(json.dumps([description, rows]), flush=True)


if __name__ == "__main__":
    main()
