"""Save Spark's Python workers repeated work before and after every task."""

from __future__ import annotations

import gc
import sys
from functools import cache
from pathlib import Path


def leave_out_spark_jar() -> None:
    """Remove Spark's own jar from the path, where Spark puts it for its workers.

    It contains no Python, and before every task Python (until 3.13) reads its six thousand names again.
    """
    for path in [each for each in sys.path if Path(each).match("spark-core_*.jar")]:
        sys.path.remove(path)
        sys.path_importer_cache.pop(path, None)


@cache
def settle() -> None:
    """Exclude all present objects from garbage collection, which a worker does for every task.

    To be called in a worker after its imports. Idempotent.
    """
    leave_out_spark_jar()
    gc.collect()
    gc.freeze()
