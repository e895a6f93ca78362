"""Undo a merge, a rollback, an overwrite of main or a write: the rows from before become one new commit.

No id is used again, so no session has to be refreshed. The commit is the point of no return. Merged commits
are then no longer in main's rows, and can be merged again. A write to a branch is undone on that branch. The
redo of a write works alike, with the rows from after it. So does that of a fast-forward, if no rows can be
merged into the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import msgspec

from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.change.journal import Hold
from paimark.core.actions.change.operations import Operation, stacks
from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Context
from paimark.core.actions.merge import history as merge_history
from paimark.core.actions.merge.journal import record_again
from paimark.core.actions.plan import Item, Plan, Refusal, Step, raise_first
from paimark.core.actions.plan_wording import may_be_overwritten, streams_skip
from paimark.core.actions.rewrite.columns import (
    column_refusals,
    columns_change,
    made_now,
    with_columns_of,
)
from paimark.core.actions.rewrite.rewrite_main import RewriteMain, RewriteState, snapshot_of
from paimark.core.actions.rewrite.spark_rewrite import (
    QueryRows,
    RewriteBase,
    RowsCopied,
    no_rows,
    rewriting_refusals,
    rows_copied,
    rows_of,
    start_in,
)
from paimark.core.actions.undo.common import Followed, as_planned, edit_of, redone_by, undone, undone_by
from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.table.commits import only_compacted_since
from paimark.core.table.layout import TablePath
from paimark.core.table.lineage.edits import NO_ROWS, RowsEdit
from paimark.core.table.lineage.forks import Side
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root, root_exists
from paimark.core.table.operations import STREAM
from paimark.core.table.records import Point, Snapshot, TableSchema, point_of


@dataclass(frozen=True)
class GoingBack:
    """`start` is the root as the change left it. It gets the rows of `then`, None for no rows.

    `is_redo`: the change was undone, and `then` is the snapshot from after it. `definition` has the columns
    again that a merge or an overwrite took from main; `misfits` are the reasons why it has not.
    """

    operation: Operation
    start: RewriteBase
    then: Snapshot | None
    is_redo: bool = False
    definition: TableSchema | None = None
    misfits: tuple[Refusal, ...] = ()

    @property
    def edit(self) -> RowsEdit:
        return edit_of(RowsEdit, self.operation)

    @property
    def fingerprint(self) -> str:
        then = b"" if self.then is None else self.then.to_json()
        return fingerprint(self.operation.token, self.start.fingerprint, then)

    @property
    def target(self) -> RewriteBase:
        """The root with the definition in which the rows are written."""
        return self.start.defined_as(self.definition)

    @property
    def description(self) -> str:
        return f"{self.start.root.label} at snapshot {self.start.head.snapshot.id}"


_CAN_BE_MERGED = "what was merged then can be merged again"


def plan(context: Context, table: TablePath, operation: Operation) -> Plan:
    """Raises `Refused` when main has moved since, or its earlier snapshot is gone; `Corrupt`."""
    return _plan(context, table, _find(context.files, table, operation))


def plan_again(context: Context, table: TablePath, undone: Operation) -> Plan:
    """Plan to redo a write. Raises as `plan`."""
    return _plan(context, table, _find_undone(context.files, table, undone))


def _plan(context: Context, table: TablePath, going_back: GoingBack) -> Plan:
    start, then, new = going_back.start, going_back.then, going_back.definition
    what, place = going_back.operation.description, f"{start.place} of {table.full_name}"
    rows = "no rows" if then is None else f"the rows of snapshot {then.id}"
    head = start.head.snapshot.id
    lost = f"the rows of snapshot {head}" if going_back.is_redo else f"what {what} changed"
    return Plan(
        change="undo-commit",
        headline=f"Give {place} {rows} again.",
        arguments={"seen": going_back.description},
        fingerprint=going_back.fingerprint,
        steps=tuple(_steps(context, going_back)),
        items=(
            *_stop_first(going_back),
            Item("loses", f"{lost}, from the newest rows", "rows-replaced", is_grave=True),
            *may_be_overwritten(context.files, start.root, context.clock()),
            streams_skip(context.files, start.root),
            *([] if new is None else columns_change(start, new)),
            Item("keeps", _kept(going_back.description, has_columns=new is not None)),
        ),
        refusals=tuple(_refusals(context, going_back)),
    )


def _stop_first(going_back: GoingBack) -> list[Item]:
    if going_back.operation.action != STREAM or going_back.is_redo:
        return []
    stop = "stop the stream if it runs. Restarted on its checkpoint, it does not write these rows again"
    return [Item("first", stop, "stop-writers", is_grave=True)]


class UndoCommitState(RewriteState, frozen=True, kw_only=True):
    """The operation to undo, and the rows from before the change.

    Main gets columns again that a merge or an overwrite took.
    """

    operation: Operation  # the [operation](#operation-log) that is undone, or that is redone
    # its snapshot before that operation, for a redo the one after it, as written; null: it gets no rows
    then: dict[str, Any] | None = None


class UndoCommit(RewriteMain[UndoCommitState]):
    """The root gets the rows from before the change, as one new commit; for a redo, those from after it."""

    State = UndoCommitState

    @classmethod
    def begin(cls, work: Work) -> Self:
        going_back = as_planned(work, _found_again(work))
        raise_first(_refusals(work.context, going_back))
        start, then = going_back.start, going_back.then
        state = UndoCommitState(
            root=start.root.branch,
            head=start.head.snapshot.as_written(),
            schema=start.schema_text,
            schemas=made_now(going_back.definition, work.context.clock()),
            operation=going_back.operation,
            then=None if then is None else then.as_written(),
        )
        return cls(work, state)

    @property
    def _edit(self) -> RowsEdit:
        return edit_of(RowsEdit, self.state.operation)

    def rows(self, start: RewriteBase) -> QueryRows:
        then = self.state.then
        return no_rows(start) if then is None else rows_of(self.root, snapshot_of(then))

    def safety_comment(self) -> str:
        return f"before {self._verb} of {self.state.operation.description}"

    def record(self, hold: Hold) -> None:
        """Record that rows merged by the change are no longer in main, so that they can be merged again.

        Of a redo, that they are in main again. A write merged none.
        """
        edit, now = self._edit, self.moved[1]
        if edit.is_plain_write or edit.before is None:
            return
        if self.work.plan.redoes:
            record_again(self.work.files, self.root, edit, now)
            return
        event = merge_history.MergeEvent(
            kind="rollback", root=edit.root, main=now, to=edit.before.id, then=edit.before
        )
        merge_history.record(self.work.files, self.work.table, event)

    def edit(self, before: Point, after: Point) -> RowsEdit:
        """A redo is the write, as if it had been committed now."""
        then = self.state.then
        same_as = NO_ROWS if then is None else point_of(snapshot_of(then))
        is_write = self._edit.is_write
        merged = self._edit.branch if self.work.plan.redoes else ""
        return msgspec.structs.replace(
            super().edit(before, after), same_as=same_as, is_write=is_write, branch=merged
        )

    def done(self) -> Done:
        state_kept = f"{self.root.label} at snapshot {self.first_head.id}"
        said = undone(
            self.work, self.state.operation, _kept(state_kept, has_columns=bool(self.state.schemas))
        )
        if not self.work.plan.redoes:
            return said
        entry, (before, after) = self.state.operation, self.moved
        return said._replace(
            message=f"Made {entry.description} of {self.work.plan.table} again, as snapshot {after.id}",
            before=f"{self.root.label} at snapshot {before.id}",
            after=f"{self.root.label} at snapshot {after.id}",
        )

    @property
    def _verb(self) -> str:
        return "redo" if self.work.plan.redoes else "undo"


def _found_again(work: Work) -> GoingBack:
    if work.plan.redoes:
        undone = redone_by(stacks(work.context, work.table), work.table, work.plan)
        return _find_undone(work.files, work.table, undone)
    return _find(work.files, work.table, undone_by(work))


def _find(files: Files, table: TablePath, operation: Operation) -> GoingBack:
    start, edit, what = _base(files, table, operation), edit_of(RowsEdit, operation), operation.description
    left = edit.now or edit.after
    if not only_compacted_since(Lineage(files, start.root), left, start.head.snapshot):
        raise Followed(
            f"{start.place} of {table.full_name} moved since {what}: "
            f"then at snapshot {left.id}, now at {start.head.snapshot.id}",
            files,
            table,
            edit,
            is_main=start.is_main,
        )
    if edit.is_mixed:
        place = f"{start.place} of {table.full_name}"
        raise Followed(
            f"Others committed to {place} between the commits of {what}",
            files,
            table,
            edit,
            is_main=start.is_main,
        )
    then = _snapshot_at(files, start, edit.before, f"from before {what}")
    return _with_definition(files, GoingBack(operation, start, then))


def _with_definition(files: Files, going_back: GoingBack) -> GoingBack:
    """With the columns that a merge or an overwrite took from main, or renamed."""
    schema_id, start = going_back.edit.schema_id, going_back.start
    if schema_id is None:
        return going_back
    lineage = Lineage(files, start.root)
    before, after = map(lineage.schema, (schema_id, start.head.snapshot.schema_id))
    definition, misfits = with_columns_of(start, before, after)
    return replace(going_back, definition=definition, misfits=tuple(misfits))


def _find_undone(files: Files, table: TablePath, undone: Operation) -> GoingBack:
    start, edit, what = _base(files, table, undone), edit_of(RowsEdit, undone), undone.description
    now, head = edit.now, start.head.snapshot
    if edit.branch and merge_history.event_of(files, table, edit) is None:
        raise Refused(f"Nothing tells how much of branch {edit.branch} {what} brought", "Do it anew.")
    if now is None or not only_compacted_since(Lineage(files, start.root), now, head):
        then_at = "" if now is None else f": then at snapshot {now.id}, now at {head.id}"
        raise Refused(
            f"{start.place} of {table.full_name} moved since {what} was undone{then_at}", "Do it anew."
        )
    then = _snapshot_at(files, start, edit.after, f"that {what} made")
    return GoingBack(undone, start, then, is_redo=True)


def _base(files: Files, table: TablePath, operation: Operation) -> RewriteBase:
    """The present state of the root that the change moved. Raises `Refused` if it is not what it was."""
    edit, what = edit_of(RowsEdit, operation), operation.description
    root, main = table.root(edit.root), main_root(files, table)
    if root == main:
        return start_in(files, root)
    if edit.is_write and root.branch is not None:
        if not root_exists(files, root):
            raise Refused(f"Branch {root.label} of {table.full_name} is gone since {what}", "")
        return start_in(files, root, is_main=False)
    raise Refused(
        f"Main of {table.full_name} was {root.label} at {what}, and is {main.label} now",
        "Take that back first: `paimark undo --replacement`.",
    )


def _snapshot_at(files: Files, start: RewriteBase, point: Point | None, which: str) -> Snapshot | None:
    """The snapshot at this point of the root's history. Raises `Refused` if it is gone."""
    if point is None:
        return None
    then = Side(files, start.root).record(point.id)
    if then is None or not point.is_of(then):
        raise Refused(
            f"Snapshot {point.id} of {start.place} of {start.root.table.full_name}, {which}, is gone",
            "It has expired: roll back to another version.",
        )
    return then


def _refusals(context: Context, going_back: GoingBack) -> list[Refusal]:
    then, target = going_back.then, going_back.target
    if then is None:
        return rewriting_refusals(context, target)
    refusals = [*_copied(context, target, then).refusals, *going_back.misfits]
    if not going_back.misfits:
        schema = Lineage(context.files, target.root).schema(then.schema_id)
        refusals += column_refusals(schema, f"snapshot {then.id}", target)
    return refusals


def _copied(context: Context, target: RewriteBase, then: Snapshot) -> RowsCopied:
    return rows_copied(context, target, then, f"snapshot {then.id}", "It has expired.")


def _steps(context: Context, going_back: GoingBack) -> Iterator[Step]:
    root, then = going_back.start.root, going_back.then
    if then is not None:
        yield _copied(context, going_back.target, then).step
    if (new := going_back.definition) is not None:
        yield Step("create", root.schema(new.id), "the columns as they were")
    head = going_back.start.head.snapshot.id
    yield Step("create", root.snapshot(head + 1), "one OVERWRITE of the whole table")
    if not going_back.edit.is_plain_write:
        what = "what the branch had then counts as merged" if going_back.is_redo else _CAN_BE_MERGED
        yield Step("replace", root.table.merges, what)


def _kept(said: str, *, has_columns: bool) -> str:
    return f"{said}, every tag and savepoint" + ("" if has_columns else "; the columns as they are now")
