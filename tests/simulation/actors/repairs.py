"""`revert` and `restore-rows` as the simulation runs them: what their queries answer, and the rows they give.

A merge by key asks for its conflicts as they do. Of their SQL only the texts that the actions send are
known. What a repair must come to is said again, by the rows of the versions alone: the judge holds every
repair to that.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from paimark.core.actions.merge.sql import (
    BACK,
    BASE,
    BASE_NOW,
    CHANGED,
    CONFLICT,
    GO,
    NOW,
    THEN,
)
from tests.simulation.formats import KEY, VALUE, Rows

REPAIRS = ("revert", "restore-rows", "edit-rows")
# The views of `core/actions/repair/commit_files.py`.
_BEFORE, _ADDED, _GONE = "__paimark_before", "__paimark_added", "__paimark_gone_rows"
_REPLACED, _WITHIN, _INTACT = "__paimark_replaced", "__paimark_within", "__paimark_intact"
_MEANT = re.compile(rf"{KEY} = ([0-9]+)")


def condition(key: int) -> str:
    return f"{KEY} = {key}"


def meant_key(sql: str) -> int:
    """The key of a condition within a query."""
    found = _MEANT.search(sql)
    assert found is not None, sql
    return int(found[1])


class KeyChange(NamedTuple):
    """A key whose row is to change: its values at the version and now, None without a row."""

    key: int
    then: int | None
    now: int | None
    is_conflict: bool

    @property
    def kind(self) -> str:
        if self.is_conflict:
            return CONFLICT
        return GO if self.then is None else BACK if self.now is None else CHANGED


def answer(sql: str, rows: Mapping[str, Rows]) -> list[dict[str, Any]] | None:
    """What Spark answers; None to a query of another action."""
    if sql.startswith("WITH versions AS") and {THEN, BASE} & rows.keys():
        changes = key_changes(sql, rows)
        if sql.endswith("GROUP BY kind"):
            return [
                {"kind": kind, "n": count, "older": False}
                for kind, count in Counter(each.kind for each in changes).items()
            ]
        conflicts = [each for each in changes if each.is_conflict]
        return [
            {
                "k": {KEY: each.key},
                "key": json.dumps({KEY: each.key}),
                "then": row_of(each.key, each.then),
                "now": row_of(each.key, each.now),
                "conflicts": len(conflicts),
            }
            for each in conflicts[:5]
        ]
    if _BEFORE in rows:
        before, added = Counter(rows[_BEFORE]), Counter(rows[_ADDED])
        lost = (sought(rows) - taken(rows)).total()
        return [{"back": (before - added).total(), "go": (added - before).total(), "lost": lost}]
    if "count_if(" in sql:
        then, now = (of_key(rows[view], meant_key(sql)) for view in (THEN, NOW))
        # Columns that a schema adds are null in every row: none is lost.
        return [{"go": (now - then).total(), "back": (then - now).total(), "lost": 0}]
    return None


def key_changes(sql: str, rows: Mapping[str, Rows]) -> list[KeyChange]:
    """Of a query over versions of a table with a key."""
    views = {name: dict(of) for name, of in rows.items()}
    if BASE not in views:
        key = meant_key(sql)
        then, now = views[THEN].get(key), views[NOW].get(key)
        pairs = [(views[name], views[f"__paimark_b{name[11:]}"]) for name in views if name[10:11] == "a"]
        often = sum(before.get(key) != after.get(key) for before, after in pairs) > 1
        return [KeyChange(key, then, now, often)] if then != now else []
    before, base, found = views.get(THEN, {}), views[BASE], list[KeyChange]()
    for key in sorted({*before, *base}):
        if before.get(key) == base.get(key):
            continue
        moved = views[BASE_NOW].get(key) != views[NOW].get(key) if NOW in views else False
        now = views[NOW].get(key) if moved else base.get(key)
        if before.get(key) != now:
            found.append(KeyChange(key, before.get(key), now, moved))
    return found


def upserts(sql: str, changes: Iterable[KeyChange]) -> list[KeyChange]:
    """Those of the changes that are written."""
    keeps = sql.endswith("WHERE NOT is_conflict")
    return [each for each in changes if not (keeps and each.is_conflict)]


def is_mixed(rows: Mapping[str, Rows]) -> bool:
    """Whether files of the commit that are gone had rows that it only carried on, beside its own."""
    return bool(rows[_GONE] and rows[_BEFORE])


def sought(rows: Mapping[str, Rows]) -> Counter[tuple[int, int]]:
    """The commit's own rows, some of which may be gone."""
    return Counter(rows[_ADDED]) - Counter(rows[_BEFORE]) if is_mixed(rows) else Counter(rows[_GONE])


def taken(rows: Mapping[str, Rows]) -> Counter[tuple[int, int]]:
    """Those of them that files of now have, beside copies that were there before the commit."""
    replaced, within = Counter(rows[_REPLACED]), Counter(rows[_WITHIN])
    return sought(rows) - (replaced - within)


def added_rows(sql: str, rows: Mapping[str, Rows]) -> Rows:
    """The rows that a repair of a table without keys writes."""
    if not sql:
        return ()
    if THEN in rows:
        return tuple(of_key(rows[THEN], meant_key(sql)).elements())
    there, back = Counter(rows[_WITHIN]), Counter(rows[_BEFORE])
    if is_mixed(rows):
        there, back = there + Counter(rows[_INTACT]), back - Counter(rows[_ADDED])
    return tuple(sorted((there - taken(rows) + back).elements()))


def of_key(rows: Rows, key: int) -> Counter[tuple[int, int]]:
    return Counter(each for each in rows if each[0] == key)


def restored(now: Rows, then: Rows, key: int) -> Rows:
    """The rows of now after `restore-rows` of one key."""
    others = [each for each in now if each[0] != key]
    return tuple(sorted([*others, *(each for each in then if each[0] == key)]))


def reverted(now: Rows, before: Rows, commit: Rows, *, keyed: bool, takes_then: bool) -> Rows:
    """The rows of now without what one commit did, whose rows `before` and after it are given."""
    if not keyed:
        did, undid = Counter(commit) - Counter(before), Counter(before) - Counter(commit)
        return tuple(sorted((Counter(now) - did + undid).elements()))
    was, made, found = dict(before), dict(commit), dict(now)
    for key in {*was, *made}:
        is_later = found.get(key) != made.get(key)
        if was.get(key) == made.get(key) or (is_later and not takes_then):
            continue
        found.pop(key, None)
        if key in was:
            found[key] = was[key]
    return tuple(sorted(found.items()))


def row_of(key: int, value: int | None) -> dict[str, int] | None:
    return None if value is None else {KEY: key, VALUE: value}
