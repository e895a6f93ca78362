"""The versions of a root among which `when` looks, and the condition that it counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from paimark.core.errors import NotFound, UsageError
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.text import has_halves
from paimark.core.travel.parse.tokens import tokenize
from paimark.core.travel.states import States
from paimark.core.travel.version import resolve_version


@dataclass(frozen=True, slots=True)
class Version:
    """A version that can be read: `name` resolves to the snapshot with that id."""

    snapshot_id: int
    name: str

    @property
    def label(self) -> str:
        """`snapshot 5`, `savepoint.3 (snapshot 5)`."""
        own = f"snapshot {self.snapshot_id}"
        return own if self.name == f"snapshot.{self.snapshot_id}" else f"{self.name} ({own})"


def versions(files: Files, root: Root, first: str | None, last: str | None) -> list[Version]:
    """The versions from `first` to `last`, each None for the oldest and the newest, by snapshot id.

    A snapshot that has expired is there if a tag or savepoint keeps it. Snapshots are listed, not read.
    Raises `NotFound` for a table without a snapshot and for a version that is missing, and `UsageError` if
    `first` is after `last`.
    """
    states = States(files, root)
    live = states.lineage.snapshot_ids()
    if not live:
        raise NotFound(f"{states.table_name} has no snapshot yet", "Commit some rows first.")
    found = {each: f"snapshot.{each}" for each in live}
    # Ids above the newest snapshot are of a history that was rolled back.
    for state in states.tag_states:
        if state.snapshot.id < live[0]:
            found.setdefault(state.snapshot.id, state.name)
    low = resolve_version(files, root, first).snapshot.id if first is not None else min(found)
    high = resolve_version(files, root, last).snapshot.id if last is not None else live[-1]
    if low > high:
        raise UsageError(
            f"--from {first} is snapshot {low}, after snapshot {high}, where the search ends",
            "The search goes from an older version to a newer one.",
        )
    return [Version(each, name) for each, name in sorted(found.items()) if low <= each <= high]


def require_condition(text: str) -> str:
    """The condition, as a statement can take it in brackets. Raises `UsageError` if it is not one expression.

    Whether its columns exist, and whether it is true or false, Spark says.
    """
    stripped = text.strip()
    if has_halves(stripped):
        raise UsageError("The condition is not UTF-8", "Look at the encoding of the terminal.")
    tokens = tokenize(stripped)
    if not tokens:
        raise UsageError("The condition is empty", 'Write it as after WHERE: "price < 0".')
    if not (tokens[-1].is_closed and _is_whole([token.text for token in tokens])):
        raise UsageError(
            f"{stripped} is not one condition", "Close each bracket and quote, and write no second statement."
        )
    # A comment at its end would hide the bracket.
    return f"({stripped}\n)"


def _is_whole(words: Sequence[str]) -> bool:
    """Whether brackets are in pairs, so that nothing gets out of those around the condition."""
    depth = 0
    for word in words:
        depth += (word == "(") - (word == ")")
        if depth < 0 or word == ";":
            return False
    return depth == 0


# Words of a condition that is true of a row or not, whenever it is asked and whatever is beside the row.
_OF_ROWS = frozenset(
    (
        *(
            "AND",
            "OR",
            "NOT",
            "IN",
            "IS",
            "NULL",
            "LIKE",
            "ILIKE",
            "RLIKE",
            "ESCAPE",
            "BETWEEN",
            "TRUE",
            "FALSE",
        ),
        *(
            "CASE",
            "WHEN",
            "THEN",
            "ELSE",
            "END",
            "DISTINCT",
            "FROM",
            "CAST",
            "AS",
            "STRING",
            "CHAR",
            "VARCHAR",
        ),
        *(
            "BOOLEAN",
            "TINYINT",
            "SMALLINT",
            "INT",
            "INTEGER",
            "BIGINT",
            "FLOAT",
            "DOUBLE",
            "DECIMAL",
            "BINARY",
        ),
        *("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "LOWER", "UPPER", "TRIM", "ABS", "COALESCE"),
    )
)
# As a date or a time they are another one each time.
_MOMENTS = ("now", "today", "tomorrow", "yesterday")


def of_rows_alone(condition: str, columns: Collection[str]) -> bool:
    """Whether the words of a condition are columns, literals, and what depends on nothing but these.

    Not so `ts < now()` or `id IN (SELECT ...)`: they may be true of the same row in one version alone.
    """
    known, tokens = {each.lower() for each in columns}, tokenize(condition)
    if any(token.kind == "string" and token.value.strip().lower().startswith(_MOMENTS) for token in tokens):
        return False
    return all(
        token.upper in _OF_ROWS or (token.value.lower() in known and not following.startswith("("))
        for token, following in zip(tokens, [*(each.text for each in tokens[1:]), ""], strict=True)
        if token.is_name
    )


@dataclass(frozen=True, slots=True)
class Count:
    """How many rows of a version satisfy the condition. `time_millis` is that of its commit."""

    version: Version
    time_millis: int
    rows: int


@dataclass(frozen=True, slots=True)
class Found:
    """`first` has rows of the condition, and `before`, the version just before it, has none.

    `before` is None if the oldest version has some already. `newest` is where the search began; `gone` is how
    many snapshots between the two have expired, of which nothing is known.
    """

    first: Count
    before: Count | None
    newest: Count
    gone: int


# Counts a version; None if it has expired meanwhile.
Counting = Callable[[Version], Count | None]


def first_with_rows(versions: Sequence[Version], count: Counting) -> Found | Count | None:
    """Bisect for a version with rows behind one without. It is one beginning: there may be earlier ones.

    A `Count` of no rows if the newest version has none; None if all versions have expired meanwhile.
    """
    left = list(versions)
    newest = _last(left, count)
    if newest is None or not newest.rows:
        return newest
    oldest = None
    while len(left) > 1 and (oldest := count(left[0])) is None:
        left.pop(0)
    if oldest is None or oldest.rows:
        return Found(oldest or newest, None, newest, 0)
    first, before, low, high = newest, oldest, 0, len(left) - 1
    while high - low > 1:
        middle = (low + high) // 2
        counted = count(left[middle])
        if counted is None:
            left.pop(middle)
            high -= 1
        elif counted.rows:
            first, high = counted, middle
        else:
            before, low = counted, middle
    gone = first.version.snapshot_id - before.version.snapshot_id - 1
    return Found(first, before, newest, gone)


def _last(left: list[Version], count: Counting) -> Count | None:
    while left:
        counted = count(left[-1])
        if counted is not None:
            return counted
        left.pop()
    return None
