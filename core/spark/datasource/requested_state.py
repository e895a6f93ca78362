"""Resolve the state of a table that the options of a batch read name: Paimon's, Spark's, or `version`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from paimark.core.errors import UsageError
from paimark.core.spark.datasource.options import STARTS, STATES
from paimark.core.spark.datasource.table_options import ReadScope
from paimark.core.storage.files import Files
from paimark.core.table.layout import MAIN, Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.travel.requested_version import as_snapshot
from paimark.core.travel.times import epoch_ms, read_timestamp
from paimark.core.travel.version import Resolved, resolve_latest, resolve_time, resolve_version

_NEWEST = ("", "default", "latest", "latest-full", "full")
_MODES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_NEWEST, ()),
    "from-snapshot": ("scan.version", "scan.snapshot-id", "scan.tag-name", "scan.watermark"),
    "from-snapshot-full": ("scan.version", "scan.snapshot-id", "scan.tag-name"),
    "from-timestamp": ("scan.timestamp", "scan.timestamp-millis"),
}


def read_scope(options: Mapping[str, str]) -> ReadScope:
    """What the options name: the rows of main alone (branch `main`), a version, or the current table."""
    if options.get("branch") == MAIN:
        return "root"
    return "version" if any(name in options for name in (*STATES, *STARTS, "scan.mode")) else "table"


def requested_state(files: Files, root: Root, options: Mapping[str, str]) -> Resolved | None:
    """The state that the options name, or the newest; None for a table without a snapshot.

    Raises `UsageError` for options that contradict each other, `NotFound` for a missing state.
    """
    names = [name for name in (*STATES, *STARTS) if name in options]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} each name the state to read", "Give one of them.")
    _require_mode(options.get("scan.mode", "").lower(), names)
    if not names:
        return resolve_latest(files, root)
    name, value = names[0], options[names[0]].strip()
    match name:
        case "scan.snapshot-id":
            return resolve_version(files, root, as_snapshot(value))
        case "scan.tag-name":
            # Fail for a missing tag: `resolve_version` would take a number for a snapshot.
            Lineage(files, root).tag(value)
            return resolve_version(files, root, value)
        case "scan.watermark":
            return resolve_version(files, root, f"watermark-{value}")
        case "scan.timestamp" | "scan.timestamp-millis" | "timestampAsOf":
            return resolve_time(files, root, named_time(name, value), value)
    return resolve_version(files, root, value)


def _require_mode(mode: str, names: list[str]) -> None:
    if mode not in _MODES:
        modes = ", ".join(filter(None, _MODES))
        raise UsageError(f"scan.mode is {modes} where no stream reads, not {mode}")
    fitting = _MODES[mode]
    if mode in ("", "default") or (set(names) <= set(fitting) and bool(names) == bool(fitting)):
        return
    takes = f"one of {', '.join(fitting)}" if fitting else f"no {names[0]}"
    raise UsageError(f"scan.mode {mode} takes {takes}", "Each of them can stand without scan.mode, too.")


def named_time(name: str, text: str) -> int:
    """Parse the value of an option that names a time to epoch milliseconds. Raises `UsageError`."""
    try:
        if name == "scan.timestamp-millis":
            return int(text)
        time = read_timestamp(text, datetime.now().date())
        if name == "timestampAsOf" and time.tzinfo is None:
            raise UsageError(
                f"timestampAsOf {text} has no time zone, and the session's time zone is not known here",
                f"Write it: {text}+00:00. scan.timestamp is in this machine's.",
            )
        # Without a zone, scan.timestamp is in this machine's zone, as in Paimon.
        return epoch_ms(time.astimezone())
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{name} is no time: {error}") from error
