"""A Spark of its own that counts: `python -m tests.spark.engine.planned.calls_child WAREHOUSE SCRATCH`.

For each statement in, a JSON string a line, one line out: how it ended, how many calls into Java it took,
how many of Spark's jobs bear its tag, and how many tables the engine's catalog has then.
"""

from __future__ import annotations

import json
import sys
import threading
from contextlib import ExitStack
from typing import Any

from py4j.java_gateway import GatewayClient
from py4j.protocol import MEMORY_COMMAND_NAME

from paimark.core.spark.engine.classic import classic_runner
from paimark.core.spark.launch.session import Spark, start_spark
from paimark.core.spark.launch.settings import CATALOG_NAME
from paimark.core.spark.protocol import Finished, Run, Start
from tests.spark.streaming_child import FAST, QUIET

calls: list[str] = []
send = GatewayClient.send_command


def counted(self: Any, command: str, *more: Any, **by_name: Any) -> Any:
    # Java forgets what Python forgets when a collector comes by; and somebody looks how far a statement is.
    if not command.startswith(MEMORY_COMMAND_NAME) and "progress" not in threading.current_thread().name:
        calls.append(command)
    return send(self, command, *more, **by_name)


def main(warehouse: str, scratch: str) -> None:
    start = Start(warehouse, {}, "local[1]", QUIET | FAST, scratch, True)
    started = start_spark(start)
    with ExitStack() as ending:
        ending.callback(started.stop)
        runner, tracker = (
            classic_runner(started, start),
            started.session.sparkContext._jsc.sc().statusTracker(),
        )
        GatewayClient.send_command = counted
        for number, line in enumerate(sys.stdin):
            told: list[Any] = []
            calls.clear()
            runner.run(Run(number, json.loads(line), limit=100), told.append)
            taken = len(calls)
            how = "" if isinstance(told[-1], Finished) else str(told[-1])
            jobs = len(tracker.getJobIdsForTag(f"paimark-{number}"))
            print(json.dumps([how, taken, jobs, held(started)]), flush=True)


def held(started: Spark) -> int:
    manager = started.session._jsparkSession.sessionState().catalogManager()
    return int(manager.catalog(CATALOG_NAME).held())


if __name__ == "__main__":
    main(*sys.argv[1:])
