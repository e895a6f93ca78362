"""The options of a streaming read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from paimark.core.errors import UsageError
from paimark.core.spark.datasource.requested_state import named_time
from paimark.core.spark.streaming import consumers
from paimark.core.spark.streaming.consumers import consumer_id
from paimark.core.spark.streaming.limits import Limits, read_limits
from paimark.core.table.layout import MAIN
from paimark.core.text import whole_number
from paimark.core.travel.requested_version import as_snapshot

Mode = Literal["latest-full", "latest", "from-snapshot", "from-snapshot-full", "from-timestamp"]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """`version` is the value of `scan.snapshot-id`, `time_ms` the start in epoch milliseconds.

    `most` is the greatest number of snapshots in a micro-batch, None for no limit; `limits` are the limits of
    their size. `consumer` is the id under which the table keeps the stream's position: a new query continues
    there, unless it `ignores_progress`.
    """

    mode: Mode
    version: str | None
    time_ms: int | None
    follows_main: bool
    most: int | None
    with_kinds: bool
    limits: Limits
    goes_over_gaps: bool
    is_bounded: bool
    consumer: str | None
    ignores_progress: bool


def read_options(options: Mapping[str, str]) -> ReadOptions:
    """Parse the options. Raises `UsageError` for invalid or contradictory ones."""
    version, time_ms = options.get("scan.snapshot-id"), _time(options)
    mode = options.get("scan.mode", "").lower() or _implied(version, time_ms)
    for each in get_args(Mode):
        if mode == each:
            break
    else:
        raise UsageError(f"scan.mode is {', '.join(get_args(Mode))}, not {mode}")
    if mode.startswith("from-snapshot") != (version is not None):
        raise UsageError(
            "scan.snapshot-id and scan.mode from-snapshot or from-snapshot-full go together",
            "scan.snapshot-id is snapshot.<id>, savepoint.<id> or a number.",
        )
    if (mode == "from-timestamp") != (time_ms is not None):
        raise UsageError(
            "scan.timestamp or scan.timestamp-millis and scan.mode from-timestamp go together",
            "scan.timestamp is 2026-05-01 12:00:00, scan.timestamp-millis milliseconds since 1970.",
        )
    follow = options.get("follow-main", "").lower()
    if follow not in ("", "stop", "fork"):
        raise UsageError(f"follow-main is stop or fork, not {follow}")
    if follow == "fork" and options.get("branch", MAIN) != MAIN:
        raise UsageError("follow-main is for streams of main, and branch names another", "Give one of them.")
    gap = options.get("scan.gap", "").lower()
    if gap not in ("", "stop", "earliest"):
        raise UsageError(f"scan.gap is stop or earliest, not {gap}")
    return ReadOptions(
        mode=each,
        version=None if version is None else as_snapshot(version.strip()),
        time_ms=time_ms,
        follows_main=follow == "fork",
        most=_most(options.get("maxSnapshotsPerTrigger")),
        with_kinds=_flag(options, "read.changelog"),
        limits=read_limits(options),
        goes_over_gaps=gap == "earliest",
        is_bounded=_is_bounded(options.get("scan.bounded")),
        consumer=consumer_id(options),
        ignores_progress=_flag(options, consumers.IGNORES),
    )


def _implied(version: str | None, time_ms: int | None) -> str:
    """The mode that the other options imply, as in Paimon."""
    if version is not None:
        return "from-snapshot"
    return "from-timestamp" if time_ms is not None else "latest-full"


def _time(options: Mapping[str, str]) -> int | None:
    names = [name for name in ("scan.timestamp", "scan.timestamp-millis") if name in options]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} are both given", "Give one of them.")
    return named_time(names[0], options[names[0]]) if names else None


def _most(text: str | None) -> int | None:
    if text is None:
        return None
    number = whole_number(text)
    if not number:
        raise UsageError(f"maxSnapshotsPerTrigger is a number from 1 on, not {text}")
    return number


def _is_bounded(text: str | None) -> bool:
    if text is not None and text.lower() != "latest":
        raise UsageError(f"scan.bounded is latest, not {text}", "Without it a stream has no end.")
    return text is not None


def _flag(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name, "false").lower()
    if text not in ("true", "false"):
        raise UsageError(f"{name} is true or false, not {text}")
    return text == "true"
