"""A place in a warehouse as a person writes it: `shop.orders:fix@savepoint.1`.

A place is a table, then a branch after `:` (or `$branch_` as in SQL), then a version after `@`, as
`VERSION AS OF` takes it. A name that contains one of these signs is put in backticks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from paimark.core.errors import UsageError
from paimark.core.storage.files import Files
from paimark.core.table.catalog import find_table
from paimark.core.table.layout import MAIN, TablePath
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.names import checked_name, named_table, split_name
from paimark.core.travel.version import Resolved, resolve_version

_PART = r"(?:`(?:[^`]|``)+`|[^`/:@.]+)"
_PLACE = re.compile(rf"(?P<table>{_PART}\.{_PART})(?::(?P<branch>[^@/]+))?(?:@(?P<version>[^/]+))?")


@dataclass(frozen=True, slots=True)
class Place:
    """`branch` is None for main; `version` is empty for the newest snapshot."""

    table: TablePath
    branch: str | None = None
    version: str = ""


def looks_like_place(word: str) -> bool:
    """Whether a word has the form of a place. Does not check that the place exists."""
    return _PLACE.fullmatch(word) is not None


def parse_place(word: str) -> Place:
    """Raises `UsageError`."""
    match = _PLACE.fullmatch(word)
    if match is None:
        raise UsageError(
            f"{word!r} is not a place in a warehouse",
            "Write database.table, then :branch and @version where you want one: shop.orders@savepoint.1.",
        )
    table, branch = named_table(tuple(split_name(match["table"])), None)
    if match["branch"] is not None:
        if branch is not None:
            raise UsageError(f"{word!r} names two branches", "Write $branch_NAME or :NAME.")
        branch = checked_name(match["branch"], "branch")
    return Place(table, None if branch == MAIN else branch, match["version"] or "")


def find_place(files: Files, place: Place) -> Resolved | None:
    """Resolve the version of a place; None if it has none.

    Raises `NotFound` for a missing table, branch or version.
    """
    find_table(files, place.table.full_name)
    root = branch_root(files, place.table, place.branch)
    return resolve_version(files, root, place.version) if place.version else None
