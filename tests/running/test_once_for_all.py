"""What must not be there twice is made by one thread, whichever Python runs it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from paimark.core.once import once_for_all


class Holder:
    def __init__(self) -> None:
        self.makers: list[str] = []

    @once_for_all
    def made(self) -> object:
        self.makers.append(threading.current_thread().name)
        # The others come meanwhile.
        time.sleep(0.05)
        return object()


def test_threads_that_ask_at_once_are_given_the_same() -> None:
    holder, other = Holder(), Holder()
    together = threading.Barrier(4)

    def ask(number: int) -> object:
        together.wait()
        return holder.made

    with ThreadPoolExecutor(4) as threads:
        found = set(threads.map(ask, range(4)))
    assert found == {holder.made}
    assert len(holder.makers) == 1
    assert other.made not in found
