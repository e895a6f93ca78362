"""Tags that stock engines make by themselves at their commits, recognized by their names: `2026-05-01`.

An engine recognizes its own tags by name alone. It continues from the newest of them, deletes the oldest if
there are too many, and fails if two of them are of one snapshot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from paimark.core.table.records import Tag

# A day, an hour or a minute in Paimon's formats, and the tags of batch writers. The engine ignores
# the text after a blank.
_NAME = r"(?s)-?\d{1,10}-\d\d-\d\d(?: .*)?|-?\d{5,18}(?: .*)?|batch-write-.*"


def has_automatic_name(name: str) -> bool:
    """Whether an engine that makes tags by itself would take this one for its own."""
    return re.fullmatch(_NAME, name) is not None


def automatic_of(snapshot_id: int, tags: Iterable[tuple[str, Tag]]) -> str | None:
    """The tag of this snapshot that an engine takes for its own."""
    return next((name for name, tag in tags if tag.id == snapshot_id and has_automatic_name(name)), None)
