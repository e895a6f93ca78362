"""`undo`: take back the last change of a table that can be taken back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from paimark.core.actions.bulk.planning import plan_in_turn, together
from paimark.core.actions.change import driver, operations
from paimark.core.actions.change.operations import Operation, Stacks
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.plan import Item, Outcome, Plan, Refusal
from paimark.core.actions.plan_wording import engine_of, final, job_of
from paimark.core.actions.protection_guard import undoing
from paimark.core.actions.undo.common import Followed, by_hand, unless_locked
from paimark.core.actions.undo.rules import Left, changed_since, is_as_left, left, plan_back
from paimark.core.errors import Refused
from paimark.core.figures import age, some_of
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import branch_root, main_root
from paimark.core.text import lowered

ACTION = "undo"
# The arguments that name the object of an action, and how it is said behind the action.
_NAMING = {"name": " {}".format, "id": " {}".format, "snapshot": " of snapshot {}".format}


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
        instead = error.instead if isinstance(error, Followed) else None
        refusal = Refusal(error.message, error.hint, instead=instead)
        return Plan(
            headline=f"Take back the last change of {table.full_name}.",
            arguments={},
            refusals=tuple(unless_locked(context, table, refusal)),
        )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Apply the plan, also of one part of a group. Raises `Refused` if it is no longer the last change."""
    table = parse_table_name(plan.table)
    stacks = operations.stacks(context, table)
    if any(each.token == plan.undoes for each in stacks.undo):
        newest = _last(
            context, table, stacks.undo, replacement_only=plan.arguments.get("replacement") is True
        )
        if newest.token not in stacks.together(plan.undoes or ""):
            raise Refused(
                f"The last change of {table.full_name} is {newest.description} by now, and this plan takes "
                "back an earlier one",
                "Nothing was changed: make a new plan.",
            )
    entry = next((each for each in stacks.undo if each.token == plan.undoes), None)
    if entry is not None and plan.undo and (gone := _gone_for_a_redo(context, table, entry)):
        reason = f"{gone} by now: this plan could not be taken back"
        raise Refused(reason, "Nothing was changed: make a new plan.")
    return driver.apply(context, plan, progress)


def _group(stacks: Stacks, entry: Operation) -> list[Operation]:
    """The parts of its change of many that can be undone, the newest first; else the entry alone."""
    together = stacks.together(entry.token)
    return [each for each in reversed(stacks.undo) if each.token in together]


def _plan_group(context: Context, table: TablePath, group: Sequence[Operation]) -> Plan:
    """The plan to undo a group. Things that were changed since stay, with a warning."""
    untouched = [each for each in group if is_as_left(context.files, table, each)]
    makers = [partial(_plan_of, table=table, entry=each) for each in untouched]
    parts, refusals = plan_in_turn(context, table, makers)
    made = together(table, parts, refusals)
    changed = [f"{lowered(changed_since(each))}, and stays" for each in group if each not in untouched]
    items = [Item("not", text, "later-change-stays", is_grave=True) for text in changed]
    headline = _taken_back(context, group[0], made)
    return msgspec.structs.replace(made, action=ACTION, headline=headline, items=(*items, *made.items))


def _taken_back(context: Context, entry: Operation, made: Plan) -> str:
    """A headline that names the operation: a person may think of a later one, which can't be taken back."""
    when = age(entry.time, context.clock())
    by = "" if entry.user == context.user else f", by {entry.user}"
    return f"Take back {entry.description} ({when}{by}): {lowered(made.summary)}."


def _told(context: Context, entry: Operation, refusal: Refusal) -> Refusal:
    """The refusal with the change that it is about: nobody has named one."""
    what = f"{entry.description} ({age(entry.time, context.clock())}) is what would be taken back."
    return msgspec.structs.replace(refusal, hint=f"{what} {refusal.hint}".rstrip())


def _plan_of(context: Context, table: TablePath, entry: Operation, *, replacement_only: bool = False) -> Plan:
    made = plan_back(context, table, entry)
    # A redo brings back what the undo removes, but no version that nothing else keeps.
    is_final = any(each.is_grave and each.code == "version-gone" for each in made.items)
    items = tuple(each for each in made.items if is_final or each.kind != "final")
    if not is_final and (gone := _gone_for_a_redo(context, table, entry)):
        is_final, items = True, (*items, final(gone))
    arguments_now = {**made.arguments, "undone": entry.action, "replacement": replacement_only}
    told = [_told(context, entry, each) for each in made.refusals]
    return msgspec.structs.replace(
        made,
        action=ACTION,
        table=table.full_name,
        change=made.kind,
        arguments=arguments_now,
        headline=_taken_back(context, entry, made),
        items=items,
        refusals=tuple(unless_locked(context, table, *told)) if told else (),
        undoes=entry.token,
        takes=made.takes or undoing(entry),
        undo="" if is_final else table.redo,
        until="",
    )


def _gone_for_a_redo(context: Context, table: TablePath, entry: Operation) -> str:
    """Why a tag or savepoint can't be made again, though another reference keeps its rows; else empty."""
    made, number = entry.turned.made, entry.request.get("snapshot")
    if made is None or made.what == "branch" or made.was is not None or not isinstance(number, int):
        return ""
    root = branch_root(context.files, table, entry.request.get("branch"))
    if Lineage(context.files, root).has_snapshot(number):
        return ""
    return f"{root.label} has expired snapshot {number}, of which no new {made.what} can be made"


def _last(
    context: Context, table: TablePath, known: Sequence[Operation], *, replacement_only: bool
) -> Operation:
    if not known:
        raise Refused(
            f"{table.full_name} has no change that can be taken back",
            f"`paimark operations {table.word}` says what was done.",
        )
    if replacement_only:
        return _last_replacement(context, table, known)
    # Skip a change whose thing was changed since: it must not be deleted.
    untouched = (each for each in reversed(known) if is_as_left(context.files, table, each))
    entry = next(untouched, None)
    if entry is None:
        first = known[-1]
        if first.turned.history is not None:
            kept = first.turned.history.kept_as
            command = f"paimark replace-main-branch {table.word} --name {kept}"
            raise Refused(changed_since(first), f"Make that branch main: `{command}`.")
        raise Refused(
            f"What {first.description} of {table.full_name} made has been changed since",
            "Take it back by hand.",
        )
    return entry


def _last_replacement(context: Context, table: TablePath, known: Sequence[Operation]) -> Operation:
    """The newest replacement, if every later move of main can no longer be taken back."""
    for entry in reversed(known):
        if entry.turned.main is not None:
            return entry
        rows = entry.turned.rows
        if entry.turned.head is None or (rows is not None and rows.is_write):
            # Rows that were written to the branch stay on it.
            continue
        try:
            plan_back(context, table, entry)
        except Refused:
            continue
        raise Refused(f"{entry.description} came later, and can be taken back", "Leave --replacement out.")
    raise Refused(f"{table.full_name} has no replacement of main that can be taken back", "")


def later_ones(
    context: Context, table: TablePath, stacks: Stacks, group: Sequence[Operation], *, replacement_only: bool
) -> tuple[Item, ...]:
    """The later operations that can't be taken back, and each whose thing was changed.

    `group` is what the undo takes back. With `replacement_only` a person has asked to leave the others.
    """
    stays = _without_way_back(stacks, group)
    passed = () if replacement_only else _passed_over(context, table, stacks, group)
    why = partial(_why, context, table)
    others = [] if replacement_only else _commit_of_another(context, table, stacks, group[0])
    said = [f"{lowered(changed_since(each))}, and stays" for each in passed]
    return tuple(
        Item("not", text, "later-change-stays", is_grave=True)
        for text in (*_on_those_without_way_back(context, stays, why), *others, *said)
    )


def _without_way_back(stacks: Stacks, group: Sequence[Operation]) -> list[Operation]:
    """The newest first."""
    ours = stacks.together(group[0].token)
    number = max((each.number for each in stacks.in_effect if each.token in ours), default=0)
    open_ones = {each.token for each in stacks.undo}
    later = (each for each in reversed(stacks.in_effect) if each.number > number and not each.keeps_rows)
    return [each for each in later if each.token not in open_ones]


def _passed_over(
    context: Context, table: TablePath, stacks: Stacks, group: Sequence[Operation]
) -> list[Operation]:
    """Later changes that made something that is still there, and was changed since."""
    ours = stacks.together(group[0].token)
    newest = max(index for index, each in enumerate(stacks.undo) if each.token in ours)
    return [each for each in stacks.undo[newest + 1 :] if left(context.files, table, each) is not Left.GONE]


def _on_those_without_way_back(
    context: Context, stays: Sequence[Operation], why: Callable[[Operation], str]
) -> list[str]:
    if not stays:
        return []
    if len(stays) == 1:
        return [f"the last change, {_named(context, stays[0])}: {why(stays[0])}"]
    names = some_of([_named(context, each) for each in stays])
    return [f"the last {len(stays):,} changes, which `undo` can't take back: {names}"]


def _why(context: Context, table: TablePath, operation: Operation) -> str:
    """Why an undo does not take it back, or what does instead."""
    rows = operation.turned.rows
    if rows is None or not rows.is_write:
        return operation.no_way_back or "it can't be taken back"
    is_main = table.root(rows.root) == main_root(context.files, table)
    return f"its rows are followed by others. {by_hand(context.files, table, rows, is_main=is_main)}"


def _commit_of_another(context: Context, table: TablePath, stacks: Stacks, entry: Operation) -> list[str]:
    """A sentence on main's newest commit, if it is later than the change and none of the log made it."""
    main = main_root(context.files, table)
    newest = Lineage(context.files, main).latest()
    edits = entry.turned
    if newest is None or newest.time_millis <= entry.time or edits.head or edits.main:
        return []
    ours = [each.turned.head for each in (*stacks.undos, *stacks.in_effect)]
    if any(each is not None and each.after.is_of(newest) for each in ours):
        return []
    when = age(newest.time_millis, context.clock())
    by = job_of(newest.commit_user) or engine_of(newest.writer_version)
    return [
        f"the newest commit of main, snapshot {newest.id} ({when}, by {by}): it is not in the operation log"
    ]


def _named(context: Context, operation: Operation) -> str:
    """`delete-branch fix (2 h ago)`."""
    rows = operation.turned.rows
    if rows is not None and rows.is_write:
        return f"{operation.description} ({age(operation.time, context.clock())})"
    name = next(
        (named(operation.request[key]) for key, named in _NAMING.items() if operation.request.get(key)), ""
    )
    return f"{operation.action}{name} ({age(operation.time, context.clock())})"
