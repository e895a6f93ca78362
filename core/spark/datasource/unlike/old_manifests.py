"""Manifests of Paimon 0.9 and older lack fields that came later; pypaimon takes all of them for granted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from pypaimon.manifest import manifest_file_manager

# Of a file's record: without a value, each means what it means to stock Paimon if it is null.
_LATER = ("_VALUE_STATS_COLS", "_DELETE_ROW_COUNT", "_FILE_SOURCE", "_EMBEDDED_FILE_INDEX", "_CREATION_TIME")


@cache
def read_old_manifests() -> None:
    """Make pypaimon read them in this process, for all tables. Idempotent."""
    usual = manifest_file_manager._read_manifest_records

    def records(*given: Any) -> Iterator[Any]:
        for record, partition, is_filtered in usual(*given):
            record["_FILE"] = {**dict.fromkeys(_LATER), "_EXTRA_FILES": [], **record["_FILE"]}
            yield record, partition, is_filtered

    manifest_file_manager._read_manifest_records = records
