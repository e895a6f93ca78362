"""Which parts of a change of many were done, as far as the log and the journal tell."""

from __future__ import annotations

from collections.abc import Sequence

from paimark.core.actions.change.journal import JournaledChange
from paimark.core.actions.change.operations import Stacks, stacks
from paimark.core.actions.context import Context
from paimark.core.actions.many.applying import listed
from paimark.core.table.layout import TablePath
from paimark.core.table.operations import Group, Operation, read_operations

# A change of many that nobody continued for so long is left as it is (milliseconds).
_MENTIONED_FOR = 7 * 24 * 3600 * 1000
# The arguments of an action that tell its parts apart, as their names end with them.
_NAMING = ("name", "id", "snapshot")


def told_of(context: Context, table: TablePath, interrupted: JournaledChange | None) -> str:
    """A sentence on the change of many that was interrupted, in a part or between two; else empty.

    Without an interrupted part it is the newest one of the log, unless somebody has done the rest since, or
    taken back what was done, or a week has passed. Raises `Corrupt`.
    """
    known = read_operations(context.files, table)
    if interrupted is not None:
        group, action = interrupted.journal.planned().group, interrupted.journal.action
    else:
        group, action = _newest(known, context.clock())
    if group is None:
        return ""
    done = [each for each in known if each.group is not None and each.group.id == group.id]
    numbers = {each.group.number for each in done if each.group is not None}
    parts = list(enumerate(group.names, 1))
    left = [name for number, name in parts if number not in numbers]
    if not left:
        return ""
    article = "an" if action[0] in "aeiou" else "a"
    said = f"The log has {len(numbers)} of the {len(group.names)} parts of {article} {action}"
    if numbers:
        said += f": {listed([name for number, name in parts if number in numbers])}"
    said += f". Not in it: {listed(left)}"
    if interrupted is not None:
        return said
    open_ones = stacks(context, table)
    return "" if _is_settled(known, left, done, open_ones) else f"{said}. {_ways_on(table, done, open_ones)}"


def _newest(known: Sequence[Operation], now: int) -> tuple[Group | None, str]:
    """The newest change of many in the log, and its action."""
    last = next((each for each in reversed(known) if each.group is not None), None)
    if last is None or now - last.time > _MENTIONED_FOR:
        return None, ""
    return last.group, last.action


def _is_settled(
    known: Sequence[Operation], left: Sequence[str], done: Sequence[Operation], open_ones: Stacks
) -> bool:
    """Whether a part was taken back since, or each part that was not done was done later."""
    first, last = done[0], done[-1]
    if first.undoes is not None:
        return open_ones.together(first.undoes).isdisjoint(each.token for each in open_ones.undo)
    if first.redoes is not None:
        return open_ones.together(first.redoes).isdisjoint(each.token for each in open_ones.redo)
    tokens = {each.token for each in done}
    if any(each.undoes in tokens for each in known):
        return True
    later = [each for each in known if each.action == first.action and each.number > last.number]
    return all(any(_is_of(each, name) for each in later) for name in left)


def _is_of(operation: Operation, name: str) -> bool:
    given = (operation.request.get(each) for each in _NAMING)
    return any(name.endswith(f" {each}") for each in given if each is not None)


def _ways_on(table: TablePath, done: Sequence[Operation], open_ones: Stacks) -> str:
    """How to continue, and how to take back what was done."""
    first, undo = done[0], open_ones.undo
    if first.undoes is not None or first.redoes is not None:
        return f"`paimark {'redo' if first.undoes is None else 'undo'} {table.word}` goes on"
    said = f"Run {first.action} for these to go on"
    if undo and undo[-1].token in {each.token for each in done}:
        return f"{said}, or `{table.undo}` to take back the others"
    return said
