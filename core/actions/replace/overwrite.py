"""`replace-main-branch --layout overwrite`: main gets the branch's rows, as one new commit of its own.

For tables that other engines use by their plain name: nothing moves, no id is used again, and the same root
stays main. A rollback takes it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.checks import integer_argument
from paimark.core.actions.context import Context
from paimark.core.actions.merge.divergence import Divergence, find_divergence
from paimark.core.actions.merge.journal import RewriteByBranch, state_of
from paimark.core.actions.plan import Item, Plan, Step
from paimark.core.actions.plan_wording import commits_between, may_be_overwritten, nothing_lost, streams_skip
from paimark.core.actions.rewrite.columns import column_refusals, columns_change, columns_lost
from paimark.core.actions.rewrite.rewrite_main import as_planned_or_gone_on, snapshot_of
from paimark.core.actions.rewrite.spark_rewrite import (
    QueryRows,
    RewriteBase,
    planned_safety,
    rows_copied,
    rows_of,
    version_of,
)
from paimark.core.actions.row_checks.checking import CheckedRows, Verdict, is_checked, rows_at, verdict
from paimark.core.errors import UsageError
from paimark.core.table.definition.file_sizes import unit_of
from paimark.core.table.definition.kind_signs import hides_written_rows
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.records import point_of
from paimark.core.text import lowered

OVERWRITE = "overwrite"


def plan(context: Context, table: TablePath, name: str, arguments: Mapping[str, object]) -> Plan:
    """Raises `UsageError` for arguments that only the pointer layout has."""
    if arguments.get("drop_previous") is True:
        raise UsageError("An overwrite keeps main's history", "Leave --drop-previous out.")
    up_to = integer_argument(arguments, "up_to")
    files, divergence = context.files, find_divergence(context.files, table, name, whole=True, up_to=up_to)
    start, head = divergence.start, divergence.branch.snapshot
    main = start.head.snapshot
    copied = rows_copied(context, divergence.target, head, f"branch {name}", "Repair it first.")
    refusals = [*divergence.schema_refusals, *copied.refusals]
    if newest := Lineage(files, divergence.branch.root).latest_schema():
        refusals += column_refusals(newest, f"Branch {name}", divergence.target)
    safety = planned_safety(files, start)
    checked = Verdict()
    if not refusals:
        checked = verdict(context, table, arguments, lambda: _to_check(divergence))
    return Plan(
        change="overwrite-main",
        headline=f"Give main of {table.full_name} the rows of {_what(name, up_to)}.",
        arguments={
            "name": name,
            "layout": OVERWRITE,
            **({} if up_to is None else {"up_to": up_to}),
            **checked.arguments,
        },
        request=checked.request(arguments),
        checks=checked.results,
        fingerprint=divergence.fingerprint,
        lasting=divergence.lasting,
        main_at=point_of(main),
        steps=(
            *safety.steps,
            *(Step("copy", start.root.schema(number), f"of {name}") for number, _ in divergence.new_schemas),
            copied.step,
            Step("create", start.root.snapshot(main.id + 1), "one OVERWRITE of the whole table"),
        ),
        items=(
            *checked.items,
            *_lost(context, divergence),
            *columns_lost(start, divergence.target.schema),
            *(Item("unknown", lowered(each)) for each in divergence.warnings),
            *may_be_overwritten(files, start.root, context.clock()),
            streams_skip(files, start.root),
            *columns_change(start, divergence.target.schema),
            Item("affects", f"jobs on branch {name} go on writing there, and not to main"),
            Item("keeps", f"the current main as savepoint {safety.id}; branch {name} with its own tags"),
        ),
        phrase=name,
        cost=copied.cost,
        refusals=(*refusals, *checked.refusals),
        until="main has a new commit",
        undo=table.undo,
    )


class OverwriteMain(RewriteByBranch):
    """Main gets the rows of the branch's newest snapshot, and its schema."""

    @classmethod
    def begin(cls, work: Work) -> Self:
        return cls(work, state_of(work.files, _as_planned(work)))

    def rows(self, start: RewriteBase) -> QueryRows:
        is_free = not is_checked(self.work.plan) and not hides_written_rows(start.schema)
        return rows_of(self.source, snapshot_of(self.state.branch_head), replaces_later=is_free)

    def safety_comment(self) -> str:
        return f"before main got the rows of {self.state.branch}"

    def may_follow(self, start: RewriteBase) -> bool:
        return not is_checked(self.work.plan)

    def done(self) -> Done:
        name, plan, (before, made) = self.state.branch, self.work.plan, self.moved
        return Done(
            message=f"Gave main of {plan.table} the rows of branch {name}, as snapshot {made.id}",
            items=self.kept_and_replaced(),
            result={"branch_name": name, "snapshot_id": made.id, "savepoint_id": self.safety},
            before=f"snapshot {before.id}",
            after=f"snapshot {made.id}",
        )


def _lost(context: Context, divergence: Divergence) -> list[Item]:
    """Main's commits since the fork, or the last merge: the branch does not have them."""
    start = divergence.start
    if divergence.base_root != divergence.branch.root:
        # The ids of a state that the branch has from others may count other commits.
        text = f"what main has, and {divergence.branch.root.label} has not. merge-branch brings both together"
        return [Item("loses", text, "commits-leave-main", is_grave=True)]
    commits, unit = commits_between(divergence.main_base, start.head.snapshot), unit_of(start.schema)
    if commits.number <= 0:
        return [nothing_lost("the branch has all of main's commits")]
    name = divergence.branch.root.label
    said = commits.said("main's", unit, context.clock())
    text = f"{said}, from the newest rows: {name} does not have them. merge-branch brings both together"
    return [commits.item(text, "commits-leave-main", unit)]


def _as_planned(work: Work) -> Divergence:
    name, up_to = str(work.plan.arguments["name"]), integer_argument(work.plan.arguments, "up_to")
    return as_planned_or_gone_on(
        work,
        lambda: find_divergence(work.files, work.table, name, whole=True, up_to=up_to),
        lambda divergence: not is_checked(work.plan),
    )


def _what(name: str, up_to: int | None) -> str:
    return f"branch {name}" if up_to is None else f"snapshot {up_to} of branch {name}"


def _to_check(divergence: Divergence) -> CheckedRows:
    head, root = divergence.branch.snapshot, divergence.branch.root
    main = version_of(divergence.start.root, divergence.start.head.snapshot)
    return rows_at(_what(root.label, head.id), root, head, divergence.target.schema, main)
