"""What `revert`, `restore-rows` and `edit-rows` share: which tables, the plan, and the commit.

Like any writer's commit it takes no lock and no journal.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from paimark.core.actions.change.landing import commit_user
from paimark.core.actions.checks import require_allowed, require_unmoved
from paimark.core.actions.compaction.compact import committed, finished
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.merge.resolution import Between
from paimark.core.actions.merge.rows import overwriting
from paimark.core.actions.merge.sql import CONFLICT
from paimark.core.actions.plan import UNTIL_NEW_COMMIT, Item, Outcome, Plan, Refusal, Step
from paimark.core.actions.plan_wording import may_be_overwritten, nothing_lost, streams_skip
from paimark.core.actions.repair.repair_plan import Example, Found, KeyedRepair, decision
from paimark.core.actions.rewrite.spark_rewrite import (
    RewriteBase,
    comparing_refusals,
    rewriting_refusals,
    run_query,
    writing_refusals,
)
from paimark.core.errors import Refused
from paimark.core.spark.protocol import Repair
from paimark.core.storage.files import Files
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.definition.kind_signs import chain_branches, merge_engine
from paimark.core.table.definition.row_changes import all_change_rules
from paimark.core.table.layout import TablePath
from paimark.core.text import capitalised


class Looked(NamedTuple):
    """What a look at the rows found, why they can't be changed, and the steps that follow from them."""

    found: Found
    refusals: Sequence[Refusal] = ()
    steps: Sequence[Step] = ()


@dataclass(frozen=True)
class RowRepair(ABC):
    """The rows of a root in its present state, `start`, that an action gives other values."""

    # What a person does where no row can be chosen, as rows have no key.
    instead: ClassVar[str] = ""

    start: RewriteBase

    @property
    def place(self) -> str:
        return f"{self.start.root.label} of {self.start.root.table.full_name}"

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Of all that the plan stands on, but for the choices."""

    @property
    @abstractmethod
    def since(self) -> str:
        """When the rows in conflict changed."""

    @property
    @abstractmethod
    def done(self) -> str:
        """What the commit did."""

    @property
    @abstractmethod
    def repair(self) -> KeyedRepair | None:
        """None without a primary key."""

    @abstractmethod
    def look(self, context: Context) -> Looked:
        """Asks Spark which rows change."""

    @abstractmethod
    def nothing(self, found: Found) -> str:
        """The headline if no row is to change."""

    def ordered(self, order: Repair) -> Repair:
        """The order with the rows of a table without a primary key."""
        raise NotImplementedError


def plan_repair(
    context: Context,
    seen: RowRepair,
    given: Mapping[str, object],
    made: Mapping[str, str | int | bool | None],
    *,
    headline: str,
    cost: str,
    steps: Sequence[Step] = (),
    items: Sequence[Item] = (),
    refusals: Sequence[Refusal] = (),
) -> Plan:
    """The plan, whose own arguments are `made`. Conflicts are decided by the arguments that were `given`."""
    start, table = seen.start, seen.start.root.table
    is_looked = not refusals and not context.read_only
    looked = seen.look(context) if is_looked else Looked(Found(), refusals)
    found = looked.found
    decided = decision(context, {} if looked.refusals else given, seen.repair)
    overwrites = decided.overwrites(found)
    reasons = [*looked.refusals, *decided.refusals, *decided.refused(found, seen.since)]
    reasons += overwriting_refusals(context, start) if overwrites else []
    arguments = {
        **decided.arguments,
        "conflicts": found.number(CONFLICT) > 0,
        "overwrites": overwrites,
        **made,
    }
    if is_looked and not reasons and not decided.changes(found):
        return Plan(
            headline=seen.nothing(found), arguments=arguments, fingerprint=seen.fingerprint, empty=True
        )
    changes = decided.items(found, seen.since)
    if is_looked and not any(each.kind == "loses" for each in changes):
        changes.append(nothing_lost("no row goes"))
    newest = start.head.snapshot.id
    return Plan(
        headline=headline,
        arguments=arguments,
        fingerprint=decided.fingerprint(seen.fingerprint),
        items=(
            *changes,
            *may_be_overwritten(context.files, start.root, context.clock()),
            *(
                [streams_skip(context.files, start.root)]
                if overwrites or not start.schema.primary_keys
                else []
            ),
            *items,
            Item("keeps", f"history, tags and savepoints; snapshot {newest}, until it expires"),
        ),
        steps=(
            *steps,
            *looked.steps,
            Step(
                "create",
                start.root.snapshot(newest + 1),
                overwriting(start.schema, "of these rows") if overwrites else "one commit of rows",
            ),
        ),
        cost=cost,
        refusals=tuple(reasons),
        undo=table.undo,
        until=UNTIL_NEW_COMMIT,
    )


def apply_repair(
    context: Context,
    plan: Plan,
    progress: Progress,
    see: Callable[[Files, TablePath, Mapping[str, object]], RowRepair],
) -> Outcome:
    """Find the state of the plan again, and make the commit. Raises `Refused` if it moved since the plan.

    Jobs may have committed since: the commit is refused if they changed the same rows.
    """
    require_allowed(context, plan)
    started, table = context.clock(), parse_table_name(plan.table)
    if plan.empty:
        return _nothing(plan, plan.headline)
    seen = see(context.files, table, plan.arguments)
    start, repair = seen.start, seen.repair
    decided = decision(context, plan.arguments, repair)
    require_unmoved(table, plan, decided.fingerprint(seen.fingerprint))
    newest = start.head.snapshot.id
    order = Repair(
        number=0,
        table=plan.table,
        schema=start.schema_text,
        versions={} if repair is None else dict(repair.versions),
        branch=start.root.branch,
        follows_main=start.is_main,
        head=start.head.snapshot.to_json().decode(),
        commit_user=commit_user(str(uuid.uuid4())),
        operation=plan.action,
        done=seen.done,
        overwrites=plan.arguments.get("overwrites") is True,
    )
    order = seen.ordered(order) if repair is None else decided.ordered(order, repair)
    made = committed(context, start.root, order, newest, progress)
    if made is None:
        return _nothing(plan, f"{plan.summary}: nothing was left to do")
    message = f"{capitalised(seen.done)} in snapshot {made.id} of {start.root.label} of {plan.table}"
    result = {"snapshot_id": made.id}
    return finished(context, plan, start.root, newest, made, message, {**result}, started, progress)


def _nothing(plan: Plan, message: str) -> Outcome:
    return Outcome(action=plan.action, table=plan.table, message=message, result={"snapshot_id": None})


def writing_repairs(context: Context, start: RewriteBase) -> list[Refusal]:
    """Why single rows of such a table can't be given back."""
    table, schema = start.root.table, start.schema
    refusals = writing_refusals(table, schema, context.options)
    rules = {each.reason: each.hint for each in all_change_rules(schema)}
    if schema.primary_keys and merge_engine(schema.options) == "partial-update":
        reason = "merges rows of a key by partial-update, so a NULL of then would not replace a value of now"
        rules[reason] = "Write those rows yourself, or roll back the whole table."
    refusals += [Refusal(f"{table.full_name} {reason}", hint) for reason, hint in rules.items()]
    return [*refusals, *comparing_refusals(start, "Roll back instead.")]


def overwriting_refusals(context: Context, start: RewriteBase) -> list[Refusal]:
    """Why the partitions of rows can't be written again."""
    full, delta = chain_branches(start.schema.options)
    if full and start.root.branch == delta:
        reason = (
            f"A row of {start.root.table.full_name} may become older than it is, by sequence.field, and an "
            f"overwrite of its partition in branch {delta} would take that out of branch {full}"
        )
        return [Refusal(reason, "Write these rows yourself, with a greater value.")]
    return rewriting_refusals(context, start)


def look_at_keys(context: Context, repair: KeyedRepair) -> Looked:
    """What a repair of keys would change, with the first conflicts, and why it can't."""
    start, versions, queries = repair.start, repair.versions, repair.queries
    schema = start.schema
    found = Found.of(schema, run_query(context, start, versions, queries.summary, context.progress))
    if found.number(CONFLICT):
        listed = run_query(context, start, versions, queries.conflicts, context.progress)
        found = replace(found, conflicts=[Example.of(schema, each) for each in listed])
    return Looked(found)


def conflicts_of(seen: RowRepair) -> Between:
    """The rows that somebody changed since. Raises `Refused` without a primary key."""
    if (repair := seen.repair) is None:
        name = seen.start.root.table.full_name
        raise Refused(f"{name} has no primary key: no row can be chosen", seen.instead)
    return repair.between
