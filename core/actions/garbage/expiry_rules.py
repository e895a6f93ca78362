"""Which snapshots expire: by the arguments, or by the table's options. None that a consumer still reads."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from paimark.core.actions.checks import integer_argument, newest_options, text_argument
from paimark.core.actions.context import Context
from paimark.core.actions.plan_wording import consumers_of
from paimark.core.durations import parse_duration
from paimark.core.errors import Corrupt, Refused, UsageError
from paimark.core.figures import counted, moment
from paimark.core.quoting import shell_line
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import Consumer, Snapshot
from paimark.core.text import whole_number

_FOREVER = 2**31 - 1
# Snapshots read at once to find their times.
_AT_ONCE = 64
# Paimon's own defaults, if the table sets none.
_MIN_RETAINED, _TIME_RETAINED = 10, "1 h"


@dataclass(frozen=True)
class Rules:
    """The snapshots that stay: the newest `at_least` ids, and those of the newest `at_most` that were
    committed at `since` (epoch ms) or later. Unless `asked` for, the rules are the table's own.
    """

    at_least: int
    at_most: int
    since: int
    asked: bool = True


def smallest_consumer(files: Files, root: Root) -> int | None:
    """The first snapshot that a registered reader of this root still has to read. Raises `Corrupt`."""
    return min(consumers_at(files, root).values(), default=None)


def consumers_at(files: Files, root: Root) -> dict[str, int]:
    """The next snapshot of each registered reader. Raises `Corrupt`."""
    names = consumers_of(files, root)
    paths = [root.consumer(name) for name in names]
    found = {}
    for name, path, data in zip(names, paths, files.read_many(paths), strict=True):
        if data is None:
            continue
        try:
            found[name] = Consumer.from_json(data, path).next_snapshot
        except Corrupt as error:
            forget = ["paimark", "reset-consumer", root.table.full_name, "--name", name]
            raise Corrupt(
                f"{path} does not say what its consumer reads next",
                f"`{shell_line(forget)}` forgets it, if its job is gone.",
            ) from error
    return found


def read_rules(context: Context, root: Root, arguments: Mapping[str, object]) -> Rules:
    retain, older = integer_argument(arguments, "retain_last"), text_argument(arguments, "older_than")
    now = context.clock()
    if retain is not None and retain < 1:
        raise UsageError("retain_last is at least 1", "The newest snapshot never expires.")
    if retain is None and older is None:
        options = newest_options(context.files, root)
        at_least = _whole(options, "snapshot.num-retained.min", _MIN_RETAINED)
        at_most = _whole(options, "snapshot.num-retained.max", _FOREVER)
        if at_least > at_most:
            raise Refused(
                f"The table's options keep at least {at_least} snapshots (snapshot.num-retained.min) "
                f"and at most {at_most} (snapshot.num-retained.max)",
                "Give --retain-last, or set one of them anew by ALTER TABLE.",
            )
        kept = parse_duration(options.get("snapshot.time-retained", _TIME_RETAINED))
        return Rules(max(1, at_least), at_most, now - kept, asked=False)
    since = None if older is None else _time(older, now)
    if retain is None:
        return Rules(1, _FOREVER, since or 0)
    return Rules(retain, _FOREVER, since) if since is not None else Rules(retain, retain, now)


def _whole(options: Mapping[str, str], name: str, default: int) -> int:
    text = options.get(name, str(default))
    number = whole_number(text)
    if number is None:
        raise Refused(f"The table's option {name} is {text!r}, not a number", "Give --retain-last.")
    return number


def _time(text: str, now_ms: int) -> int:
    """Epoch milliseconds of a date and time (local without a zone), or of a length of time ago."""
    try:
        return int(datetime.fromisoformat(text.strip()).timestamp() * 1000)
    except (ValueError, OverflowError):
        pass
    try:
        return now_ms - parse_duration(text)
    except UsageError as error:
        raise UsageError(
            f"{text!r} is neither a time nor a length of time", "Write it like 7 d or 2026-05-01 12:00."
        ) from error


def first_that_stays(lineage: Lineage, ids: list[int], rules: Rules, consumer: int | None) -> int:
    """The first id that stays. Raises `Corrupt`."""
    if not ids:
        return 0
    latest = ids[-1]
    free = bisect_left(ids, max(ids[0], latest - rules.at_most + 1))
    limit = bisect_left(ids, min(latest - rules.at_least + 1, latest))
    if consumer is not None:
        limit = min(limit, bisect_left(ids, consumer))
    position = min(free, limit)
    while position < limit:
        some = ids[position : min(position + _AT_ONCE, limit)]
        older = _how_many_older(lineage, some, rules.since)
        position += older
        if older < len(some):
            break
    return ids[position]


def _how_many_older(lineage: Lineage, ids: Sequence[int], since: int) -> int:
    """How many of these snapshots, counted from the first, were committed before `since`."""
    paths = [lineage.root.snapshot(each) for each in ids]
    for position, (path, data) in enumerate(zip(paths, lineage.files.read_many(paths), strict=True)):
        if data is not None and Snapshot.from_json(data, path).time_millis >= since:
            return position
    return len(ids)


def limits(
    lineage: Lineage, ids: list[int], end: int, rules: Rules, consumers: Mapping[str, int], now_ms: int
) -> list[str]:
    """Why the snapshot `end` and later ones stay, if neither their number nor their time is the reason."""
    if end > ids[-1] - rules.at_least:
        return []
    if end == min(consumers.values(), default=None):
        readers = [name for name, first in consumers.items() if first == end]
        consumers_said = "consumer" if len(readers) == 1 else "consumers"
        reads = "reads" if len(readers) == 1 else "read"
        return [f"snapshot {end} and later ones: {consumers_said} {', '.join(readers)} still {reads} from it"]
    committed = lineage.snapshot(end).time_millis
    if committed <= now_ms:
        return []
    return [
        f"snapshot {end} and later ones: it says that it was committed at {moment(committed)}, which is "
        "still to come. Expire them by their number, with --retain-last"
    ]


def why_none(
    lineage: Lineage, ids: list[int], rules: Rules, consumers: Mapping[str, int], now_ms: int
) -> list[str]:
    if rules.at_least >= _FOREVER:
        return ["every snapshot, by the branch's own options: give --retain-last or --older-than"]
    held = limits(lineage, ids, ids[0], rules, consumers, now_ms)
    return held or [_kept_by(lineage, ids, rules)]


def _kept_by(lineage: Lineage, ids: Sequence[int], rules: Rules) -> str:
    """Which rule keeps even the oldest snapshot, and how to keep fewer."""
    by, fewer = ("", "") if rules.asked else (" by the table's options", " (--retain-last N keeps fewer)")
    if len(ids) == 1:
        return "the newest snapshot: there is no other"
    if ids[0] > ids[-1] - rules.at_least:
        return f"the newest {counted(rules.at_least, 'snapshot')}{by}: there are {len(ids):,}{fewer}"
    since, oldest = moment(rules.since), moment(lineage.snapshot(ids[0]).time_millis)
    return f"what was committed since {since}{by}: the oldest is of {oldest}{fewer}"
