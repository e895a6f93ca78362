"""The process from which Spark forks its Python workers. It imports the libraries once for all workers.

A worker ends whenever a statement is cancelled or reaches its limit, and each new one would need 0.8 s for
the imports. Spark starts this as `python -m paimark.core.spark.launch.worker_daemon [worker module]`.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from paimark.core.spark.datasource.worker_imports import leave_out_spark_jar, settle

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
# Where Spark unpacks the files of the driver's HADOOP_CONF_DIR in a container of YARN.
_HADOOP_FILES = "__spark_conf__/__hadoop_conf__"


def use_hadoop_files_of_driver() -> None:
    """In a container of YARN let Python read the files that Java reads: the node may have none, or others."""
    if os.path.isdir(_HADOOP_FILES):
        os.environ["HADOOP_CONF_DIR"] = os.path.abspath(_HADOOP_FILES)


def main() -> None:
    leave_out_spark_jar()
    use_hadoop_files_of_driver()
    # Spark passes the worker's module, except for `pyspark.worker`.
    module = sys.argv[1] if len(sys.argv) > 1 else "pyspark.worker"
    if module in _OPENS_TABLES:
        # Without pypaimon a task that reads a table fails with a message; other tasks do not need it.
        with suppress(ImportError):
            import pypaimon.read.table_read  # noqa: F401

    from pyspark.daemon import manager

    settle()
    manager()  # type: ignore[no-untyped-call]  # PySpark has no types for it


if __name__ == "__main__":
    main()
