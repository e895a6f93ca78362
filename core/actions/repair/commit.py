"""What `revert` and `restore-rows` share: which tables, a look at keys, and the commit.

Like any writer's commit it takes no lock and no journal.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

from paimark.core.actions import audit
from paimark.core.actions.change.landing import commit_user
from paimark.core.actions.checks import require_allowed, require_unmoved
from paimark.core.actions.compaction.compact import committed
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.plan import Item, Outcome, Plan, Refusal
from paimark.core.actions.repair.changes import CHANGED, CONFLICT, KeyedChanges
from paimark.core.actions.repair.found import Example, Found
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase, run_query, writing_refusals
from paimark.core.spark.protocol import Repair, Version
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.definition.column_types import unordered_part
from paimark.core.table.definition.kind_signs import merge_engine
from paimark.core.table.definition.row_changes import all_change_rules
from paimark.core.text import capitalised


def order_of(start: RewriteBase, plan: Plan, versions: dict[str, Version], done: str) -> Repair:
    """An order that changes nothing yet."""
    return Repair(
        number=0,
        table=plan.table,
        schema=start.schema_text,
        versions=versions,
        branch=start.root.branch,
        follows_main=start.is_main,
        head=start.head.snapshot.to_json().decode(),
        commit_user=commit_user(str(uuid.uuid4())),
        operation=plan.action,
        done=done,
    )


def apply_repair(
    context: Context,
    plan: Plan,
    progress: Progress,
    find: Callable[[], tuple[RewriteBase, str]],
    order: Callable[[RewriteBase], Repair],
) -> Outcome:
    """Find the state of the plan again, with its fingerprint, and make the commit. Raises `Refused`.

    Jobs may have committed since: the commit is refused if they changed the same rows.
    """
    require_allowed(context, plan)
    started, table = context.clock(), parse_table_name(plan.table)
    if plan.empty:
        return Outcome(
            action=plan.action, table=plan.table, message=plan.headline, result={"snapshot_id": None}
        )
    start, fingerprint = find()
    require_unmoved(table, plan, fingerprint)
    newest = start.head.snapshot.id
    repair = order(start)
    made, failed = committed(context, start.root, repair, newest, progress)
    if failed:
        progress(Remark(f"The rows are committed; what Paimon does after a commit failed: {failed}"))
    message = f"{plan.summary}: nothing was left to do"
    if made is not None:
        message = f"{capitalised(repair.done)} in snapshot {made.id} of {start.root.label} of {plan.table}"
    outcome = Outcome(
        action=plan.action,
        table=plan.table,
        message=message,
        result={"snapshot_id": None if made is None else made.id},
        undo=plan.undo if made is not None else "",
        until=plan.until,
    )
    at, after = f"{start.root.label} at snapshot", newest if made is None else made.id
    audit.record(context, plan, outcome, started, progress, before=f"{at} {newest}", after=f"{at} {after}")
    return outcome


def writing_repairs(context: Context, start: RewriteBase) -> list[Refusal]:
    """Why single rows of such a table can't be given back."""
    table, schema = start.root.table, start.schema
    refusals = writing_refusals(table, schema, context.options)
    rules = {each.reason: each.hint for each in all_change_rules(schema)}
    if schema.primary_keys and merge_engine(schema.options) == "partial-update":
        reason = "merges rows of a key by partial-update, so a NULL of then would not replace a value of now"
        rules[reason] = "Write those rows yourself, or roll back the whole table."
    refusals += [Refusal(f"{table.full_name} {reason}", hint) for reason, hint in rules.items()]
    if part := next(filter(None, (unordered_part(field.type) for field in schema.fields)), ""):
        reason = f"{table.full_name} has a {part} column, and Spark can't compare its values"
        refusals.append(Refusal(reason, "Roll back instead."))
    return refusals


def look_at_keys(
    context: Context, start: RewriteBase, versions: dict[str, Version], queries: KeyedChanges
) -> tuple[Found, list[Refusal]]:
    """What a repair of keys would change, with the first conflicts, and why it can't."""
    found = Found.of(run_query(context, start, versions, queries.summary, context.progress))
    if found.number(CONFLICT):
        listed = run_query(context, start, versions, queries.conflicts, context.progress)
        found = Found(found.counts, found.examples, [Example.of(each) for each in listed])
    return found, makes_older(start, found)


def makes_older(start: RewriteBase, found: Found) -> list[Refusal]:
    """Why rows that are there can't become what they were."""
    column, name = start.schema.options.get("sequence.field"), start.root.table.full_name
    if column is None or not (found.number(CHANGED) or found.number(CONFLICT)):
        return []
    return [
        Refusal(
            f"{name} keeps the row with the greatest {column} (sequence.field): a row of then may be older "
            "than that of now, and Paimon would leave it out",
            "Roll back the whole table, or write those rows with a greater value.",
        )
    ]


def kept_history(start: RewriteBase) -> Item:
    text = f"history, tags and savepoints; snapshot {start.head.snapshot.id}, until it expires"
    return Item("keeps", text)
