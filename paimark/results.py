"""The results of a table's actions: frozen structs. Sizes are bytes."""

from __future__ import annotations

from typing import Any

import msgspec

from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.plan import Outcome, Plan

Fact = str | int | bool | None
# `paimark` has all of these names.
__all__ = [
    "Analyzed",
    "AutoSavepointDone",
    "BranchCreated",
    "BranchDeleted",
    "BranchMerged",
    "BranchRenamed",
    "CommitsRescued",
    "Compacted",
    "ConsumerReset",
    "DroppedDeleted",
    "MainReplaced",
    "ManyDone",
    "ProtectionSet",
    "Recovered",
    "Restored",
    "Result",
    "Reverted",
    "RolledBack",
    "RowsEdited",
    "RowsRestored",
    "SavepointCreated",
    "SavepointDeleted",
    "SchemaAltered",
    "SnapshotsExpired",
    "TableDropped",
    "TableRenamed",
    "TableUndropped",
    "TagCreated",
    "TagDeleted",
    "TagRenamed",
    "Tried",
    "Undone",
]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an action. `message` is one sentence, `facts` is all that `--output json` prints of it.

    `undo` is the command that takes it back; empty if there is none.
    """

    action: str
    table: str
    message: str
    undo: str
    facts: dict[str, Fact]


class SavepointCreated(Result, frozen=True, kw_only=True):
    """`record_count` is of rows before rows of one key are merged."""

    savepoint_id: int
    saved_snapshot_id: int
    schema_id: int
    record_count: int
    branch: str


class AutoSavepointDone(Result, frozen=True, kw_only=True):
    """Both are None if no savepoint was due."""

    savepoint_id: int | None
    saved_snapshot_id: int | None


class TagCreated(Result, frozen=True, kw_only=True):
    tag_name: str
    snapshot_id: int
    branch: str


class TagRenamed(Result, frozen=True, kw_only=True):
    """`tag_name` is the new name."""

    tag_name: str
    old_name: str
    snapshot_id: int
    branch: str


class BranchCreated(Result, frozen=True, kw_only=True):
    """`snapshot_id` is the snapshot of the tag, and the branch's first. Main has the tag."""

    branch_name: str
    tag_name: str
    snapshot_id: int


class SchemaAltered(Result, frozen=True, kw_only=True):
    """`schema_id` is the id of the new version; None if nothing had to change."""

    schema_id: int | None
    branch: str | None = None


class SavepointDeleted(Result, frozen=True, kw_only=True):
    savepoint_id: int
    freed_files: int
    freed_bytes: int


class TagDeleted(Result, frozen=True, kw_only=True):
    """`branch` is None for main."""

    tag_name: str
    branch: str | None
    freed_files: int
    freed_bytes: int


class SnapshotsExpired(Result, frozen=True, kw_only=True):
    """`earliest_snapshot_id` is the oldest snapshot that stays."""

    expired_snapshots: int
    earliest_snapshot_id: int | None
    freed_files: int
    freed_bytes: int


class ConsumerReset(Result, frozen=True, kw_only=True):
    """`snapshot_id` is what it reads next, None if it was forgotten; `branch` is None for main.

    `previous_snapshot_id` is None if nothing told it.
    """

    consumer_name: str
    snapshot_id: int | None
    previous_snapshot_id: int | None
    branch: str | None = None


class BranchRenamed(Result, frozen=True, kw_only=True):
    branch_name: str
    old_name: str


class ProtectionSet(Result, frozen=True, kw_only=True):
    """`what` is branch, tag or savepoint, `of` the branch of a tag. `reason` is None of one that is no longer
    protected.
    """

    what: str
    name: str
    of: str | None = None
    reason: str | None = None


class BranchDeleted(Result, frozen=True, kw_only=True):
    """`retired_as` is the name of the retired branch, if the branch was kept."""

    branch_name: str
    retired_as: str | None
    freed_files: int
    freed_bytes: int


class Compacted(Result, frozen=True, kw_only=True):
    """`snapshot_id` is None if there was nothing to do. The files are those that were replaced, and the new
    ones; `changelog_records` those that the commit tells readers of the changelog.
    """

    snapshot_id: int | None
    files_before: int
    bytes_before: int
    files_after: int
    bytes_after: int
    changelog_records: int


class Analyzed(Result, frozen=True, kw_only=True):
    """`snapshot_id` is None if the table has no snapshot."""

    snapshot_id: int | None


class Reverted(Result, frozen=True, kw_only=True):
    """`snapshot_id` is None if there was nothing to take back."""

    snapshot_id: int | None


class RowsRestored(Result, frozen=True, kw_only=True):
    """`snapshot_id` is None if the rows were as they shall be."""

    snapshot_id: int | None


class RowsEdited(Result, frozen=True, kw_only=True):
    """`snapshot_id` is None if the rows were as they shall be."""

    snapshot_id: int | None


class MainReplaced(Result, frozen=True, kw_only=True):
    """`previous_main` is the branch that keeps the previous main, `snapshot_id` the newest snapshot of main.

    `stray_commits` counts the stray commits in the table directory. In layout `overwrite`, `savepoint_id` is
    the savepoint that was made before main's rows were overwritten.
    """

    branch_name: str
    previous_main: str | None = None
    snapshot_id: int | None = None
    stray_commits: int = 0
    savepoint_id: int | None = None


class CommitsRescued(Result, frozen=True, kw_only=True):
    branch_name: str
    commits: int


class Undone(Result, frozen=True, kw_only=True):
    """`undone` is the action that was taken back; `facts` are those of the undo.

    If the branch that kept the previous main stays, because a job committed to it just then, `facts` has its
    name as `archive`, the number of these commits as `late_commits`, and as `stays` which they are, by whom,
    and what to do.

    If that action was a change of many, `parts` has one result for each part.
    """

    undone: str
    parts: tuple[Result, ...] = ()


class Restored(Result, frozen=True, kw_only=True):
    """`walked` counts the changes that were undone or redone."""

    walked: int


class BranchMerged(Result, frozen=True, kw_only=True):
    """`snapshot_id` is the target's new snapshot, None if it already had every change of the branch.

    `savepoint_id` is the savepoint of main that was made before the merge; None for another target.
    """

    snapshot_id: int | None
    branch_name: str | None = None
    kind: str | None = None
    savepoint_id: int | None = None


class Tried(Result, frozen=True, kw_only=True):
    """`snapshot_id` is main's new snapshot; with `publish` no, or for a replacement, it is the branch's."""

    snapshot_id: int | None
    branch_name: str
    publish: str


class RolledBack(Result, frozen=True, kw_only=True):
    """`snapshot_id` is main's newest, None if it had these rows; `rolled_back_to` is the version's snapshot.

    If main was truncated, `archive` is the branch with the commits that were cut off.
    """

    snapshot_id: int | None
    rolled_back_to: int | None = None
    savepoint_id: int | None = None
    archive: str | None = None


class Recovered(Result, frozen=True, kw_only=True):
    """`recovered` counts the interrupted changes that were finished or taken back.

    `facts` has those of a change that was finished, too.
    """

    recovered: int


class ManyDone(Result, frozen=True, kw_only=True):
    """A change of many: each of `parts` is a result of the same action."""

    parts: tuple[Result, ...]


class TableRenamed(Result, frozen=True, kw_only=True):
    """`table` is the old name, `table_name` the new one."""

    old_name: str
    table_name: str


class TableDropped(Result, frozen=True, kw_only=True):
    """`dropped_id` tells it from others of its name in the trash."""

    dropped_id: str


class TableUndropped(Result, frozen=True, kw_only=True):
    dropped_id: str


class DroppedDeleted(Result, frozen=True, kw_only=True):
    dropped_id: str
    freed_files: int
    freed_bytes: int


def result_of(plan: Plan, outcome: Outcome) -> Result:
    """The outcome of a plan as the result type of its action."""
    if plan.parts:
        return _of_many(plan, outcome)
    kind: type[Result] = Tried if outcome.action == "try" else globals()[DECLARED[outcome.action].result]
    told = {
        **({"undone": plan.arguments.get("undone")} if outcome.action == "undo" else {}),
        **outcome.result,
        "action": outcome.action,
        "table": outcome.table,
        "message": outcome.message,
        "undo": outcome.undo,
        "facts": outcome.result,
    }
    return msgspec.convert(told, kind)


def _of_many(plan: Plan, outcome: Outcome) -> Undone | ManyDone:
    parts = tuple(result_of(*each) for each in zip(plan.parts, outcome.parts, strict=True))
    undone = [each.undone for each in parts if isinstance(each, Undone)]
    told: dict[str, Any] = {
        "action": outcome.action,
        "table": outcome.table,
        "message": outcome.message,
        "undo": outcome.undo,
        "facts": outcome.result,
        "parts": parts,
    }
    if undone:
        return Undone(**told, undone=undone[0])
    return ManyDone(**told)
