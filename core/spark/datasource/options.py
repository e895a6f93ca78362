"""The options of the data source `paimark`, by use. Other options are the store's, or are refused.

Spark converts the names of options to lower case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from paimark.core.errors import UsageError
from paimark.core.storage.known_options import SPELLED, is_known, require_files
from paimark.core.table.names import near_names

_EVERYWHERE = ("warehouse", "table", "branch")
# Each names the state to read: see `requested_state`. Those in STARTS also begin a stream.
STATES = ("version", "versionAsOf", "timestampAsOf", "scan.version", "scan.tag-name", "scan.watermark")
STARTS = ("scan.snapshot-id", "scan.timestamp", "scan.timestamp-millis")
READ = (*_EVERYWHERE, *STATES, *STARTS, "scan.mode")
READ_STREAM = (
    *_EVERYWHERE,
    *(*STARTS, "scan.mode"),
    *("follow-main", "maxSnapshotsPerTrigger", "read.changelog", "scan.gap", "scan.bounded"),
    *(f"read.stream.max{what}PerTrigger" for what in ("Files", "Bytes", "Rows")),
    *("read.stream.minRowsPerTrigger", "read.stream.maxTriggerDelayMs"),
    *("consumer-id", "consumer.mode", "consumer.ignore-progress"),
)
_NOTE = ("message", "author")
WRITE = (*_EVERYWHERE, *_NOTE, "partitionOverwriteMode")
WRITE_STREAM = (*_EVERYWHERE, *_NOTE, "checkpointLocation", "query-id")
# Spark asks for a schema before it tells the use.
READ_ANY = (*READ, *READ_STREAM)
_USES = {"reading": READ, "readStream": READ_STREAM, "writing": WRITE, "writeStream": WRITE_STREAM}
# Options that only our Java sets.
JAVA, DOOR, BATCH, RUN = "java", "door", "batch", "run"
_INTERNAL = (JAVA, DOOR, BATCH, RUN)
_OWN = frozenset(name.lower() for names in (*_USES.values(), _INTERNAL, ("path",)) for name in names)
_AS_SPELLED = {name.lower(): name for name in SPELLED}


def catalog_options(options: Mapping[str, str]) -> dict[str, str]:
    """The options for pypaimon and the storage. Raises `UsageError` without a warehouse or table."""
    if "warehouse" not in options or "table" not in options:
        raise UsageError("The paimark source needs the options warehouse and table", "table is `db.t`.")
    return {_AS_SPELLED.get(name, name): value for name, value in options.items() if name.lower() not in _OWN}


def require_allowed(options: Mapping[str, str], allowed: Iterable[str]) -> None:
    """Raises `UsageError` for an option that is neither `allowed` nor one of a store's client."""
    by_name = {name.lower(): name for name in allowed}
    warehouse = options.get("warehouse", "")
    require_files(warehouse, options)
    for option in options:
        name = option.lower()
        if name in by_name or name in _INTERNAL or is_known(_AS_SPELLED.get(name, name), warehouse):
            continue
        raise UsageError(f"The paimark source has no option {option} here", _hint(name, by_name))


def _hint(name: str, known: Mapping[str, str]) -> str:
    if name == "path":
        return "The options warehouse and table say which table: table is `db.t`."
    if name == "consumer.expiration-time":
        return f"The writer that commits obeys it: ALTER TABLE ... SET TBLPROPERTIES ('{name}' = '1 d')."
    if name in map(str.lower, STATES) and "follow-main" in known:
        return "A stream begins with scan.mode and scan.snapshot-id, which takes a tag as well."
    uses = [use for use, names in _USES.items() if name in {each.lower() for each in names}]
    if uses:
        return f"It is of {' and '.join(uses)}."
    own = sorted(known.values())
    return near_names(name, [*own, *SPELLED]) or f"There are {', '.join(own)}, and the store's."
