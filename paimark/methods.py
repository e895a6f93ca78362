"""Each action as a method, made by `make methods`: see `paimark.core.actions.declared`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

from paimark.results import (
    Analyzed,
    AutoSavepointDone,
    BranchCreated,
    BranchDeleted,
    BranchMerged,
    BranchRenamed,
    CommitsRescued,
    Compacted,
    ConsumerReset,
    DroppedDeleted,
    MainReplaced,
    ProtectionSet,
    Recovered,
    Restored,
    Result,
    Reverted,
    RolledBack,
    RowsEdited,
    RowsRestored,
    SavepointCreated,
    SavepointDeleted,
    SchemaAltered,
    SnapshotsExpired,
    TableDropped,
    TableRenamed,
    TableUndropped,
    TagCreated,
    TagDeleted,
    TagRenamed,
    Undone,
)

R = TypeVar("R", bound=Result)


class TableMethods(ABC):
    """The actions on a table that is there."""

    @abstractmethod
    def _do(self, action: str, kind: type[R], **arguments: object) -> R:
        """Plan and apply. `kind` is the type of the action's result."""

    def create_savepoint(
        self,
        *,
        snapshot: int | None = None,
        branch: str | None = None,
        comment: str | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> SavepointCreated:
        """Keep the full state of a table at one snapshot, through expiry and clean-up.

        snapshot: Id of the snapshot; the newest when left out.
        branch: Branch of the table; main when left out.
        comment: Why it is kept.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(
            "create-savepoint",
            SavepointCreated,
            snapshot=snapshot,
            branch=branch,
            comment=comment,
            message=message,
            author=author,
        )

    def auto_savepoint(self, *, branch: str | None = None) -> AutoSavepointDone:
        """Make the savepoint that the table's option savepoint.create-interval says is due.

        branch: Branch of the table; main when left out.
        """
        return self._do("auto-savepoint", AutoSavepointDone, branch=branch)

    def create_branch(
        self,
        *,
        name: str,
        tag: str | None = None,
        snapshot: int | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> BranchCreated:
        """Create a branch from a snapshot, tag or savepoint of main. The tag of a snapshot is deleted with
        the branch.

        name: Name of the branch.
        tag: Tag of main; a savepoint is one: savepoint.3.
        snapshot: Snapshot of main, in place of a tag: one is made for it.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(
            "create-branch",
            BranchCreated,
            name=name,
            tag=tag,
            snapshot=snapshot,
            message=message,
            author=author,
        )

    def create_tag(
        self,
        *,
        name: str,
        snapshot: int | None = None,
        branch: str | None = None,
        retain: str | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> TagCreated:
        """Name a snapshot with a stock tag.

        name: Name of the tag; {id} in it is the snapshot's id.
        snapshot: Id of the snapshot; the newest when left out.
        branch: Branch of the table; main when left out.
        retain: How long it is kept (7 d, 12 h); for good when left out.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(
            "create-tag",
            TagCreated,
            name=name,
            snapshot=snapshot,
            branch=branch,
            retain=retain,
            message=message,
            author=author,
        )

    def rename_tag(
        self,
        *,
        name: str,
        to: str,
        branch: str | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> TagRenamed:
        """Give a tag another name; its snapshot is kept all the time. Takes some seconds.

        name: Name of the tag.
        to: Its new name.
        branch: Branch of the table; main when left out.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(
            "rename-tag", TagRenamed, name=name, to=to, branch=branch, message=message, author=author
        )

    def delete_savepoint(
        self, *, id: int, message: str | None = None, author: str | None = None
    ) -> SavepointDeleted:
        """Delete a savepoint, and every file that only it keeps.

        id: Id of the savepoint.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do("delete-savepoint", SavepointDeleted, id=id, message=message, author=author)

    def delete_tag(
        self, *, name: str, branch: str | None = None, message: str | None = None, author: str | None = None
    ) -> TagDeleted:
        """Delete a tag, and every file that only it keeps.

        name: Name of the tag.
        branch: Branch of the table; main when left out.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do("delete-tag", TagDeleted, name=name, branch=branch, message=message, author=author)

    def delete_branch(
        self, *, name: str, keep: bool = False, message: str | None = None, author: str | None = None
    ) -> BranchDeleted:
        """Delete a branch, and every file that only it keeps.

        name: Name of the branch.
        keep: Only retire it: it keeps its files under another name.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do("delete-branch", BranchDeleted, name=name, keep=keep, message=message, author=author)

    def rename_branch(
        self, *, name: str, to: str, message: str | None = None, author: str | None = None
    ) -> BranchRenamed:
        """Give a branch another name, with all that it has. Stop its jobs first: they know its old name.

        name: Name of the branch.
        to: Its new name.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do("rename-branch", BranchRenamed, name=name, to=to, message=message, author=author)

    def expire_snapshots(
        self,
        *,
        retain_last: int | None = None,
        older_than: str | None = None,
        branch: str | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> SnapshotsExpired:
        """Delete the oldest snapshots, and every file that only they keep. Without the first two, the
        table's own options decide.

        retain_last: How many of the newest stay.
        older_than: Only those older than this (7 d, 2026-05-01 12:00).
        branch: Branch of the table; main when left out.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(
            "expire-snapshots",
            SnapshotsExpired,
            retain_last=retain_last,
            older_than=older_than,
            branch=branch,
            message=message,
            author=author,
        )

    def reset_consumer(
        self,
        *,
        name: str,
        snapshot: int | None = None,
        branch: str | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> ConsumerReset:
        """Let a streaming reader go on at another snapshot, or forget it: expiry waits for it no longer.
        Stop its job first: a running one writes its own place again.

        name: Name of the consumer: the consumer-id of its job.
        snapshot: The snapshot that it reads next; when left out, it is forgotten.
        branch: Branch of the table; main when left out.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(
            "reset-consumer",
            ConsumerReset,
            name=name,
            snapshot=snapshot,
            branch=branch,
            message=message,
            author=author,
        )

    def compact(
        self,
        *,
        full: bool = False,
        partition: str | None = None,
        branch: str | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> Compacted:
        """Merge a table's files; the rows stay the same. Paimon's library does it, which starts Spark.

        full: Merge all files of a bucket, not only what Paimon's rules choose.
        partition: Only these partitions, by some of their values: day=2026-05-01.
        branch: Branch of the table; main when left out.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(
            "compact",
            Compacted,
            full=full,
            partition=partition,
            branch=branch,
            message=message,
            author=author,
        )

    def analyze(
        self,
        *,
        columns: str | None = None,
        branch: str | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> Analyzed:
        """Compute statistics of rows and columns, by which engines choose their plans. Spark reads the
        columns, and Paimon's library commits the statistics.

        columns: Of which columns: a, b; * for all. Only of the rows when left out.
        branch: Branch of the table; main when left out.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do("analyze", Analyzed, columns=columns, branch=branch, message=message, author=author)

    def protect(
        self,
        *,
        reason: str,
        tag: str | None = None,
        savepoint: int | None = None,
        branch: str | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> ProtectionSet:
        """Protect a branch, tag or savepoint: no action lets it go, replaces it or rolls it back. Without
        a tag or a savepoint, the branch itself. Other engines know nothing of it.

        reason: Why: a refusal says it.
        tag: Name of a tag.
        savepoint: Id of a savepoint.
        branch: Branch of the tag; without one, the branch itself. main is whichever branch is main.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(
            "protect",
            ProtectionSet,
            reason=reason,
            tag=tag,
            savepoint=savepoint,
            branch=branch,
            message=message,
            author=author,
        )

    def unprotect(
        self,
        *,
        tag: str | None = None,
        savepoint: int | None = None,
        branch: str | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> ProtectionSet:
        """End the protection of a branch, tag or savepoint.

        tag: Name of a tag.
        savepoint: Id of a savepoint.
        branch: Branch of the tag; without one, the branch itself. main is whichever branch is main.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(
            "unprotect",
            ProtectionSet,
            tag=tag,
            savepoint=savepoint,
            branch=branch,
            message=message,
            author=author,
        )

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
        message: str | None = None,
        author: str | None = None,
    ) -> SchemaAltered:
        """Change the columns or options of a table, on any branch.

        add: Columns to add: c INT, d STRING COMMENT 'why' AFTER c.
        drop: Columns to drop: a, b.
        rename: A column's new name: a TO b.
        widen: A column's wider type: c BIGINT.
        nullable: Columns that may be null from now on: c.
        set: Table options: 'option' = 'value'.
        unset: Table options to take out: 'option'.
        branch: Branch of the table; main when left out.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
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
            message=message,
            author=author,
        )

    def merge_branch(
        self,
        *,
        name: str,
        into: str | None = None,
        on_conflict: str = "fail",
        resolve: str | None = None,
        drop_columns: bool = False,
        check: str | None = None,
        up_to: int | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> BranchMerged:
        """Bring into main, or another branch, what a branch changed since their fork, or the last merge. A
        conflict is a key that both changed to different rows; `merge-branch --conflicts-out` writes the
        file to choose in. Spark starts, unless main can go on with the branch's commits.

        name: Name of the branch.
        into: Branch to merge into; main when left out.
        on_conflict: Who wins: fail (nobody), branch or main, which is what is merged into.
        resolve: File of conflicts with what is chosen for each.
        drop_columns: Main, or what is merged into, loses columns too that the branch dropped.
        check: File of checks, SELECTs that must return no row; else the table's own file of them.
        up_to: Publish exactly this snapshot of the branch, and none after it.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(
            "merge-branch",
            BranchMerged,
            name=name,
            into=into,
            on_conflict=on_conflict,
            resolve=resolve,
            drop_columns=drop_columns,
            check=check,
            up_to=up_to,
            message=message,
            author=author,
        )

    def replace_main_branch(
        self,
        *,
        name: str,
        layout: str = "pointer",
        drop_previous: bool = False,
        check: str | None = None,
        up_to: int | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> MainReplaced:
        """Make a branch main; its jobs keep running. To overwrite starts Spark, and so do checks.

        name: Name of the branch.
        layout: pointer (the default): readers are led to the branch; overwrite: main gets the branch's rows.
        drop_previous: Do not keep the previous main as a branch.
        check: File of checks, SELECTs that must return no row; else the table's own file of them.
        up_to: Publish exactly this snapshot of the branch, and none after it.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(
            "replace-main-branch",
            MainReplaced,
            name=name,
            layout=layout,
            drop_previous=drop_previous,
            check=check,
            up_to=up_to,
            message=message,
            author=author,
        )

    def rescue_commits(
        self, *, name: str, message: str | None = None, author: str | None = None
    ) -> CommitsRescued:
        """Make a branch of what a stale writer left in the table directory while a branch is main.

        name: Name of the branch to make.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do("rescue-commits", CommitsRescued, name=name, message=message, author=author)

    def rollback(
        self, *, to: str, truncate: bool = False, message: str | None = None, author: str | None = None
    ) -> RolledBack:
        """Give main the rows of an earlier version, as one new commit. Spark makes that commit. Before you
        truncate, stop the writers.

        to: snapshot.N, savepoint.N, a tag, or a time.
        truncate: Let main end there: what came later becomes a branch.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do("rollback", RolledBack, to=to, truncate=truncate, message=message, author=author)

    def revert(
        self,
        *,
        snapshot: int,
        on_conflict: str = "fail",
        resolve: str | None = None,
        branch: str | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> Reverted:
        """Take back what one commit did, and keep what came later, as one new commit. Paimon's library
        makes that commit, which starts Spark.

        snapshot: Id of the snapshot whose commit is taken back.
        on_conflict: What a row gets that changed since: fail (nothing is written), now (it stays) or then.
        resolve: File of conflicts with what is chosen for each.
        branch: Branch of the table; main when left out.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(
            "revert",
            Reverted,
            snapshot=snapshot,
            on_conflict=on_conflict,
            resolve=resolve,
            branch=branch,
            message=message,
            author=author,
        )

    def restore_rows(
        self,
        *,
        from_version: str,
        where: str | None = None,
        partition: str | None = None,
        keys: str | None = None,
        on_conflict: str = "fail",
        resolve: str | None = None,
        branch: str | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> RowsRestored:
        """Give some rows what they were at a version, as one new commit; all others stay. Paimon's library
        makes that commit, which starts Spark.

        from_version: snapshot.N, savepoint.N, a tag, or a time: the rows become what they were then.
        where: A condition, as after WHERE: rows that it is true of, then or now.
        partition: The rows of these partitions, by some of their values: day=2026-05-01.
        keys: These keys: 42, 43; or JSON, {"id": 42}; or @FILE with one a line.
        on_conflict: What a row gets that several commits changed: fail (nothing is written), now or then.
        resolve: File of conflicts with what is chosen for each.
        branch: Branch of the table; main when left out.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(
            "restore-rows",
            RowsRestored,
            from_version=from_version,
            where=where,
            partition=partition,
            keys=keys,
            on_conflict=on_conflict,
            resolve=resolve,
            branch=branch,
            message=message,
            author=author,
        )

    def edit_rows(
        self,
        *,
        file: str,
        read_at: str | None = None,
        on_conflict: str = "fail",
        resolve: str | None = None,
        branch: str | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> RowsEdited:
        """Change cells of rows with a key, add rows and delete rows, as one commit. An edit is {"key":
        {"id": 42}, "set": {"price": 5}}, or with "add" and the cells of a new row, or with "delete":
        true. Paimon's library makes the commit, which starts Spark.

        file: File of the edits, a JSON object a line.
        read_at: The version that the rows were read at; the newest when left out.
        on_conflict: What a row gets that changed since: fail (nothing is written), now or edited.
        resolve: File of conflicts with what is chosen for each.
        branch: Branch of the table; main when left out.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(
            "edit-rows",
            RowsEdited,
            file=file,
            read_at=read_at,
            on_conflict=on_conflict,
            resolve=resolve,
            branch=branch,
            message=message,
            author=author,
        )

    def undo(
        self, *, replacement: bool = False, message: str | None = None, author: str | None = None
    ) -> Undone:
        """Take back the last change that can be taken back.

        replacement: The last replacement, though main moved on since a merge.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do("undo", Undone, replacement=replacement, message=message, author=author)

    def redo(self, *, message: str | None = None, author: str | None = None) -> Result:
        """Do again what the last undo took back. The result is that of the action that was done again.

        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do("redo", Result, message=message, author=author)

    def restore(self, *, to: int, message: str | None = None, author: str | None = None) -> Restored:
        """Undo or redo until an operation of the log is the last that counts.

        to: Number of the operation; 0 for before all of them.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do("restore", Restored, to=to, message=message, author=author)

    def rename_table(self, *, to: str, message: str | None = None, author: str | None = None) -> TableRenamed:
        """Give a table another name, with its branches, tags, savepoints and log.

        to: Its new name, or database.name.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do("rename-table", TableRenamed, to=to, message=message, author=author)

    def drop_table(self, *, message: str | None = None, author: str | None = None) -> TableDropped:
        """Move a table to the trash of its database; undrop takes it out again.

        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do("drop-table", TableDropped, message=message, author=author)

    def recover(
        self,
        *,
        assume: str | None = None,
        main: str | None = None,
        message: str | None = None,
        author: str | None = None,
    ) -> Recovered:
        """Finish or undo a change that was interrupted.

        assume: committed or not-committed: whether the commit was made, if no file shows it any more.
        main: The branch to make main, if the branch that is main was lost.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do("recover", Recovered, assume=assume, main=main, message=message, author=author)


class TrashMethods(ABC):
    """The actions on a dropped table, by the name that it had."""

    @abstractmethod
    def _do(self, name: str, action: str, kind: type[R], **arguments: object) -> R:
        """Plan and apply. `kind` is the type of the action's result."""

    def undrop(
        self, name: str, *, id: str | None = None, message: str | None = None, author: str | None = None
    ) -> TableUndropped:
        """Take a dropped table out of the trash, with its branches, tags, savepoints and log.

        id: Which one, if several of the name were dropped; the newest when left out.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(name, "undrop", TableUndropped, id=id, message=message, author=author)

    def delete_dropped(
        self, name: str, *, id: str | None = None, message: str | None = None, author: str | None = None
    ) -> DroppedDeleted:
        """Delete a dropped table for good, with all its files.

        id: Which one, if several of the name were dropped; the newest when left out.
        message: Why: goes into the log, and into the snapshot that it commits.
        author: Who made it, if not the user of this machine.
        """
        return self._do(name, "delete-dropped", DroppedDeleted, id=id, message=message, author=author)
