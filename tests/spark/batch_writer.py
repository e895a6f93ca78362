"""Micro-batches as Spark runs them, beside one Java: `python -m ... WAREHOUSE CHECKPOINT SCRATCH`.

For each line in, a new process takes over: it goes on from the checkpoint until it is killed. Its id is the
line out. One that is not the newest any more may end the commit that it is in, as Spark's Python processes
do when their Java is gone, and nothing after that.
"""

from __future__ import annotations

import os
import pickle
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import StructType

from paimark.core.spark.launch.session import start_spark
from paimark.core.spark.library.java_gateway import Visit
from paimark.core.spark.protocol import Start
from paimark.core.spark.source import PaimarkSource
from tests.spark.streaming_child import FAST, QUIET

ROWS = 2


class Micro:
    """One process of the query. `turn` is its number among them, `door` lets it into Java."""

    def __init__(self, warehouse: str, checkpoint: str, turn: int, door: str) -> None:
        self.checkpoint = Path(checkpoint)
        self.turn = turn
        options = {"warehouse": warehouse, "table": "shop.out", "checkpointLocation": checkpoint}
        self.options = {**options, "door": door}
        self.visit = Visit(door)

    def run(self) -> None:
        batch = self.newest("offsets")
        if batch < 0 or batch == self.newest("commits"):
            batch += 1
        while True:
            self.log("offsets", batch)
            options = CaseInsensitiveDict({**self.options, "batch": str(batch)})
            source = PaimarkSource(options)  # type: ignore[arg-type]  # as Spark does
            writer = source.writer(StructType(), False)
            self.write(batch)
            pickle.loads(pickle.dumps(writer)).commit([])
            self.log("commits", batch)
            batch += 1

    def write(self, batch: int) -> None:
        """As `SourceWrite.java` does."""
        sql = f"SELECT id, 's' AS said FROM range({batch * ROWS}, {(batch + 1) * ROWS}, 1, 1)"
        spark: Any = self.visit.session
        rows = spark._jsparkSession.sql(sql)
        spark._jvm.paimark.library.SourceRows.write(self.visit.written, rows)

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
    warehouse, checkpoint, scratch = sys.argv[1:]
    session = start_spark(Start("", {}, "local[2]", QUIET | FAST, scratch, False)).session
    for turn, _ in enumerate(sys.stdin):
        turn_file = Path(checkpoint) / "turn"
        turn_file.with_suffix(".new").write_text(str(turn))
        turn_file.with_suffix(".new").rename(turn_file)
        door = way_in(session)
        if (process := os.fork()) == 0:
            try:
                Micro(warehouse, checkpoint, turn, door).run()
            finally:
                os._exit(1)
        print(process, flush=True)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def way_in(session: SparkSession) -> str:
    java: Any = session
    door = java._jvm.paimark.source.Door.open()
    return str(door.way(door.enter(java._jsparkSession, {})))


if __name__ == "__main__":
    main()
