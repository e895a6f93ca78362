"""The names of the parts of a change of many."""

from __future__ import annotations

from collections.abc import Sequence

from paimark.core.actions.plan import Plan
from paimark.core.figures import counted, some_of

# By kind of change: the verb of a plan, the verb of an outcome, the noun, and the name of one part.
_KINDS = {
    "create-savepoint": ("Make", "Made", "savepoint", "savepoint of snapshot {snapshot}"),
    "create-tag": ("Make", "Made", "tag", "tag {name}"),
    "delete-branch": ("Delete", "Deleted", "branch", "branch {name}"),
    "delete-savepoint": ("Delete", "Deleted", "savepoint", "savepoint {savepoint_id}"),
    "delete-tag": ("Delete", "Deleted", "tag", "tag {tag_name}"),
    "retire-branch": ("Retire", "Retired", "branch", "branch {name}"),
    "undo-retirement": ("Bring back", "Brought back", "branch", "branch {branch_name}"),
}
_OTHER = ("Make", "Made", "change", "")
# The number of names shown of a long list.
_SHOWN = 20


def name_of(part: Plan) -> str:
    """`tag nightly-12`, `savepoint 3`; the summary for a kind of change without such a name."""
    form = _KINDS.get(part.kind, _OTHER)[3]
    return form.format_map(part.arguments) if form else part.summary


def verb_of(part: Plan) -> str:
    """The verb of the part's step in the plan of many."""
    return "create" if _KINDS.get(part.kind, _OTHER)[0] in ("Make", "Bring back") else "delete"


def to_do(parts: Sequence[Plan], table: str) -> str:
    """`Delete 3 tags of shop.orders`."""
    return f"{_KINDS.get(parts[0].kind, _OTHER)[0]} {_things(parts)} of {table}"


def was_done(parts: Sequence[Plan], table: str) -> str:
    """`Deleted 3 tags of shop.orders`."""
    return f"{_KINDS.get(parts[0].kind, _OTHER)[1]} {_things(parts)} of {table}"


def part_done(number: int, count: int, message: str) -> str:
    """The line that reports a finished part."""
    return f"{number} of {count}: {message}"


def parts_done(line: str) -> int | None:
    """The number of finished parts, if the line is one of `part_done`."""
    number, of, rest = line.partition(" of ")
    return int(number) if of and number.isdigit() and rest.partition(":")[0].isdigit() else None


def listed(names: Sequence[str]) -> str:
    """The names, as many as a sentence can hold."""
    return some_of(names, _SHOWN)


def _things(parts: Sequence[Plan]) -> str:
    noun = _KINDS.get(parts[0].kind, _OTHER)[2]
    return counted(len(parts), noun, "branches" if noun == "branch" else "")
