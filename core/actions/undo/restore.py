"""`restore --to N`: undo or redo until operation N is the last one in effect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from paimark.core.actions import protection_guard as guard
from paimark.core.actions.change import operations
from paimark.core.actions.change.operations import Stacks
from paimark.core.actions.checks import fingerprint, require_allowed, require_unmoved, required_integer
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.plan import Item, Outcome, Plan, Refusal, Step, Taken
from paimark.core.actions.undo.common import unless_locked
from paimark.core.actions.undo.rules import changed_since, is_as_left, may_restore
from paimark.core.errors import NotFound, Refused
from paimark.core.figures import counted, listed
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import TablePath
from paimark.core.table.operations import Operation, read_operations

ACTION = "restore"
# Changes that take nothing from a reader, done again.
_ADDING = ("create-savepoint", "create-tag", "create-branch")
# So many numbers are in a hint.
_MOST_NAMED = 8
_ONE_BY_ONE = Item("keeps", "each change by itself: the first that fails ends it, and those before stay done")
_OTHER = Refusal("Somebody else did something meanwhile", "Look at the operations, then plan it again.")


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Argument: `to`, the number of an operation; 0 for the state before everything that can be undone.

    Raises `NotFound` for a number that no operation has.
    """
    number = required_integer(arguments, "to")
    known, stacks = read_operations(context.files, table), operations.stacks(context, table)
    target = _target(table, known, number)
    way, refusals = _way(stacks, target), list[Refusal]()
    if way is None:
        hint = f"Only what can be undone, or was undone last: {_reachable(context, table, known, stacks)}."
        refusals.append(Refusal(f"Operation {number} of {table.full_name} can't be reached", hint))
    verb, tokens = way or ("undo", [])
    if changed := _changed(context, table, stacks, tokens) if verb == "undo" else []:
        reachable = _reachable(context, table, known, stacks)
        refusals += [Refusal(each.reason, f"{each.hint} Meanwhile {reachable}.") for each in changed]
    if tokens or refusals:
        refusals = unless_locked(context, table, *refusals)
    by_token = {each.token: each for each in known}
    steps = [Step("replace", f"{verb} {by_token[each].action}", by_token[each].summary) for each in tokens]
    is_there = not tokens and not refusals
    return Plan(
        headline=_headline(table, number, verb, len(tokens), is_there=is_there),
        arguments={"to": number},
        fingerprint=fingerprint(*(each.token for each in known)),
        steps=tuple(steps),
        items=() if is_there else (*_lost(tokens, by_token, verb), _ONE_BY_ONE),
        refusals=tuple(refusals),
        takes=tuple(taken for each in tokens for taken in _takes(by_token[each], verb)),
        empty=is_there,
        undo=_way_back(table, known, stacks),
    )


def _lost(tokens: list[str], by_token: Mapping[str, Operation], verb: str) -> list[Item]:
    """The changes that are taken back, or take something again: what each loses is in its own plan."""
    names = [by_token[each].action for each in tokens]
    if verb == "redo":
        names = [each for each in names if each not in _ADDING]
    if not names:
        return []
    what = listed(names, "change")
    text, code = f"what {what} took away, once more", "changes-done-again"
    if verb == "undo":
        text, code = f"what {what} did{', the newest first' if len(names) > 1 else ''}", "changes-taken-back"
    return [Item("loses", text, code, is_grave=True, count=len(names), unit="changes")]


def _takes(operation: Operation, verb: str) -> Iterable[Taken]:
    if verb == "undo":
        return guard.undoing(operation)
    declared = DECLARED.get(operation.action)
    # A write that is made again gives its branch other rows, as an undo does.
    return guard.undoing(operation) if declared is None else guard.declared_of(declared, operation.request)


def _headline(table: TablePath, number: int, verb: str, steps: int, *, is_there: bool) -> str:
    if is_there:
        return f"{table.full_name} is at operation {number} already."
    walk = f": {verb} {counted(steps, 'change')}, one by one" if steps else ""
    return f"Restore {table.full_name} to operation {number}{walk}."


def _way_back(table: TablePath, known: list[Operation], stacks: Stacks) -> str:
    """The command that restores the operation that is the last in effect now."""
    last = stacks.undo[-1].token if stacks.undo else None
    number = next((each.number for each in known if each.token == last), 0)
    return f"paimark restore {table.word} --to {number}"


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Undo or redo step by step. Raises the error of the first step that fails; those before it stay done."""
    from paimark.core.actions.registry import action

    require_allowed(context, plan)
    table = parse_table_name(plan.table)
    known = read_operations(context.files, table)
    require_unmoved(table, plan, fingerprint(*(each.token for each in known)))
    number, stacks = int(plan.arguments["to"] or 0), operations.stacks(context, table)
    verb, tokens = _way(stacks, _target(table, known, number)) or ("undo", [])
    for position, token in enumerate(tokens):
        step = action(verb).plan(context, table, {"single": True})
        refusals = list(step.refusals)
        if token not in (step.undoes, step.redoes):
            # An undo skips a change whose thing was changed since, and would take back the one before it: its
            # refusals are about that one.
            refusals = [*_changed(context, table, stacks, [token]), _OTHER]
        if refusals:
            raise Refused(f"{position} of {len(tokens)} done, then: {refusals[0].reason}", refusals[0].hint)
        progress(Remark(step.summary))
        outcome = action(verb).apply(context, step, progress)
        if outcome.falls_short:
            raise Refused(f"{position} of {len(tokens)} done, then: {outcome.message}", "Look at it first.")
    message = f"{plan.table} is at operation {number}: {counted(len(tokens), 'change')} by {verb}"
    result: dict[str, str | int | bool | None] = {"walked": len(tokens)}
    return Outcome(action=ACTION, table=plan.table, message=message, result=result, undo=plan.undo)


def _changed(context: Context, table: TablePath, stacks: Stacks, tokens: list[str]) -> list[Refusal]:
    """Refusals for changes whose thing was changed since: an undo does not delete it.

    `tokens` are in the order of the walk. A thing that an earlier step may restore is checked later.
    """
    by_token = {each.token: each for each in stacks.undo}
    walked = [by_token[token] for token in tokens if token in by_token]
    changed = [
        each
        for position, each in enumerate(walked)
        if not any(may_restore(earlier, each) for earlier in walked[:position])
        and not is_as_left(context.files, table, each)
    ]
    return [Refusal(changed_since(each), "Take it back by hand: `undo` passes over it.") for each in changed]


def _reachable(context: Context, table: TablePath, known: list[Operation], stacks: Stacks) -> str:
    """The numbers that can be restored, those after the fewest steps first, as words without a full stop."""
    numbers = {each.token: each.number for each in known}
    done = [each.token for each in stacks.undo]
    found: list[int] = []
    for place in reversed(range(len(done))):
        if len(found) == _MOST_NAMED or _changed(context, table, stacks, done[place:][::-1]):
            break
        before = numbers.get(done[place - 1]) if place else 0
        found += [] if before is None else [before]
    found += [each.number for each in reversed(stacks.redo)][:_MOST_NAMED]
    if not found:
        return "none can be reached"
    *others, last = map(str, found)
    return f"{', '.join(others)} or {last} can be reached" if others else f"{last} can be reached"


def _target(table: TablePath, known: list[Operation], number: int) -> str | None:
    if number == 0:
        return None
    for each in known:
        if each.number == number:
            return each.token
    raise NotFound(
        f"{table.full_name} has no operation {number}", f"`paimark operations {table.word}` lists them."
    )


def _way(stacks: Stacks, target: str | None) -> tuple[str, list[str]] | None:
    """Undo or redo, and the tokens of the operations to walk; None when `target` can't be reached."""
    done = [each.token for each in stacks.undo]
    if target is None:
        return "undo", done[::-1]
    if target in done:
        return "undo", done[done.index(target) + 1 :][::-1]
    undone = [each.token for each in stacks.redo][::-1]
    if target in undone:
        return "redo", undone[: undone.index(target) + 1]
    return None
