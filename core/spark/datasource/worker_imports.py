"""Spares Spark's Python workers what they would do again before and after every task."""

from __future__ import annotations

import gc
import sys
from functools import cache
from pathlib import Path


def leave_out_spark_jar() -> None:
    """Import nothing from Spark's own jar, which Spark puts on its workers' path.

    It holds no Python, and before every task Python (until 3.13) reads its six thousand names again.
    """
    for path in [each for each in sys.path if Path(each).match("spark-core_*.jar")]:
        sys.path.remove(path)
        sys.path_importer_cache.pop(path, None)


@cache
def settle() -> None:
    """Once in a worker that has imported what it needs: that is not garbage, which it collects each time."""
    leave_out_spark_jar()
    gc.collect()
    gc.freeze()
