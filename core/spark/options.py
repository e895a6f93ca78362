"""Which options of the data source `paimark` are its own: all others are the catalog's."""

from __future__ import annotations

from collections.abc import Mapping

_OWN = frozenset(
    {
        "branch",
        "checkpointlocation",
        "follow-main",
        "maxsnapshotspertrigger",
        "partitionoverwritemode",
        "path",
        "query-id",
        "read.changelog",
        "scan",
        "scan.mode",
        "scan.snapshot-id",
        "scan.timestamp",
        "scan.timestamp-millis",
        "table",
        "target",
        "version",
        "warehouse",
    }
)


def catalog_options(options: Mapping[str, str]) -> dict[str, str]:
    """Those that pypaimon and the storage are opened with."""
    return {name: value for name, value in options.items() if name.lower() not in _OWN}
