"""All functions that are replaced in pypaimon, so that it reads the same rows as stock Paimon."""

from __future__ import annotations

from paimark.core.spark.datasource.unlike.aggregates import aggregate_as_stock
from paimark.core.spark.datasource.unlike.conversions import convert_as_stock
from paimark.core.spark.datasource.unlike.counted_rows import count_all_rows
from paimark.core.spark.datasource.unlike.cut_bounds import loosen_cut_bounds
from paimark.core.spark.datasource.unlike.old_manifests import read_old_manifests


def patch_pypaimon() -> None:
    """Replace them in this process, for all tables. Idempotent."""
    loosen_cut_bounds()
    count_all_rows()
    convert_as_stock()
    aggregate_as_stock()
    read_old_manifests()
