"""All functions that are replaced in pypaimon, so that it reads the same rows as stock Paimon."""

from __future__ import annotations

from paimark.core.spark.datasource.unlike.counted_rows import count_all_rows
from paimark.core.spark.datasource.unlike.old_manifests import read_old_manifests


def patch_pypaimon() -> None:
    """Replace them in this process, for all tables. Idempotent."""
    count_all_rows()
    read_old_manifests()
