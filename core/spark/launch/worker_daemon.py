"""The process that Spark forks its Python workers from: imports the libraries once, not in every worker.

A worker is lost whenever a statement is cancelled or stops at its limit, and 0.8 s of imports would be lost
with it. Spark starts this as `python -m core.spark.launch.worker_daemon [worker module]`.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from core.spark.datasource.worker_imports import leave_out_spark_jar, settle

_OPENS_TABLES = frozenset(
    {
        "pyspark.worker",
        "pyspark.sql.worker.create_data_source",
        "pyspark.sql.worker.plan_data_source_read",
        "pyspark.sql.worker.data_source_pushdown_filters",
        "pyspark.sql.worker.write_into_data_source",
        "pyspark.sql.worker.python_streaming_sink_runner",
    }
)


def main() -> None:
    leave_out_spark_jar()
    # Spark names the worker's module, and none for `pyspark.worker`.
    module = sys.argv[1] if len(sys.argv) > 1 else "pyspark.worker"
    if module in _OPENS_TABLES:
        # A task that reads a table fails with a message without it; other tasks do without.
        with suppress(ImportError):
            import pypaimon.read.table_read  # noqa: F401

    from pyspark.daemon import manager

    settle()
    manager()  # type: ignore[no-untyped-call]  # PySpark has no types for it


if __name__ == "__main__":
    main()
