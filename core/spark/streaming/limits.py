"""Limit the size of micro-batches by Paimon's options `read.stream.*`, and find their ends.

A batch is made of pieces: for a table without keys a piece is a file, for one with keys the files of a bucket
with overlapping keys, which are read together. A batch always takes at least one piece, however big it is. A
piece is never split, so that the rows of a key are always merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from msgspec.structs import replace

from paimark.core.errors import Corrupt, UsageError
from paimark.core.spark.datasource.requested_state import named_time
from paimark.core.spark.streaming import consumers
from paimark.core.spark.streaming.consumers import consumer_id
from paimark.core.spark.streaming.offsets import Offset, StreamPosition, mark_of
from paimark.core.table.layout import MAIN
from paimark.core.table.records import Snapshot
from paimark.core.text import whole_number
from paimark.core.travel.requested_version import as_snapshot

MOST_FILES, MOST_BYTES, MOST_ROWS = (
    f"read.stream.max{what}PerTrigger" for what in ("Files", "Bytes", "Rows")
)
LEAST_ROWS, LONGEST_WAIT = "read.stream.minRowsPerTrigger", "read.stream.maxTriggerDelayMs"
NAMES = (MOST_FILES, MOST_BYTES, MOST_ROWS, LEAST_ROWS, LONGEST_WAIT)
# The pieces of a snapshot, as splits of pypaimon, always in the same order.
Pieces = Callable[[Snapshot], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Size:
    """The size of data files; `rows` counts the rows in files, before those of one key are merged."""

    files: int = 0
    size_bytes: int = 0
    rows: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.files + other.files, self.size_bytes + other.size_bytes, self.rows + other.rows)


@dataclass(frozen=True, slots=True)
class Limits:
    """None is no limit. A batch waits for `least_rows` rows, but at most `wait_ms` after the one before."""

    files: int | None = None
    size_bytes: int | None = None
    rows: int | None = None
    least_rows: int | None = None
    wait_ms: int | None = None

    def __bool__(self) -> bool:
        return self != Limits()

    def allow(self, size: Size) -> bool:
        pairs = (
            (self.files, size.files),
            (self.size_bytes, size.size_bytes),
            (self.rows, size.rows),
        )
        return all(most is None or amount <= most for most, amount in pairs)


def read_limits(options: Mapping[str, str]) -> Limits:
    """Raises `UsageError` for values that are not numbers from 1 on, and for contradictions."""
    files, size_bytes, rows, least, wait = (_number(options, name) for name in NAMES)
    if (least is None) != (wait is None):
        raise UsageError(
            f"{LEAST_ROWS} and {LONGEST_WAIT} go together",
            "The one says how many rows are waited for, the other for how long.",
        )
    if least is not None and rows is not None and least > rows:
        raise UsageError(f"{LEAST_ROWS} {least} is more than {MOST_ROWS} {rows}")
    return Limits(files, size_bytes, rows, least, wait)


def _number(options: Mapping[str, str], name: str) -> int | None:
    if (text := options.get(name)) is None:
        return None
    if not (number := whole_number(text)):
        raise UsageError(f"{name} is a number from 1 on, not {text}")
    return number


def size_of(pieces: Iterable[Any]) -> Size:
    files = [file for piece in pieces for file in piece.files]
    return Size(len(files), sum(file.file_size for file in files), sum(file.row_count for file in files))


def cut_whole(position: StreamPosition, pieces: Sequence[Any], limits: Limits) -> Offset:
    """The end of a batch with the rest of one snapshot: of its whole state, or of its changes.

    Raises `Corrupt` if the pieces are not those that the position counted.
    """
    require_same_pieces(position, pieces)
    count, _ = _fitting(pieces[position.pieces :], limits, Size())
    return _end(position, pieces, position.pieces + count)


def cut_changes(
    position: StreamPosition, later: Iterable[Snapshot], pieces_of: Pieces, limits: Limits
) -> tuple[Offset | None, Size]:
    """The end of a batch after a complete snapshot, and its size; None if there is nothing later.

    The batch has complete snapshots, or a part of one after others that add nothing.
    """
    end, size = None, Size()
    for snapshot in later:
        pieces = pieces_of(snapshot)
        count, total = _fitting(pieces, limits, size)
        at = StreamPosition(position.branch, snapshot.id, mark_of(snapshot))
        if count == len(pieces):
            end, size = _end(at, pieces, count), total
        elif size.files:
            break
        else:
            return _end(at, pieces, count), total
    return end, size


def _fitting(pieces: Sequence[Any], limits: Limits, size: Size) -> tuple[int, Size]:
    """The number of pieces that fit in addition to `size`, and the total size with them."""
    for number, piece in enumerate(pieces):
        total = size + size_of([piece])
        if size.files and not limits.allow(total):
            return number, size
        size = total
    return len(pieces), size


def _end(position: StreamPosition, pieces: Sequence[Any], count: int) -> Offset:
    if count == len(pieces):
        return Offset(position.branch, position.snapshot, position.uuid)
    read = replace(position, pieces=count, last=_name(pieces[count - 1]))
    return Offset(*(getattr(read, name) for name in StreamPosition.__struct_fields__))


def require_same_pieces(position: StreamPosition, pieces: Sequence[Any]) -> None:
    """Raises `Corrupt` if the last piece that was read is not at its place any more."""
    if position.pieces and (
        position.pieces > len(pieces) or _name(pieces[position.pieces - 1]) != position.last
    ):
        raise Corrupt(
            f"Snapshot {position.snapshot} was read up to file {position.last}, and its files come in "
            "another order now",
            "Go on with the version of Paimark and pypaimon that wrote the checkpoint, or begin anew.",
        )


def _name(piece: Any) -> str:
    name: str = piece.files[0].file_name
    return name


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
