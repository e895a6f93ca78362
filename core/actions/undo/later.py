"""The operations after the one that an undo takes back: it leaves them as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from paimark.core.actions.change.operations import Operation, Stacks, Undoable
from paimark.core.actions.context import Context
from paimark.core.actions.roots.as_made import changed_since, is_gone
from paimark.core.actions.undo.by_hand import by_hand
from paimark.core.figures import moment
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.main_branch import main_root

# The arguments that name the object of an action.
_NAMING = ("name", "id", "snapshot")
# The number of operations that a sentence names.
_SHOWN = 3
_NEVER = "it can't be taken back"


def later_ones(
    context: Context, table: TablePath, stacks: Stacks, group: Sequence[Undoable], *, replacement_only: bool
) -> tuple[str, ...]:
    """A sentence on the later operations that can't be taken back, and one on each whose thing was changed.

    `group` is what the undo takes back. With `replacement_only` a person has asked to leave the others.
    """
    stays = _without_way_back(stacks, group)
    passed = () if replacement_only else _passed_over(context, table, stacks, group)
    by_hand_of = partial(_by_hand, context, table)
    return (
        *_on_those_without_way_back(stays, by_hand_of),
        *(f"{changed_since(each)}, and stays" for each in passed),
    )


def _without_way_back(stacks: Stacks, group: Sequence[Undoable]) -> list[Operation]:
    """The newest first."""
    ours = stacks.together(group[0].token)
    number = max((each.number for each in stacks.in_effect if each.token in ours), default=0)
    open_ones = {each.token for each in stacks.undo}
    later = (each for each in reversed(stacks.in_effect) if each.number > number)
    return [each for each in later if each.token not in open_ones]


def _passed_over(
    context: Context, table: TablePath, stacks: Stacks, group: Sequence[Undoable]
) -> list[Undoable]:
    """Later changes that made something that is still there, and was changed since."""
    ours = stacks.together(group[0].token)
    newest = max(index for index, each in enumerate(stacks.undo) if each.token in ours)
    return [each for each in stacks.undo[newest + 1 :] if not is_gone(context.files, table, each)]


def _on_those_without_way_back(
    stays: Sequence[Operation], by_hand_of: Callable[[Operation], str]
) -> list[str]:
    if not stays:
        return []
    if len(stays) == 1:
        [only] = stays
        return [f"{_named(only)} is later, and stays: {by_hand_of(only) or _NEVER}"]
    more = len(stays) - _SHOWN
    names = ", ".join(_named(each) for each in stays[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
    return [f"{len(stays):,} later changes stay, because they can't be taken back: {names}"]


def _by_hand(context: Context, table: TablePath, operation: Operation) -> str:
    """What takes back a write that others have committed after; empty for any other change."""
    entry = operation.way_back
    if entry is None or not entry.is_write:
        return ""
    is_main = table.root(entry.root) == main_root(context.files, table)
    command = by_hand(context.files, table, entry, is_main=is_main)
    return f"its rows are followed by others. {command}"


def _named(operation: Operation) -> str:
    """`delete-branch fix of 2026-05-01 12:03:11+02:00`."""
    entry = operation.way_back
    if entry is not None and entry.is_write:
        return f"{entry.description} of {moment(operation.time)}"
    name = next((f" {operation.request[each]}" for each in _NAMING if operation.request.get(each)), "")
    return f"{operation.action}{name} of {moment(operation.time)}"
