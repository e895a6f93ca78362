"""The engine's process: `python -m paimark.core.spark.engine.engine FD`. FD is the channel to its parent.

One thread reads orders, so that it sees a cancel or the parent's end at once; another thread starts Spark and
runs the statements. When the channel closes, by an order or because the parent died, the process ends.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from paimark.core.errors import PaimarkError
from paimark.core.processes import ending, was_killed
from paimark.core.redaction import keep_secrets, redacted
from paimark.core.spark.client.log_file import remove_scratch
from paimark.core.spark.engine.warm_up import IdleWork
from paimark.core.spark.launch.cluster import Cluster, loss
from paimark.core.spark.launch.jvm import kill_descendants, ran_out_of_memory
from paimark.core.spark.launch.session import Spark, start_spark
from paimark.core.spark.launch.session_settings import less_memory
from paimark.core.spark.protocol import (
    CANCELLED,
    Analyze,
    Ask,
    Batch,
    Cancel,
    Compact,
    Died,
    JavaGone,
    ParentGone,
    Ready,
    Repair,
    Report,
    Run,
    StageProgress,
    Start,
    Task,
    Write,
    receive_order,
    send,
)
from paimark.core.storage.option_values import require_options

if TYPE_CHECKING:
    from paimark.core.spark.engine.statement import Runner

_COLLECTED_EVERY = 64


class Server:
    def __init__(self, channel: socket.socket, start: Start) -> None:
        self._channel = channel
        self._start = start
        self._sending = threading.Lock()
        self._orders: SimpleQueue[Task] = SimpleQueue()
        self._idle = IdleWork()
        self._lock = threading.Lock()
        self._waiting: set[int] = set()
        self._spark: Spark | None = None
        self._runner: Runner | None = None
        self._closing = False
        self._has_worked = False

    def serve(self) -> None:
        """Receive orders until the parent ends the engine, or is gone."""
        threading.Thread(target=self._work, name="statements", daemon=True).start()
        while (order := receive_order(self._channel)) is not None:
            match order:
                case Run() | Ask() | Write() | Compact() | Analyze() | Repair():
                    with self._lock:
                        self._waiting.add(order.number)
                    self._orders.put(order)
                    self._idle.interrupt()
                case Cancel():
                    self._cancel(order.number)
                case _:
                    break
        self._closing = True
        self._idle.stop()
        if self._runner is not None:
            self._runner.end()
        if self._spark is not None:
            self._spark.stop()

    def leave_archive(self) -> None:
        """Build an archive of the loaded classes for the next start. For the time after Java has ended."""
        if self._has_worked and self._spark is not None and self._spark.archive is not None:
            self._spark.archive.build_in_background(self._spark.scratch)

    def report(self, message: Report | Batch) -> None:
        """Send to the parent; blocks while the parent doesn't receive. Raises `ParentGone`."""
        # Progress is dropped instead of waiting behind rows.
        if self._sending.acquire(blocking=not isinstance(message, StageProgress)):
            try:
                send(self._channel, message)
            except OSError as error:
                raise ParentGone from error
            finally:
                self._sending.release()

    def _cancel(self, number: int) -> None:
        with self._lock:
            has_begun = number not in self._waiting
            self._waiting.discard(number)
        if not has_begun:
            self.report(CANCELLED)
        elif self._runner is not None:
            self._runner.cancel(number)

    def _work(self) -> None:
        try:
            if not self._start_spark():
                return
            assert self._runner is not None
            while True:
                order = self._next_order()
                with self._lock:
                    is_wanted = order.number in self._waiting
                    self._waiting.discard(order.number)
                if is_wanted:
                    self._runner.run(order, self.report)
                    self._has_worked = True
                    self._forget_garbage(order.number)
                    self._idle.quiet()
        except (ParentGone, JavaGone):
            # Other threads notice it too, and end the process.
            return
        except BaseException as error:
            if self._spark is not None and self._spark.has_ended():
                # `_watch_java` reports it, and ends the process.
                return
            # The last resort of the thread that runs statements: without it the parent would wait for ever.
            print(redacted(traceback.format_exc()), file=sys.stderr, flush=True)
            with suppress(ParentGone):
                died = f"The Spark engine died of a fault of its own ({redacted(repr(error))})"
                self._last_words(Died(died))
            os._exit(1)

    def _next_order(self) -> Task:
        """Wait for the next order; do idle work until it comes."""
        while True:
            seconds = self._idle.due()
            try:
                return self._orders.get(timeout=seconds) if seconds != 0 else self._orders.get_nowait()
            except Empty:
                self._idle.work(self._orders.empty)

    def _start_spark(self) -> bool:
        began = time.monotonic()
        try:
            # Check before Java starts, which takes seconds.
            require_options(self._start.options, self._start.warehouse)
            if (self._start.master or "").startswith("sc://"):
                from paimark.core.spark.engine.connect import connect

                self._runner = connect(self._start)
            else:
                self._spark = start_spark(self._start, _import_statements)
                threading.Thread(target=self._watch_java, args=(self._spark,), daemon=True).start()
                from paimark.core.spark.engine.classic import classic_runner

                self._runner = classic_runner(self._spark, self._start)
        except PaimarkError as error:
            self._last_words(Died(error.message, error.hint))
            return False
        if self._spark is None:
            self.report(Ready(time.monotonic() - began))
            return True
        self.report(Ready(time.monotonic() - began, self._spark.nodes))
        # Modules stay loaded, so the garbage collector need not examine them.
        gc.freeze()
        if (warm_up := self._runner.warm_up()) is not None:
            self._idle.begin(warm_up.steps(), warm_up.interrupt)
        if self._spark.joined is not None:
            watch = (self._spark, self._spark.joined)
            threading.Thread(target=self._watch_executors, args=watch, daemon=True).start()
        return True

    def _forget_garbage(self, number: int) -> None:
        """Collect garbage now and then: Python's proxy of a Java object forms a cycle with its methods.

        Until the cycle is collected, Java keeps the object, and for a data frame all that it computed.
        """
        if number % _COLLECTED_EVERY == 0:
            gc.collect()

    def _watch_executors(self, spark: Spark, joined: Cluster) -> None:
        """End the engine if all executors are lost: a statement would wait for ever."""
        lost = loss(spark.session.sparkContext, joined)
        if lost is not None and not self._closing:
            self._last_words(Died(lost.message, lost.hint))

    def _watch_java(self, spark: Spark) -> None:
        code = spark.process.wait()
        if self._closing:
            return
        if ran_out_of_memory(spark.scratch):
            memory = spark.memory
            message = f"Spark ran out of memory (its Java process may use {memory})"
            self._last_words(Died(message, "Give it more with --spark-conf spark.driver.memory=8g."))
        else:
            message, killed = f"The Spark engine died: its Java process {ending(code)}", was_killed(code)
            self._last_words(Died(message, less_memory(spark.memory) if killed else "", killed))

    def _last_words(self, words: Died) -> None:
        self.report(words)
        # Other threads may wait for the Java process that is gone, so a normal exit could wait for ever.
        os._exit(1)


def _import_statements() -> None:
    import paimark.core.spark.engine.classic  # noqa: F401


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    start = receive_order(channel)
    if not isinstance(start, Start):
        return
    keep_secrets(start.warehouse, start.options, start.conf)
    server = Server(channel, start)
    try:
        server.serve()
    finally:
        # Also kill a Java process that is still starting: it would go on writing.
        kill_descendants(os.getpid())
        server.leave_archive()
        remove_scratch(Path(start.scratch))
        # Don't wait for threads that wait for Spark.
        os._exit(0)


if __name__ == "__main__":
    main()
