"""Every action that is declared, to plan and apply it.

Importing it imports no action: each is loaded when it is planned.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from paimark.core.actions import protection_guard as guard
from paimark.core.actions.checks import read_only_refusals
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.declared.declaration import NOTE, Declaration
from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.declared.kinds import Argument, Choice
from paimark.core.actions.plan import Item, Outcome, Plan, Refusal, raise_first
from paimark.core.actions.temp_files import read_again_if_moved
from paimark.core.errors import UsageError
from paimark.core.storage.files import Files, told_of_leftovers
from paimark.core.storage.no_follow import link_in_the_way
from paimark.core.table.catalog import find_table, parse_table_name
from paimark.core.table.follow_ups import Event
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.notes import checked
from paimark.core.table.links import linked_directories, require_no_links
from paimark.core.table.names import near_names

if TYPE_CHECKING:
    from paimark.core.actions.merge.resolution import Between

__all__ = ["ACTIONS", "Action", "Progress", "action", "conflicting"]

MakePlan = Callable[[Context, TablePath, Mapping[str, object]], Plan]
ApplyPlan = Callable[[Context, Plan, Progress], Outcome]


@dataclass(frozen=True)
class Action:
    """An action: its plan says whether something is lost, and a person then agrees before it is applied.

    `asks` tells beforehand that it usually is. One that is `of_no_table` takes a table out of the trash, or
    makes one.
    """

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    plan: MakePlan
    apply: ApplyPlan
    asks: bool = False
    of_no_table: bool = False

    def table(self, files: Files, name: str) -> TablePath:
        """The table that it is for. Raises `UsageError`, and `NotFound` if there is none of that name."""
        return parse_table_name(name) if self.of_no_table else find_table(files, name)


def action(name: str) -> Action:
    """The action called `name`. Raises `UsageError`, with names spelled like it as the hint."""
    known = ACTIONS.get(name)
    if known is None:
        raise UsageError(f"There is no action {name}", near_names(name, ACTIONS))
    return known


def conflicting(name: str, context: Context, table: TablePath, arguments: Mapping[str, object]) -> Between:
    """What is in conflict, of an action whose argument `resolve` has the choices."""
    return cast("Between", _loaded(DECLARED[name].code).conflicting(context, table, arguments))


def _action(declared: Declaration) -> Action:
    name, module, varied = declared.name, declared.code, declared.varied

    def plan(context: Context, table: TablePath, given: Mapping[str, object]) -> Plan:
        if varied is not None and isinstance(given.get(varied.name), list | tuple):
            from paimark.core.actions.bulk.planning import plan_each

            of_all = plan_each(context, table, plan, varied.name, given)
            return replace(of_all, action=name, table=table.full_name)
        _require_chosen(declared, given)
        make = cast(MakePlan, _loaded(module).plan)
        made = read_again_if_moved(lambda: make(context, table, given))
        request = made.request or _plain(given)
        takes = guard.taken(declared, request, made)
        return replace(
            made,
            items=(*made.items, *_not_followed(context, table, made, declared.follows)),
            action=made.action or name,
            table=table.full_name,
            refusals=(*_refusals(context, table, module, made), *guard.refusals(context.files, table, takes)),
            request=request,
            takes=takes,
        )

    def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
        with told_of_leftovers(lambda line: progress(Remark(line))):
            return carry_out(context, plan, progress)

    def carry_out(context: Context, plan: Plan, progress: Progress) -> Outcome:
        # Without a table each action would miss something else first: its tag, its branch, main's head.
        defined.table(context.files, plan.table)
        if plan.parts:
            from paimark.core.actions.bulk.applying import apply_each

            return apply_each(
                context, plan, progress, lambda part: action(part.action).apply(context, part, progress)
            )
        require_no_links(context.files, parse_table_name(plan.table))
        raise_first(guard.refusals(context.files, parse_table_name(plan.table), plan.takes))
        if plan.redoes is not None:
            _loaded("undo.redo").require_last(context, plan)
        outcome = _apply_of(module)(context, plan, progress)
        if declared.moves_main and not plan.empty:
            from paimark.core.actions.savepoints.auto_savepoint import after_commit

            after_commit(context, parse_table_name(plan.table), None, progress)
        return outcome

    defined = Action(
        name, declared.summary, declared.arguments, plan, apply, declared.asks, declared.of_no_table
    )
    return defined if declared.has_no_note else with_note(defined)


def with_note(made: Action) -> Action:
    """The action with a note, as two more arguments, which it does not see."""

    def plan(context: Context, table: TablePath, given: Mapping[str, object]) -> Plan:
        said = {each.name: str(given.get(each.name) or getattr(context.note, each.name)) for each in NOTE}
        note = checked(**said)
        own = {name: value for name, value in given.items() if name not in said}
        return made.plan(dataclasses.replace(context, note=note), table, own).noted(note)

    def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
        return made.apply(dataclasses.replace(context, note=plan.note), plan, progress)

    return dataclasses.replace(made, arguments=(*made.arguments, *NOTE), plan=plan, apply=apply)


def _require_chosen(declared: Declaration, given: Mapping[str, object]) -> None:
    """Raises `UsageError` for a word that is not one of the few that an argument accepts."""
    for each in declared.arguments:
        value = given.get(each.name)
        if isinstance(each, Choice) and value is not None and (problem := each.problem(value)):
            raise UsageError(f"{each.name} {problem}", each.help)


def _not_followed(context: Context, table: TablePath, made: Plan, event: Event | None) -> tuple[Item, ...]:
    """What a stock engine would do after such a change, and nobody does after this one."""
    if event is None or made.empty:
        return ()
    from paimark.core.actions.follow_ups import items

    return items(context.files, table, "rows" if made.commits_rows else event)


def _loaded(module: str) -> ModuleType:
    return importlib.import_module(f"paimark.core.actions.{module}")


def _refusals(context: Context, table: TablePath, module: str, made: Plan) -> tuple[Refusal, ...]:
    """The plan's own refusals, and reasons why no action, or none that locks the table, is possible now."""
    from paimark.core.actions.change import journal

    refusals = read_only_refusals(context)
    if not made.empty and (made.change or not hasattr(_loaded(module), "apply")):
        refusals += journal.refusals(context, table)
    elif not made.empty and module != "recover":
        # What anybody adds while a table is copied to another place may be lost there.
        refusals += journal.refusals(context, table, of=journal.MOVES)
    links = map(link_in_the_way, linked_directories(context.files, table))
    refusals += [*made.refusals, *(Refusal(each.message, each.hint) for each in links)]
    return tuple(dict.fromkeys(refusals))


def _apply_of(module: str) -> ApplyPlan:
    """The `apply` of an action's module, if it has one; else the driver's, for a `Change`."""
    own = getattr(_loaded(module), "apply", None)
    if own is not None:
        return cast(ApplyPlan, own)
    from paimark.core.actions.change import driver

    return driver.apply


def _plain(given: Mapping[str, object]) -> dict[str, str | int | bool | None]:
    """The arguments of an action in the form for the log."""
    return {
        name: value if isinstance(value, str | int | bool) else str(value)
        for name, value in given.items()
        if value is not None
    }


ACTIONS: dict[str, Action] = {name: _action(declared) for name, declared in DECLARED.items()}
