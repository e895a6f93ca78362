"""Tags of other engines whose names are versions of another kind too: `7`, `snapshot.3`, `watermark-5`.

Paimark gives no tag such a name.
"""

from __future__ import annotations

import re

from paimark.core.quoting import shell_line
from paimark.core.table.layout import Root

_NUMBER = re.compile(r"\d{1,18}")
_SNAPSHOT = re.compile(r"snapshot\.(\d{1,18})")
# Written in small letters, a savepoint's tag is its savepoint.
_OTHERS = re.compile(r"(?:snapshot|savepoint)\.\d{1,18}|watermark--?\d{1,18}", re.IGNORECASE)


def clash(name: str, snapshot_id: int) -> str:
    """What the tag, which is of that snapshot, hides, or what hides it; empty for a name of its own."""
    if _NUMBER.fullmatch(name):
        return (
            f"{name} is a tag, of snapshot {snapshot_id}, and a tag wins over a number: "
            f"snapshot {name} is 'snapshot.{name}'."
        )
    if number := _SNAPSHOT.fullmatch(name):
        return (
            f"{name} is also the name of a tag, of snapshot {snapshot_id}: as a version it is snapshot "
            f"{number[1]}, and the tag can't be read by its name."
        )
    if _OTHERS.fullmatch(name) and not name.startswith("savepoint."):
        return f"{name} is a tag, of snapshot {snapshot_id}, and a tag wins over what else that may be."
    return ""


def another_name(root: Root, name: str) -> str:
    """The hint that gives such a tag a name of its own."""
    words = ["paimark", "rename-tag", root.table.full_name, "--name", name, "--to", "NAME"]
    if root.branch is not None:
        words += ["--branch", root.branch]
    return f"Another name tells them apart: {shell_line(words)}"
