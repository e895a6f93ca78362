"""Micro-batches as Spark runs them, in processes that start fast: `python -m ... WAREHOUSE CHECKPOINT`.

For each line in, a new process takes over: it goes on from the checkpoint until it is killed. Its id is the
line out. One that is not the newest any more may end the commit that it is in, as Spark's Python processes
do when their Java is gone, and nothing after that.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import LongType, StringType, StructField, StructType

from paimark.core.spark.source import PaimarkSource
from paimark.core.spark.streaming import batch_commit

ROWS = 2
COLUMNS = StructType([StructField("id", LongType()), StructField("said", StringType())])


class Micro:
    """One process of the query. `turn` is its number among them."""

    def __init__(self, warehouse: str, checkpoint: str, turn: int) -> None:
        self.checkpoint = Path(checkpoint)
        self.turn = turn
        options = {"warehouse": warehouse, "table": "shop.out", "checkpointLocation": checkpoint}
        self.source = PaimarkSource(CaseInsensitiveDict(options))  # type: ignore[arg-type]  # as Spark does

    def run(self) -> None:
        assert batch_commit
        batch = self.newest("offsets")
        if batch < 0 or batch == self.newest("commits"):
            batch += 1
        while True:
            self.log("offsets", batch)
            message = self.source.streamWriter(COLUMNS, False).write(iter([self.rows(batch)]))
            self.source.streamWriter(COLUMNS, False).commit([message], batch)
            self.log("commits", batch)
            batch += 1

    def rows(self, batch: int) -> pa.RecordBatch:
        ids = range(batch * ROWS, (batch + 1) * ROWS)
        return pa.record_batch({"id": pa.array(ids, pa.int64()), "said": ["s"] * ROWS})

    def newest(self, log: str) -> int:
        directory = self.checkpoint / log
        names = os.listdir(directory) if directory.exists() else []
        return max((int(name) for name in names), default=-1)

    def log(self, log: str, batch: int) -> None:
        if int((self.checkpoint / "turn").read_text()) != self.turn:
            os._exit(0)
        (self.checkpoint / log).mkdir(exist_ok=True)
        (self.checkpoint / log / str(batch)).touch()


def main() -> None:
    warehouse, checkpoint = sys.argv[1:]
    for turn, _ in enumerate(sys.stdin):
        turn_file = Path(checkpoint) / "turn"
        turn_file.with_suffix(".new").write_text(str(turn))
        turn_file.with_suffix(".new").rename(turn_file)
        if (process := os.fork()) == 0:
            try:
                Micro(warehouse, checkpoint, turn).run()
            finally:
                os._exit(1)
        print(process, flush=True)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


if __name__ == "__main__":
    main()
