"""The cost of a piece of work in wall time and CPU, and the mean of many ratios."""

from __future__ import annotations

import math
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple

from benchmarks.measuring.processes import cpu_ms


class Cost(NamedTuple):
    """Milliseconds."""

    wall: float
    cpu: float


# By table, question and way.
Costs = defaultdict[tuple[str, str, str], list[Cost]]


def timed(work: Callable[[], object], pid: int | None = None) -> Cost:
    """The CPU is that of the process (by default this one) and of all below it."""
    pid = pid or os.getpid()
    wall, cpu = time.perf_counter(), cpu_ms(pid)
    work()
    return Cost((time.perf_counter() - wall) * 1000, cpu_ms(pid) - cpu)


def middle(costs: Sequence[Cost]) -> Cost:
    return Cost(median(cost.wall for cost in costs), median(cost.cpu for cost in costs))


def geometric_mean(ratios: Iterable[float]) -> float:
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logs) / len(logs))
