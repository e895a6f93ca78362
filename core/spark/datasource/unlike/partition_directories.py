"""Partitions by floating-point numbers, bytes and moments: the writer decides on the names of directories.

pypaimon treats 0.0 and -0.0 as one partition and writes NaN differently, Java's name for bytes differs each
time, and a moment is named in the writer's time zone. That never gives wrong rows, but an existing file would
be reported as lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from paimark.core.errors import Refused
from paimark.core.table.definition.column_types import has_path_of_writer, names_legacy


def require_known_directories(name: str, table: Any, splits: Iterable[Any]) -> None:
    """Raises `Refused` naming the partition columns of such types if a file is not found.

    `table` is pypaimon's. For tables without such columns, the store is not accessed.
    """
    kinds = {field.name: str(field.type) for field in table.fields}
    legacy = names_legacy(table.table_schema.options)
    unsure = [each for each in table.partition_keys if has_path_of_writer(kinds[each], legacy=legacy)]
    if not unsure:
        return
    for file in (file for split in splits for file in split.files):
        if not table.file_io.exists(file.file_path):
            columns = ", ".join(f"{column}, which is {kinds[column]}" for column in unsure)
            raise Refused(
                f"{name} is partitioned by {columns}: {file.file_name} is not in the directory in which this "
                "reader looks for its partition",
                "The file is not lost: its writer named that directory, by its Java or in its time zone. A "
                "stock engine in the same zone may find it.",
            )
