"""`undo`: take back the last change of a table that can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from paimark.core.actions.branches import delete_branch
from paimark.core.actions.change import operations
from paimark.core.actions.change.operations import Stacks, Undoable
from paimark.core.actions.context import Context
from paimark.core.actions.many.planning import plan_in_turn, together
from paimark.core.actions.plan import Item, Plan, Refusal
from paimark.core.actions.roots.as_made import changed_since, is_untouched
from paimark.core.actions.undo import commit as undo_commit
from paimark.core.actions.undo import replacement as undo_replacement
from paimark.core.actions.undo import retirement as undo_retirement
from paimark.core.actions.undo import truncation as undo_truncation
from paimark.core.actions.undo.later import later_ones
from paimark.core.actions.undo.undone import unless_locked
from paimark.core.errors import Corrupt, Refused
from paimark.core.figures import age
from paimark.core.table.layout import TablePath
from paimark.core.text import lowered

ACTION = "undo"
_Plan = Callable[[Context, TablePath, Undoable], Plan]


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Take back the newest change first; of a change of many, all parts. Arguments: `replacement` for the
    newest replacement of main, even if main has moved on by merges and rollbacks since; `single` for one part
    alone.
    """
    replacement_only = arguments.get("replacement") is True
    try:
        stacks = operations.stacks(context, table)
        entry = _last(context, table, stacks.undo, replacement_only=replacement_only)
        group = [entry] if arguments.get("single") is True else _group(stacks, entry)
        later = later_ones(context, table, stacks, group, replacement_only=replacement_only)
        if len(group) > 1:
            made = _plan_group(context, table, group)
        else:
            made = _plan_of(context, table, entry, replacement_only=replacement_only)
        return msgspec.structs.replace(made, items=(*later, *made.items))
    except Refused as error:
        return Plan(
            headline=f"Take back the last change of {table.full_name}.",
            arguments={},
            refusals=tuple(unless_locked(context, table, Refusal(error.message, error.hint))),
        )


def _group(stacks: Stacks, entry: Undoable) -> list[Undoable]:
    """The parts of its change of many that can be undone, the newest first; else the entry alone."""
    together = stacks.together(entry.token)
    return [each for each in reversed(stacks.undo) if each.token in together]


def _plan_group(context: Context, table: TablePath, group: Sequence[Undoable]) -> Plan:
    """The plan to undo a group. Things that were changed since stay, with a warning."""
    untouched = [each for each in group if is_untouched(context.files, table, each)]
    makers = [partial(_plan_of, table=table, entry=each) for each in untouched]
    parts, refusals = plan_in_turn(context, table, makers)
    made = together(table, parts, refusals)
    changed = [f"{lowered(changed_since(each))}, and stays" for each in group if each not in untouched]
    items = [Item("not", text, "later-change-stays", is_grave=True) for text in changed]
    headline = _taken_back(context, group[0], made)
    return msgspec.structs.replace(made, action=ACTION, headline=headline, items=(*items, *made.items))


def _taken_back(context: Context, entry: Undoable, made: Plan) -> str:
    """A headline that names the operation: a person may think of a later one, which can't be taken back."""
    when = age(entry.time, context.clock())
    by = "" if entry.user == context.user else f", by {entry.user}"
    return f"Take back {entry.description} ({when}{by}): {lowered(made.summary)}."


def _plan_of(context: Context, table: TablePath, entry: Undoable, *, replacement_only: bool = False) -> Plan:
    made = _planner(table, entry)(context, table, entry)
    # A redo brings back what the undo removes, but no version that nothing else keeps.
    is_final = any(each.is_grave and each.code == "version-gone" for each in made.items)
    items = tuple(each for each in made.items if is_final or each.kind != "final")
    arguments_now = {**made.arguments, "undone": entry.action, "replacement": replacement_only}
    return msgspec.structs.replace(
        made,
        action=ACTION,
        table=table.full_name,
        change=made.kind,
        arguments=arguments_now,
        headline=_taken_back(context, entry, made),
        items=items,
        undoes=entry.token,
        undo="" if is_final else table.redo,
        until="",
    )


def _planner(table: TablePath, entry: Undoable) -> _Plan:
    if entry.inverse is not None:
        return _inverse
    if entry.action == delete_branch.ACTION:
        return undo_retirement.plan
    if entry.moved_rows:
        return undo_truncation.plan if entry.is_truncation else undo_commit.plan
    if entry.is_replacement:
        return undo_replacement.plan
    raise Corrupt(
        f"{table.operations} holds {entry.action}, which this version can't take back",
        "Take it back with the version of Paimark that did it.",
    )


def _inverse(context: Context, table: TablePath, entry: Undoable) -> Plan:
    """Undo by another action: delete a new branch, tag or savepoint, or alter a schema back.

    Only while the thing is as the change left it: later work on it is not deleted.
    """
    from paimark.core.actions.registry import action

    assert entry.inverse is not None
    return action(entry.inverse).plan(context, table, entry.arguments or {})


def _last(
    context: Context, table: TablePath, known: Sequence[Undoable], *, replacement_only: bool
) -> Undoable:
    if not known:
        raise Refused(
            f"{table.full_name} has no change that can be taken back",
            f"`paimark operations {table.word}` says what was done.",
        )
    if replacement_only:
        return _last_replacement(context, table, known)
    # Skip a change whose thing was changed since: it must not be deleted.
    untouched = (each for each in reversed(known) if is_untouched(context.files, table, each))
    entry = next(untouched, None)
    if entry is None:
        first = known[-1]
        if first.is_truncation:
            command = f"paimark replace-main-branch {table.word} --name {first.kept_as}"
            raise Refused(changed_since(first), f"Make that branch main: `{command}`.")
        raise Refused(
            f"What {first.description} of {table.full_name} made has been changed since",
            "Take it back by hand.",
        )
    return entry


def _last_replacement(context: Context, table: TablePath, known: Sequence[Undoable]) -> Undoable:
    """The newest replacement, if every later move of main can no longer be taken back."""
    for entry in reversed(known):
        if entry.is_replacement:
            return entry
        if not entry.moved_rows or entry.is_write:
            # Rows that were written to the branch stay on it.
            continue
        try:
            _planner(table, entry)(context, table, entry)
        except Refused:
            continue
        raise Refused(f"{entry.description} came later, and can be taken back", "Leave --replacement out.")
    raise Refused(f"{table.full_name} has no replacement of main that can be taken back", "")
