"""`rollback`: main gets the rows of an earlier version, as one new commit. The history stays unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec

from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.change.journal import Hold
from paimark.core.actions.checks import required_text
from paimark.core.actions.context import Context
from paimark.core.actions.merge.history import MergeEvent, record
from paimark.core.actions.plan import Item, Plan, Step
from paimark.core.actions.plan_wording import may_be_overwritten, streams_skip
from paimark.core.actions.rewrite.columns import columns_change, made_now
from paimark.core.actions.rewrite.rewrite_main import RewriteMain, RewriteState, snapshot_of
from paimark.core.actions.rewrite.spark_rewrite import (
    QueryRows,
    RewriteBase,
    planned_safety,
    rows_copied,
    rows_of,
)
from paimark.core.actions.rollback import truncate
from paimark.core.actions.rollback.target import (
    RollbackTarget,
    lost_since,
    rollback_target,
    target_as_planned,
)
from paimark.core.storage.files import Files
from paimark.core.table.definition.kind_signs import hides_written_rows
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.edits import RowsEdit
from paimark.core.table.records import Point, is_same_commit, point_of
from paimark.core.text import lowered


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `to`, a version of main (`snapshot.3`, `savepoint.1`, a tag) or a local date and time;
    `truncate`, to let main end at that snapshot instead of writing its rows again."""
    files, version = context.files, required_text(arguments, "to")
    target = rollback_target(files, table, version)
    start, snapshot = target.start, target.version.snapshot
    head = start.head.snapshot
    truncates = arguments.get("truncate") is True
    what = target.label
    if truncates and not is_same_commit(head, snapshot):
        return truncate.plan(context, target, version)
    if is_same_commit(head, snapshot):
        return Plan(
            headline=f"main of {table.full_name} is at {what} already.",
            arguments={"to": version},
            fingerprint=target.fingerprint,
            empty=True,
        )
    copied = rows_copied(context, target.target, snapshot, what, "Choose another version.")
    safety = planned_safety(files, start)
    return Plan(
        headline=f"Give main of {table.full_name} the rows of {target.dated}.",
        arguments={"to": version, "snapshot": snapshot.id, "head": head.id, "root": start.root.branch},
        fingerprint=target.fingerprint,
        lasting=target.lasting,
        main_at=point_of(head),
        steps=(
            *safety.steps,
            *_new_definition(target),
            copied.step,
            Step("create", start.root.snapshot(head.id + 1), "one OVERWRITE of the whole table"),
        ),
        items=(
            lost_since(context, target, "from the newest rows"),
            *may_be_overwritten(files, start.root, context.clock()),
            *_affected(files, target),
            Item("keeps", f"the current main as savepoint {safety.id}; every version, tag and savepoint"),
        ),
        cost=copied.cost,
        refusals=(*copied.refusals, *target.misfits),
        undo=table.undo,
        until="main has a new commit",
    )


class RollbackState(RewriteState, frozen=True, kw_only=True):
    """What main was when the rollback began, and the version that it goes back to.

    It gets columns of that version again, which it dropped or made narrower since.
    """

    version: dict[str, Any]  # the snapshot whose rows main gets, as written
    version_root: str | None  # the root that has it
    name: str  # what the user calls it


class Rollback(RewriteMain[RollbackState]):
    """Main gets the rows of an earlier version."""

    State = RollbackState

    @classmethod
    def begin(cls, work: Work) -> Self:
        target = target_as_planned(work)
        state = RollbackState(
            root=target.start.root.branch,
            head=target.start.head.snapshot.as_written(),
            version=target.version.snapshot.as_written(),
            version_root=target.version.root.branch,
            name=target.version.name,
            schema=target.start.schema_text,
            schemas=made_now(target.definition, work.context.clock()),
        )
        return cls(work, state)

    def rows(self, start: RewriteBase) -> QueryRows:
        root, version = self.work.table.root(self.state.version_root), snapshot_of(self.state.version)
        return rows_of(root, version, replaces_later=not hides_written_rows(start.schema))

    def safety_comment(self) -> str:
        return f"before rollback to {self.work.plan.arguments['to']}"

    def may_follow(self, start: RewriteBase) -> bool:
        return True

    def record(self, hold: Hold) -> None:
        """Record that merges after the version are no longer in main, so that they can be merged again."""
        then = point_of(snapshot_of(self.state.version))
        _, main = self.moved
        event = MergeEvent(kind="rollback", root=self.state.root, main=main, to=then.id, then=then)
        record(self.work.files, self.work.table, event)

    def edit(self, before: Point, after: Point) -> RowsEdit:
        return msgspec.structs.replace(super().edit(before, after), to=str(self.work.plan.arguments["to"]))

    def done(self) -> Done:
        plan, (before, new) = self.work.plan, self.moved
        return Done(
            message=f"Gave main of {plan.table} the rows of {self.state.name}, as snapshot {new.id}",
            items=self.kept_and_replaced(),
            result={
                "snapshot_id": new.id,
                "rolled_back_to": snapshot_of(self.state.version).id,
                "savepoint_id": self.safety,
            },
            before=f"snapshot {before.id}",
            after=f"snapshot {new.id}",
        )


def _affected(files: Files, target: RollbackTarget) -> list[Item]:
    items = [streams_skip(files, target.start.root)]
    if target.version.note:
        items.append(Item("affects", lowered(target.version.note)))
    if target.definition is not None:
        items += columns_change(target.start, target.definition)
    if target.version.snapshot.schema_id != target.start.schema.id:
        text = "readers of columns that came after that version: they are null then"
        items.append(Item("affects", text, "columns-null"))
    return items


def _new_definition(target: RollbackTarget) -> list[Step]:
    new = target.definition
    return (
        []
        if new is None
        else [Step("create", target.start.root.schema(new.id), "with the columns of that version")]
    )
