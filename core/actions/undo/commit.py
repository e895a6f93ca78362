"""Undo a merge, a rollback or an overwrite of main: its rows from before become one new commit.

No id is used again, so no session has to be refreshed. The commit is the point of no return. Merged commits
are then no longer in main's rows, and can be merged again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import msgspec

from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.change.journal import Hold
from paimark.core.actions.change.operations import Undoable
from paimark.core.actions.checks import fingerprint
from paimark.core.actions.context import Context
from paimark.core.actions.merge import history as merge_history
from paimark.core.actions.plan import Plan, Refusal, Step, raise_first
from paimark.core.actions.rewrite.column_compatibility import column_refusals
from paimark.core.actions.rewrite.rewrite_main import RewriteMain, snapshot_of
from paimark.core.actions.rewrite.spark_rewrite import (
    QueryRows,
    RewriteBase,
    copied_rows,
    rewriting_refusals,
    rows_of,
    saved,
    start_of,
)
from paimark.core.actions.undo.undone import as_planned, undone, undone_by
from paimark.core.errors import FileMissing, Refused
from paimark.core.figures import moment
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.forks import Side
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.manifests.files import size_of
from paimark.core.table.records import Point, Snapshot


@dataclass(frozen=True)
class GoingBack:
    """`start` is main as the change left it, `then` its snapshot from before."""

    entry: Undoable
    start: RewriteBase
    then: Snapshot

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.entry.token, self.start.fingerprint, self.then.to_json())

    @property
    def description(self) -> str:
        return f"{self.start.root.label} at snapshot {self.start.head.snapshot.id}"


def plan(context: Context, table: TablePath, entry: Undoable) -> Plan:
    """Raises `Refused` when main has moved since, or its earlier snapshot is gone; `Corrupt`."""
    going_back = _find(context.files, table, entry)
    start, then = going_back.start, going_back.then
    return Plan(
        change="undo-commit",
        summary=f"Take back {entry.description}: give main of {table.full_name} the rows of "
        f"snapshot {then.id} again, instead of those of snapshot {start.head.snapshot.id}",
        arguments={"seen": going_back.description},
        fingerprint=going_back.fingerprint,
        steps=tuple(_steps(context.files, going_back)),
        kept=(_kept(going_back.description),),
        warnings=tuple(_warnings(going_back)),
        refusals=tuple(_refusals(context.files, going_back)),
    )


class UndoCommitState(msgspec.Struct, frozen=True):
    """The operation to undo; main's snapshots before the undo and from before the change, as JSON."""

    entry: Undoable
    head: dict[str, Any]
    then: dict[str, Any]


class UndoCommit(RewriteMain[UndoCommitState]):
    """Main gets the rows from before the change, as one new commit."""

    State = UndoCommitState

    @classmethod
    def begin(cls, work: Work) -> Self:
        entry = undone_by(work)
        going_back = as_planned(work, _find(work.files, work.table, entry))
        head, then = going_back.start.head.snapshot, going_back.then
        return cls(work, UndoCommitState(entry, head.as_written(), then.as_written()))

    @property
    def root(self) -> Root:
        return self.work.table.root(self.state.entry.root)

    @property
    def first_head(self) -> Snapshot:
        return snapshot_of(self.state.head)

    def check(self, hold: Hold) -> None:
        files = self.work.files
        going_back = as_planned(self.work, _find(files, self.work.table, self.state.entry))
        raise_first(_refusals(files, going_back))

    def rows(self, start: RewriteBase) -> QueryRows:
        return rows_of(self.root, snapshot_of(self.state.then))

    def safety_comment(self) -> str:
        return f"before undo of {self.state.entry.description}"

    def record(self, hold: Hold) -> None:
        """Record that rows merged by the change are no longer in main, so that they can be merged again."""
        entry, now = self.state.entry, self.now()
        assert entry.before is not None
        before = entry.before
        event = merge_history.MergeEvent(
            kind="rollback", root=entry.root, main=now, to=before.id, then=before
        )
        merge_history.record(self.work.files, self.work.table, event)

    def now(self) -> Point:
        return self.moved[1]

    def done(self) -> Done:
        state_kept = f"{self.root.label} at snapshot {self.first_head.id}"
        return undone(self.work, self.state.entry, _kept(state_kept))


def _find(files: Files, table: TablePath, entry: Undoable) -> GoingBack:
    start = start_of(files, table)
    before, after = entry.before, entry.after
    assert before is not None and after is not None
    if start.root.branch != entry.root:
        was = table.root(entry.root).label
        raise Refused(
            f"Main of {table.full_name} was {was} at {entry.description}, and is {start.root.label} now",
            "Take that back first: `paimark undo --replacement`.",
        )
    if not after.is_of(start.head.snapshot):
        raise Refused(
            f"main of {table.full_name} moved since {entry.description}: "
            f"then at snapshot {after.id}, now at {start.head.snapshot.id}",
            f"`{_by_hand(files, start, before.id)}` gives it the rows from before, without what came since.",
        )
    then = Side(files, start.root).record(before.id)
    if then is None or not before.is_of(then):
        raise Refused(
            f"Snapshot {before.id} of main of {table.full_name}, from before {entry.description}, is gone",
            "It has expired: roll back to another version.",
        )
    return GoingBack(entry, start, then)


def _refusals(files: Files, going_back: GoingBack) -> list[Refusal]:
    root, then = going_back.start.root, going_back.then
    refusals = rewriting_refusals(going_back.start)
    schema = Lineage(files, root).schema(then.schema_id)
    refusals += column_refusals(schema, f"snapshot {then.id}", going_back.start)
    try:
        size_of(files, root.table, then)
    except FileMissing as error:
        refusals.append(Refusal(f"Snapshot {then.id} is not whole: {error.message}", "It has expired."))
    return refusals


def _steps(files: Files, going_back: GoingBack) -> list[Step]:
    root = going_back.start.root
    try:
        rows, size = size_of(files, root.table, going_back.then)
    except FileMissing:
        return []
    next_snapshot = root.snapshot(going_back.start.head.snapshot.id + 1)
    return [
        copied_rows(f"snapshot {going_back.then.id}", rows, size),
        Step("create", next_snapshot, "one OVERWRITE of the whole table"),
        Step("replace", root.table.merges, "what was merged then can be merged again"),
    ]


def _kept(said: str) -> str:
    return f"Every snapshot, tag and savepoint: {said} keeps the rows as they were"


def _warnings(going_back: GoingBack) -> list[str]:
    entry, schema = going_back.entry, going_back.start.schema.id
    warnings = [
        f"{entry.user} did it on {moment(entry.time)}",
        "Streaming readers skip OVERWRITE commits by default: they will not see the rows go back",
    ]
    if going_back.then.schema_id != schema:
        warnings.append(f"The definition of the table stays as it is now (schema {schema})")
    return warnings


def _by_hand(files: Files, start: RewriteBase, number: int) -> str:
    kept = saved(files, start.root, number)
    to = f"snapshot.{number}" if kept is None else f"savepoint.{kept}"
    return f"paimark rollback {start.root.table.word} --to {to}"
