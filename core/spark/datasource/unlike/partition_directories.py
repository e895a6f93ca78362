"""Partitions by floating-point numbers and bytes: the writer's Java prints the names of their directories.

pypaimon treats 0.0 and -0.0 as one partition and writes NaN differently, and Java's name for bytes differs
each time. That never gives wrong rows, but an existing file would be reported as lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from paimark.core.errors import Refused
from paimark.core.spark.datasource.field_types import type_name

_UNSURE = frozenset({"FLOAT", "DOUBLE", "BINARY", "VARBINARY", "BYTES"})


def require_known_directories(name: str, table: Any, splits: Iterable[Any]) -> None:
    """Raises `Refused` naming the partition columns of such types if a file is not found.

    `table` is pypaimon's. For tables without such columns, the store is not accessed.
    """
    kinds = {field.name: str(field.type) for field in table.fields}
    unsure = [column for column in table.partition_keys if type_name(kinds[column]) in _UNSURE]
    if not unsure:
        return
    for file in (file for split in splits for file in split.files):
        if not table.file_io.exists(file.file_path):
            columns = ", ".join(f"{column}, which is {kinds[column]}" for column in unsure)
            raise Refused(
                f"{name} is partitioned by {columns}: {file.file_name} is not in the directory in which this "
                "reader looks for its partition",
                "The writer's Java names such directories: a stock engine may find them.",
            )
