"""The kinds of tables that chains of actions run on, each with a plain model of its rows.

Rows are dicts of values by field id, so that a column stays the same when it is renamed. `s` of a row may be
missing, and so is every column that was added later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

K, V, S, P = range(4)
COLUMNS = {"k": "INT", "v": "INT", "s": "STRING", "p": "INT"}

Row = Mapping[int, Any]
# The row of a key after a newer row is written over an older one.
Rule = Callable[[Row, Row], Row]


def _newest(older: Row, newer: Row) -> Row:
    return newer


def _by_sequence(older: Row, newer: Row) -> Row:
    return newer if newer[V] >= older[V] else older


def _first(older: Row, newer: Row) -> Row:
    return older


def _partial(older: Row, newer: Row) -> Row:
    return {**older, **{name: value for name, value in newer.items() if value is not None}}


def _summed(older: Row, newer: Row) -> Row:
    return {**_partial(older, newer), V: older[V] + newer[V]}


@dataclass(frozen=True)
class Kind:
    """`refused` are words of the reason why rows can't be rewritten, `unmerged` why not merged by key,
    `uncounted` why no files are deleted. `compacts`: the judge can compact it. `unseen`: rows are visible
    only after the compaction that follows their commit. `postpones`: rows can be written to the postponed
    bucket. `key`: the values that identify a row; empty without a primary key.
    """

    options: Mapping[str, str]
    keys: Sequence[str] = ("k",)
    partitions: Sequence[str] = ()
    rule: Rule = _newest
    deletes: bool = True
    unseen: bool = False
    postpones: bool = False
    evolves: bool = False
    compacts: bool = True
    refused: str = ""
    unmerged: str = ""
    uncounted: str = ""
    columns: Mapping[str, str] = field(default_factory=lambda: COLUMNS)

    @property
    def is_keyed(self) -> bool:
        return bool(self.keys)

    def key(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[list(self.columns).index(name)] for name in self.keys)

    def after(self, rows: Sequence[Row], written: Sequence[Row]) -> tuple[Row, ...]:
        """The table's rows after more are written to it."""
        if not self.is_keyed:
            return (*rows, *written)
        state = {self.key(row): row for row in rows}
        for row in written:
            there = state.get(self.key(row))
            state[self.key(row)] = row if there is None else self.rule(there, row)
        return tuple(state.values())

    def without(self, rows: Sequence[Row], deleted: Sequence[Row]) -> tuple[Row, ...]:
        gone = {self.key(row) for row in deleted}
        return tuple(row for row in rows if self.key(row) not in gone)

    def merged(self, base: Sequence[Row], branch: Sequence[Row], main: Sequence[Row]) -> tuple[Row, ...]:
        """Main's rows with the branch's changes since the base. If both changed a key, the branch wins."""
        if not self.is_keyed:
            return (*main, *branch[len(base) :])
        was, now = ({self.key(row): row for row in rows} for rows in (base, branch))
        changed = {key for key in was.keys() | now.keys() if was.get(key) != now.get(key)}
        kept = [row for row in main if self.key(row) not in changed]
        return (*kept, *(row for key, row in now.items() if key in changed))


_TWO = {"bucket": "2"}
_VECTORS = {"deletion-vectors.enabled": "true"}
_UNSEEN = "seen by nobody"

KINDS: dict[str, Kind] = {
    "primary key": Kind(_TWO),
    "orc": Kind({**_TWO, "file.format": "orc"}),
    "avro": Kind({**_TWO, "file.format": "avro"}),
    "partitions": Kind(_TWO, keys=("k", "p"), partitions=("p",)),
    "evolved": Kind(_TWO, evolves=True),
    "sequence field": Kind({**_TWO, "sequence.field": "v"}, rule=_by_sequence),
    "partial update": Kind(
        {**_TWO, "merge-engine": "partial-update"}, rule=_partial, deletes=False, unmerged="partial-update"
    ),
    "aggregation": Kind(
        {**_TWO, "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
        rule=_summed,
        deletes=False,
        unmerged="aggregation",
    ),
    "first row": Kind(
        {**_TWO, "merge-engine": "first-row"}, rule=_first, deletes=False, unseen=True, unmerged="first row"
    ),
    "lookup changelog": Kind({**_TWO, "changelog-producer": "lookup"}),
    "input changelog": Kind({**_TWO, "changelog-producer": "input"}),
    "full compaction changelog": Kind({**_TWO, "changelog-producer": "full-compaction"}),
    "dynamic buckets": Kind({"bucket": "-1", "dynamic-bucket.target-row-num": "3"}),
    "cross partition": Kind({"bucket": "-1"}, partitions=("p",)),
    "postponed buckets": Kind({"bucket": "-2"}),
    "rows in no bucket yet": Kind({"bucket": "-2"}, postpones=True, refused="nobody"),
    "deletion vectors": Kind({**_TWO, **_VECTORS}, unseen=True, unmerged="deletion vectors"),
    "append": Kind({}, keys=()),
    "append in partitions": Kind({}, keys=(), partitions=("p",)),
    "append evolved": Kind({}, keys=(), evolves=True),
    "append orc": Kind({"file.format": "orc"}, keys=()),
    "bucketed append": Kind({**_TWO, "bucket-key": "k"}, keys=()),
    "append deletion vectors": Kind(_VECTORS, keys=()),
    "row tracking": Kind({"row-tracking.enabled": "true"}, keys=(), uncounted="row tracking"),
    "data evolution": Kind(
        {"row-tracking.enabled": "true", "data-evolution.enabled": "true"},
        keys=(),
        compacts=False,
        uncounted="data evolution",
    ),
}


def documented(name: str, kind: Kind) -> str:
    """The kind's row in `docs/tables.md`: the operations that work, and those that are refused."""
    merges = not (kind.refused or kind.unmerged)
    ways = (True, merges, not kind.refused, not kind.uncounted)
    return f"| {name} | {' | '.join('works' if works else 'refused' for works in ways)} |"
