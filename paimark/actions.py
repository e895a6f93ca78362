"""Every action on a table: planned and applied in one call, or with `plan` and a later `apply`.

A call does not ask for confirmation. Warnings of its plan and notes about its result are logged to `paimark`.
Names, arguments and defaults are those of the command line.
"""

from __future__ import annotations

from typing import TypeVar

from paimark.arguments import checked_arguments, text
from paimark.core.actions.context import Context
from paimark.core.actions.plan import Plan
from paimark.core.actions.registry import Action
from paimark.core.actions.registry import action as action_named
from paimark.core.errors import UsageError
from paimark.core.table.layout import TablePath
from paimark.results import (
    AutoSavepointDone,
    BranchCreated,
    BranchDeleted,
    BranchMerged,
    CommitsRescued,
    Compacted,
    MainReplaced,
    Recovered,
    Restored,
    Result,
    RolledBack,
    SavepointCreated,
    SavepointDeleted,
    SchemaAltered,
    SnapshotsExpired,
    TableDropped,
    TableRenamed,
    TagCreated,
    TagDeleted,
    TagRenamed,
    Undone,
    result_of,
)
from paimark.session import Session, tell, warn

R = TypeVar("R", bound=Result)


class TableActions:
    """The actions on one table.

    Each raises `Refused` if it would be unsafe or is not allowed: nothing was written then; `NotFound`;
    `UsageError` for wrong arguments; `Corrupt`; and `Unavailable`, whose message says if a change is half
    done and needs `recover`.
    """

    def __init__(self, session: Session, path: TablePath) -> None:
        self._session = session
        self._path = path

    def __repr__(self) -> str:
        return f"Table({self.name!r})"

    @property
    def name(self) -> str:
        """`shop.orders`; a part that would be misread is in backticks."""
        return self._path.full_name

    @property
    def database(self) -> str:
        """The name of its database."""
        return self._path.database

    def plan(self, action: str, /, **arguments: object) -> Plan:
        """The plan of an action, by its name on the command line: `plan("delete-tag", name="v2")`.

        Only reads. Its `refusals` say what prevents the action, each with a reason and a hint. If a command
        takes an argument several times, a list (`name=["v1", "v2"]`) gives one plan for all.
        """
        chosen = action_named(text("An action", action, "It is a name as on the command line: delete-tag."))
        given = checked_arguments(chosen, arguments)
        self._require_there(chosen)
        with self._session.acting() as context:
            return chosen.plan(context, self._path, given)

    def apply(self, plan: Plan) -> Result:
        """Apply a plan to this table, once. Raises `Refused` if anything that it relies on has changed."""
        if not isinstance(plan, Plan):
            raise UsageError(f"apply takes a plan, not {type(plan).__name__}", "The method plan makes one.")
        if plan.table != self.name:
            raise UsageError(f"The plan is for {plan.table}, and this is {self.name}")
        # Imported here because it loads the readers of manifests, which few programs need.
        from paimark.core.actions.savepoints.create_savepoint import require_not_applied

        with self._session.acting() as context:
            require_not_applied(context, plan)
            return self._applied(context, plan)

    def create_savepoint(
        self, *, snapshot: int | None = None, branch: str | None = None, comment: str | None = None
    ) -> SavepointCreated:
        """Keep the full state of a table at one snapshot (None: the newest), through expiry and clean-up."""
        return self._do(
            "create-savepoint", SavepointCreated, snapshot=snapshot, branch=branch, comment=comment
        )

    def auto_savepoint(self, *, branch: str | None = None) -> AutoSavepointDone:
        """Make a savepoint if one is due by the table's option savepoint.create-interval."""
        return self._do("auto-savepoint", AutoSavepointDone, branch=branch)

    def create_tag(
        self,
        *,
        name: str,
        snapshot: int | None = None,
        branch: str | None = None,
        retain: str | None = None,
    ) -> TagCreated:
        """Name a snapshot (None: the newest) with a stock tag, kept for `retain` (`7 d`; None: for good)."""
        return self._do("create-tag", TagCreated, name=name, snapshot=snapshot, branch=branch, retain=retain)

    def rename_tag(self, *, name: str, to: str, branch: str | None = None) -> TagRenamed:
        """Give a tag another name; its snapshot is kept all the time. Takes some seconds."""
        return self._do("rename-tag", TagRenamed, name=name, to=to, branch=branch)

    def create_branch(
        self, *, name: str, tag: str | None = None, snapshot: int | None = None
    ) -> BranchCreated:
        """Create a branch from a tag of main (a savepoint is one: `savepoint.3`), or from a snapshot of main.

        A snapshot gets a tag, which is deleted with the branch.
        """
        return self._do("create-branch", BranchCreated, name=name, tag=tag, snapshot=snapshot)

    def alter_branch_schema(
        self,
        *,
        add: str | None = None,
        drop: str | None = None,
        rename: str | None = None,
        widen: str | None = None,
        nullable: str | None = None,
        set: str | None = None,
        unset: str | None = None,
        branch: str | None = None,
    ) -> SchemaAltered:
        """Change the columns or options of a table, on any branch.

        `add` is `c INT, d STRING COMMENT 'why' AFTER c`, `drop` and `nullable` are `a, b`, `rename` is
        `a TO b`, `widen` is `c BIGINT`, `set` is `'option' = 'value'`, `unset` is `'option'`.
        """
        return self._do(
            "alter-branch-schema",
            SchemaAltered,
            add=add,
            drop=drop,
            rename=rename,
            widen=widen,
            nullable=nullable,
            set=set,
            unset=unset,
            branch=branch,
        )

    def delete_savepoint(self, *, id: int) -> SavepointDeleted:
        """Delete a savepoint, and every file that only it keeps."""
        return self._do("delete-savepoint", SavepointDeleted, id=id)

    def delete_tag(self, *, name: str, branch: str | None = None) -> TagDeleted:
        """Delete a tag, and every file that only it keeps."""
        return self._do("delete-tag", TagDeleted, name=name, branch=branch)

    def expire_snapshots(
        self, *, retain_last: int | None = None, older_than: str | None = None, branch: str | None = None
    ) -> SnapshotsExpired:
        """Delete the oldest snapshots, and every file that only they keep.

        The newest `retain_last` stay; only those older than `older_than` (`7 d`, `2026-05-01 12:00`) go.
        Without both, the table's own options decide.
        """
        return self._do(
            "expire-snapshots",
            SnapshotsExpired,
            retain_last=retain_last,
            older_than=older_than,
            branch=branch,
        )

    def compact(
        self, *, full: bool = False, partition: str | None = None, branch: str | None = None
    ) -> Compacted:
        """Merge a table's files by Paimon's library, which starts Spark; the rows stay the same.

        `full` merges all files of a bucket, not only what Paimon's rules choose; `partition` are some values
        of partitions: `day=2026-05-01`.
        """
        return self._do("compact", Compacted, full=full, partition=partition, branch=branch)

    def delete_branch(self, *, name: str, keep: bool = False) -> BranchDeleted:
        """Delete a branch, and every file that only it keeps; `keep` only retires it under another name."""
        return self._do("delete-branch", BranchDeleted, name=name, keep=keep)

    def replace_main_branch(
        self, *, name: str, layout: str = "pointer", drop_previous: bool = False
    ) -> MainReplaced:
        """Make a branch main; its jobs keep running.

        `layout` is `pointer`, or `overwrite`: main gets the branch's rows, which starts Spark. The previous
        main stays as a branch, unless `drop_previous`.
        """
        return self._do(
            "replace-main-branch", MainReplaced, name=name, layout=layout, drop_previous=drop_previous
        )

    def rescue_commits(self, *, name: str) -> CommitsRescued:
        """Make a branch of commits that a stale writer left in the table directory while a branch is main."""
        return self._do("rescue-commits", CommitsRescued, name=name)

    def undo(self, *, replacement: bool = False) -> Undone:
        """Take back the last change that can be taken back. With `replacement`, take back the last
        replacement of main, even if main has moved on by merges and rollbacks since.
        """
        return self._do("undo", Undone, replacement=replacement)

    def redo(self) -> Result:
        """Do again what the last undo took back. Returns the result of that action."""
        return self._do("redo", Result)

    def restore(self, *, to: int) -> Restored:
        """Undo or redo until operation `to` of the log is the last one in effect; 0 undoes all of them."""
        return self._do("restore", Restored, to=to)

    def merge_branch(
        self,
        *,
        name: str,
        on_conflict: str = "fail",
        resolve: str | None = None,
        drop_columns: bool = False,
    ) -> BranchMerged:
        """Bring the changes of a branch since its fork, or its last merge, into main. Starts Spark.

        If both changed a key to different rows, `on_conflict` decides: `fail`, `branch` or `main`. Or
        `resolve` does, a file of `paimark merge-branch --conflicts-out` with a choice for each key. A branch
        that dropped columns is refused without `drop_columns`, with which main loses them too.
        """
        return self._do(
            "merge-branch",
            BranchMerged,
            name=name,
            on_conflict=on_conflict,
            resolve=resolve,
            drop_columns=drop_columns,
        )

    def rollback(self, *, to: str, truncate: bool = False) -> RolledBack:
        """Give main the rows of an earlier version (`snapshot.12`, `savepoint.3`, a tag, a time).

        Spark makes it, as one new commit. With `truncate`, main ends at the version instead, and later
        commits become a branch: stop the writers first.
        """
        return self._do("rollback", RolledBack, to=to, truncate=truncate)

    def rename_table(self, *, to: str) -> TableRenamed:
        """Give the table another name, with its branches, tags, savepoints and log.

        `to` is a name in the same database, or `database.name`. This object keeps the old name.
        """
        return self._do("rename-table", TableRenamed, to=to)

    def drop_table(self) -> TableDropped:
        """Move the table to the trash of its database; `Warehouse.undrop` takes it out again."""
        return self._do("drop-table", TableDropped)

    def recover(self, *, assume: str | None = None, main: str | None = None) -> Recovered:
        """Finish or undo a change that was interrupted.

        `assume` is `committed` or `not-committed`: your answer if the files no longer tell whether a change
        was committed. `main` is the branch that becomes main if the previous one is gone.
        """
        return self._do("recover", Recovered, assume=assume, main=main)

    def _do(self, action: str, kind: type[R], **arguments: object) -> R:
        """Plan and apply. `kind` is the type of the action's result."""
        chosen = action_named(action)
        given = checked_arguments(chosen, arguments)
        self._require_there(chosen)
        with self._session.acting() as context:
            plan = chosen.plan(context, self._path, given)
            result = self._applied(context, plan)
        assert isinstance(result, kind)
        return result

    def _require_there(self, action: Action) -> None:
        """Raises `NotFound` if the table was dropped: some actions would take that for nothing to do."""
        action.table(self._session.files, self.name)

    def _applied(self, context: Context, plan: Plan) -> Result:
        warn(plan.warnings)
        return result_of(plan, action_named(plan.action).apply(context, plan, tell))
