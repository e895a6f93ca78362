"""`redo`: make the change again that the last undo took back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import msgspec

from paimark.core.actions.bulk.planning import plan_in_turn, together
from paimark.core.actions.change import driver, operations
from paimark.core.actions.change.operations import Operation
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.merge.conflict_lines import MERGE
from paimark.core.actions.plan import Outcome, Plan, Refusal, raise_first
from paimark.core.actions.protection_guard import undoing
from paimark.core.actions.roots.pin_snapshot import choose
from paimark.core.actions.undo import commit as undo_commit
from paimark.core.actions.undo.common import redone_by, unless_locked
from paimark.core.errors import NotFound, Refused
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.definition.kinds import merging_refusals
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.text import lowered

ACTION = "redo"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Plan the action that was undone last, with its arguments. For a change of many, plan all its parts,
    unless `single` is given.
    """
    stacks = operations.stacks(context, table)
    known = stacks.redo
    if not known:
        hint = f"`paimark operations {table.word}` says what was done."
        nothing = Refusal(f"{table.full_name} has no undo that can be redone", hint)
        return Plan(
            headline=f"Redo the last undo of {table.full_name}.",
            arguments={},
            refusals=tuple(unless_locked(context, table, nothing)),
        )
    of_one = stacks.together(known[-1].token)
    group = [each for each in reversed(known) if each.token in of_one]
    if len(group) == 1 or arguments.get("single") is True:
        return _plan_of(context, table, known[-1])
    makers = [partial(_plan_of, table=table, undone=each) for each in group]
    parts, refusals = plan_in_turn(context, table, makers)
    return together(table, parts, refusals, f"Redo {group[0].action}: ")


def _plan_of(context: Context, table: TablePath, undone: Operation) -> Plan:
    rows = undone.turned.rows
    if rows is not None and (rows.is_plain_write or _can_not_be_merged(context, table, undone)):
        return _plan_of_rows(context, table, undone)
    from paimark.core.actions.registry import action

    try:
        planned = action(undone.action).plan(context, table, undone.request)
    except NotFound as error:
        raise Refused(f"{undone.action} can't be made again: {error.message}", error.hint) from error
    return msgspec.structs.replace(
        planned,
        headline=f"Redo {undone.action}: {lowered(planned.headline)}",
        redoes=undone.token,
        refusals=tuple(dict.fromkeys([*planned.refusals, *_moved_refusals(context, table, undone)])),
    )


def _can_not_be_merged(context: Context, table: TablePath, undone: Operation) -> bool:
    """Whether main went on along a branch, and now no merge can bring its rows again.

    Main has a commit of its own since, the undo, and to such a table no rows are added that others merge.
    """
    root, rows = main_root(context.files, table), undone.turned.rows
    if undone.action != MERGE or rows is None or rows.is_write or root != table.root(rows.root):
        return False
    return bool(merging_refusals(Lineage(context.files, root).require_schema()))


def _plan_of_rows(context: Context, table: TablePath, undone: Operation) -> Plan:
    """The rows that it left come back: a statement may give other rows by now, or be unknown."""
    try:
        planned = undo_commit.plan_again(context, table, undone)
    except Refused as error:
        moved = Refusal(error.message, error.hint)
        return Plan(
            headline=f"Redo the last undo of {table.full_name}.",
            arguments={},
            refusals=tuple(unless_locked(context, table, moved)),
        )
    return msgspec.structs.replace(
        planned,
        action=ACTION,
        table=table.full_name,
        headline=f"Redo {undone.action}: {lowered(planned.headline)}",
        redoes=undone.token,
        undo=table.undo,
        takes=undoing(undone),
    )


def require_last(context: Context, plan: Plan) -> None:
    """Raise `Refused` if what the plan makes again is no longer what was undone last, or a part of that."""
    table = parse_table_name(plan.table)
    stacks = operations.stacks(context, table)
    redone = redone_by(stacks, table, plan)
    if (last := stacks.redo[-1]).token not in stacks.together(redone.token):
        raise Refused(
            f"The last undo of {table.full_name} took back {last.description} by now, and this plan makes "
            "an earlier change again",
            "Nothing was changed: make a new plan.",
        )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Apply the plan. Raises `Refused` when something moved since the plan, before anything is written."""
    from paimark.core.actions.registry import action

    if plan.action == ACTION:
        # Without refusals it is a write that is done again.
        raise_first(plan.refusals)
        return driver.apply(context, plan, progress)
    return action(plan.action).apply(context, plan, progress)


def _moved_refusals(context: Context, table: TablePath, undone: Operation) -> list[Refusal]:
    """After an undo by a commit, its root must still be at that commit: a redo would ignore later ones."""
    rows = undone.turned.rows
    if rows is None:
        return []
    root = table.root(rows.root) if rows.is_write else main_root(context.files, table)
    head = choose(context.files, root, None)
    if head is not None and rows.now is not None and rows.now.is_of(head.snapshot):
        return []
    hint = f"Do it anew: `paimark {undone.action} {table.full_name}`."
    place = f"branch {root.label}" if rows.is_write else "main"
    moved = Refusal(f"{place} of {table.full_name} moved since {undone.action} was undone", hint)
    return unless_locked(context, table, moved)
