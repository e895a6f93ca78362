"""`restore --to N`: undo or redo until operation N is the last that counts."""

from __future__ import annotations

from collections.abc import Mapping

from core.actions.change import operations
from core.actions.change.operations import Stacks
from core.actions.checks import fingerprint, integer_argument, require_allowed, require_unmoved
from core.actions.context import Context, Progress, Remark
from core.actions.plan import Outcome, Plan, Refusal, Step
from core.errors import NotFound, Refused, UsageError
from core.figures import counted
from core.table.catalog import parse_table_name
from core.table.layout import TablePath
from core.table.operations import Operation, read_operations

ACTION = "restore"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Argument: `to`, the number of an operation; 0 for the state before all that can be undone.

    Raises `NotFound` for a number that no operation has.
    """
    number = integer_argument(arguments, "to")
    if number is None:
        raise UsageError("to is missing", "Give it as --to.")
    known, stacks = read_operations(context.files, table), operations.stacks(context, table)
    target = _target(table, known, number)
    way, refusals = _way(stacks, target), list[Refusal]()
    if way is None:
        hint = "Only what can be undone, or was undone last, is walked."
        refusals.append(Refusal(f"Operation {number} of {table.full_name} can't be reached", hint))
    verb, tokens = way or ("undo", [])
    by_token = {each.token: each for each in known}
    steps = [Step("replace", f"{verb} {by_token[each].action}", by_token[each].summary) for each in tokens]
    changes = counted(len(tokens), "change")
    return Plan(
        summary=f"Restore {table.full_name} to operation {number}: {verb} {changes}, one by one",
        arguments={"to": number, "verb": verb, "count": len(tokens)},
        fingerprint=fingerprint(*(each.token for each in known)),
        steps=tuple(steps),
        kept=("Each is a change of its own: what fails stops there, and is told",),
        refusals=tuple(refusals),
        empty=not tokens and not refusals,
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Walk. Raises what the undo or redo raises that can't be done; those before it stay done."""
    from core.actions.registry import action

    require_allowed(context, plan)
    table = parse_table_name(plan.table)
    known = read_operations(context.files, table)
    require_unmoved(table, plan, fingerprint(*(each.token for each in known)))
    count, verb = int(plan.arguments["count"] or 0), str(plan.arguments["verb"])
    for position in range(count):
        step = action(verb).plan(context, table, {"single": True})
        if step.refusals:
            reason = f"{position} of {count} done, then: {step.refusals[0].reason}"
            raise Refused(reason, step.refusals[0].hint)
        progress(Remark(step.summary))
        action(verb).apply(context, step, progress)
    message = f"{plan.table} is at operation {plan.arguments['to']}: {counted(count, 'change')} by {verb}"
    return Outcome(action=ACTION, table=plan.table, message=message, result={"walked": count})


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
    """Undo or redo, and the tokens of the operations to walk; None when there is no way."""
    done = [each.token for each in stacks.undo]
    if target is None:
        return "undo", done[::-1]
    if target in done:
        return "undo", done[done.index(target) + 1 :][::-1]
    undone = [each.token for each in stacks.redo][::-1]
    if target in undone:
        return "redo", undone[: undone.index(target) + 1]
    return None
