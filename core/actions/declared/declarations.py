"""Every action, in the order of `--help`. Those with a key are in the order of the key bar.

The methods of `paimark.methods` are made from it: `make methods`.
"""

from __future__ import annotations

from functools import partial

from paimark.core.actions.declared.declaration import Declaration, Key
from paimark.core.actions.declared.kinds import (
    Branch,
    BranchName,
    Choice,
    CommitId,
    ConsumerName,
    DroppedId,
    FileName,
    Flag,
    Number,
    OperationNumber,
    SavepointId,
    SnapshotId,
    SnapshotOfMain,
    TagName,
    TagOfMain,
    Text,
    Version,
)

__all__ = ["DECLARED"]

_BRANCH = Branch("branch", "Branch of the table; main when left out.")
_SNAPSHOT = SnapshotId("snapshot", "Id of the snapshot; the newest when left out.", many=True)
_DROPPED = DroppedId("id", "Which one, if several of the name were dropped; the newest when left out.")

_RESOLVE = FileName("resolve", "File of conflicts with what is chosen for each.")

# What is protected.
_THING = (
    TagName("tag", "Name of a tag."),
    SavepointId("savepoint", "Id of a savepoint."),
    Branch("branch", "Branch of the tag; without one, the branch itself. main is whichever branch is main."),
)

# What of a branch becomes main's.
_PUBLISHED = (
    FileName("check", "File of checks, SELECTs that must return no row; else the table's own file of them."),
    Number("up_to", "Publish exactly this snapshot of the branch, and none after it."),
)

_DELETE = Key(
    "x",
    "act.delete",
    "delete",
    "delete the savepoint, tag or branch",
    "deletes a savepoint, branch or tag",
)

_moving_main = partial(Declaration, moves_main=True, follows="commit")
_on_tags = partial(Declaration, follows="tag")

DECLARED: dict[str, Declaration] = {
    each.name: each
    for each in (
        _on_tags(
            "savepoints.create_savepoint",
            "Keep the full state of a table at one snapshot, through expiry and clean-up.",
            (
                SnapshotId(
                    "snapshot", "Id of the snapshot; the newest when left out.", many=True, of_newest=True
                ),
                _BRANCH,
                Text("comment", "Why it is kept."),
            ),
            result="SavepointCreated",
            key=Key("s", "act.savepoint", "savepoint", "make a savepoint"),
        ),
        _on_tags(
            "savepoints.auto_savepoint",
            "Make the savepoint that the table's option savepoint.create-interval says is due.",
            (Branch("branch", "Branch of the table; main when left out.", follows=False),),
            result="AutoSavepointDone",
            has_no_note=True,
        ),
        Declaration(
            "branches.create_branch",
            "Create a branch from a snapshot, tag or savepoint of main.",
            (
                Text("name", "Name of the branch.", required=True),
                TagOfMain("tag", "Tag of main; a savepoint is one: savepoint.3.", unless="snapshot"),
                SnapshotOfMain("snapshot", "Snapshot of main, in place of a tag: one is made for it."),
            ),
            more="The tag of a snapshot is deleted with the branch.",
            result="BranchCreated",
            changes={"create-branch": "branches.create_branch:CreateBranch"},
            key=Key("b", "act.branch", "branch", "make a branch from the snapshot, tag or savepoint"),
        ),
        _on_tags(
            "tags.create_tag",
            "Name a snapshot with a stock tag.",
            (
                Text("name", "Name of the tag; {id} in it is the snapshot's id.", required=True),
                _SNAPSHOT,
                _BRANCH,
                Text("retain", "How long it is kept (7 d, 12 h); for good when left out."),
            ),
            result="TagCreated",
            key=Key("t", "act.tag", "tag", "name the snapshot"),
        ),
        _on_tags(
            "tags.rename_tag",
            "Give a tag another name; its snapshot is kept all the time.",
            (
                TagName("name", "Name of the tag.", required=True),
                Text("to", "Its new name.", required=True),
                _BRANCH,
            ),
            more="Takes some seconds.",
            takes="object",
            result="TagRenamed",
            changes={"rename-tag": "tags.rename_tag:RenameTag"},
            key=Key("T", "act.rename", "rename", "give the tag another name", "renames a tag"),
        ),
        _on_tags(
            "savepoints.delete_savepoint",
            "Delete a savepoint, and every file that only it keeps.",
            (SavepointId("id", "Id of the savepoint.", required=True, many=True),),
            takes="object",
            result="SavepointDeleted",
            changes={"delete-savepoint": "savepoints.delete_savepoint:DeleteSavepoint"},
            key=_DELETE,
            asks=True,
        ),
        _on_tags(
            "tags.delete_tag",
            "Delete a tag, and every file that only it keeps.",
            (TagName("name", "Name of the tag.", required=True, many=True), _BRANCH),
            takes="object",
            result="TagDeleted",
            changes={"delete-tag": "tags.delete_tag:DeleteTag"},
            key=_DELETE,
            asks=True,
        ),
        Declaration(
            "branches.delete_branch",
            "Delete a branch, and every file that only it keeps.",
            (
                BranchName(
                    "name", "Name of the branch.", required=True, many=True, of_main="main can't be deleted"
                ),
                Flag("keep", "Only retire it: it keeps its files under another name."),
            ),
            takes="object",
            result="BranchDeleted",
            changes={
                "delete-branch": "branches.delete_branch:DeleteBranch",
                "retire-branch": "branches.rename_root:RetireBranch",
            },
            key=_DELETE,
            asks=True,
        ),
        Declaration(
            "branches.rename_branch",
            "Give a branch another name, with all that it has.",
            (
                BranchName("name", "Name of the branch.", required=True, of_main="main can't be renamed"),
                Text("to", "Its new name.", required=True),
            ),
            more="Stop its jobs first: they know its old name.",
            takes="object",
            result="BranchRenamed",
            changes={"rename-branch": "branches.rename_branch:RenameBranch"},
            asks=True,
        ),
        Declaration(
            "garbage.expire_snapshots",
            "Delete the oldest snapshots, and every file that only they keep.",
            (
                Number("retain_last", "How many of the newest stay."),
                Text("older_than", "Only those older than this (7 d, 2026-05-01 12:00)."),
                _BRANCH,
            ),
            more="Without the first two, the table's own options decide.",
            takes="branch",
            result="SnapshotsExpired",
            changes={"expire-snapshots": "garbage.expire_snapshots:ExpireSnapshots"},
            asks=True,
        ),
        Declaration(
            "garbage.reset_consumer",
            "Let a streaming reader go on at another snapshot, or forget it: expiry waits for it no longer.",
            (
                ConsumerName("name", "Name of the consumer: the consumer-id of its job.", required=True),
                Number("snapshot", "The snapshot that it reads next; when left out, it is forgotten."),
                _BRANCH,
            ),
            more="Stop its job first: a running one writes its own place again.",
            result="ConsumerReset",
            changes={"reset-consumer": "garbage.reset_consumer:ResetConsumer"},
            asks=True,
        ),
        Declaration(
            "compaction.compact",
            "Merge a table's files; the rows stay the same.",
            (
                Flag("full", "Merge all files of a bucket, not only what Paimon's rules choose."),
                Text("partition", "Only these partitions, by some of their values: day=2026-05-01."),
                _BRANCH,
            ),
            more="Paimon's library does it, which starts Spark.",
            result="Compacted",
            key=Key("Z", "act.compact", "compact", "merge the small files of the branch", is_in_bar=False),
        ),
        Declaration(
            "compaction.analyze",
            "Compute statistics of rows and columns, by which engines choose their plans.",
            (
                Text("columns", "Of which columns: a, b; * for all. Only of the rows when left out."),
                _BRANCH,
            ),
            more="Spark reads the columns, and Paimon's library commits the statistics.",
            result="Analyzed",
        ),
        Declaration(
            "protection.protect",
            "Protect a branch, tag or savepoint: no action lets it go, replaces it or rolls it back.",
            (
                Text("reason", "Why: a refusal says it.", required=True),
                *_THING,
            ),
            more="Without a tag or a savepoint, the branch itself. Other engines know nothing of it.",
            result="ProtectionSet",
            changes={"protect": "protection.protect:SetProtection"},
        ),
        Declaration(
            "protection.unprotect",
            "End the protection of a branch, tag or savepoint.",
            _THING,
            result="ProtectionSet",
            changes={"unprotect": "protection.protect:SetProtection"},
        ),
        Declaration(
            "schema.alter_branch_schema",
            "Change the columns or options of a table, on any branch.",
            (
                Text("add", "Columns to add: c INT, d STRING COMMENT 'why' AFTER c."),
                Text("drop", "Columns to drop: a, b."),
                Text("rename", "A column's new name: a TO b."),
                Text("widen", "A column's wider type: c BIGINT."),
                Text("nullable", "Columns that may be null from now on: c."),
                Text("set", "Table options: 'option' = 'value'."),
                Text("unset", "Table options to take out: 'option'."),
                _BRANCH,
            ),
            result="SchemaAltered",
            changes={"alter-branch-schema": "schema.alter_branch_schema:AlterSchema"},
        ),
        _moving_main(
            "merge.merge_branch",
            "Bring into main, or another branch, what a branch changed since their fork, or the last merge.",
            (
                BranchName(
                    "name",
                    "Name of the branch.",
                    required=True,
                    of_main="main is what a branch is merged into",
                ),
                Branch("into", "Branch to merge into; main when left out.", follows=False),
                Choice(
                    "on_conflict",
                    "Who wins: fail (nobody), branch or main, which is what is merged into.",
                    default="fail",
                    among=("fail", "branch", "main"),
                ),
                _RESOLVE,
                Flag(
                    "drop_columns", "Main, or what is merged into, loses columns too that the branch dropped."
                ),
                *_PUBLISHED,
            ),
            more="A conflict is a key that both changed to different rows; `merge-branch --conflicts-out` "
            "writes the file to choose in. Spark starts, unless main can go on with the branch's commits.",
            takes="branch",
            result="BranchMerged",
            changes={"merge-branch": "merge.changes:MergeRows", "fast-forward": "merge.changes:FastForward"},
            key=Key("m", "act.merge", "merge", "merge the branch", "merges a branch"),
        ),
        _moving_main(
            "replace.replace_main_branch",
            "Make a branch main; its jobs keep running.",
            (
                BranchName("name", "Name of the branch.", required=True, of_main="main is main already"),
                Choice(
                    "layout",
                    "pointer (the default): readers are led to the branch; overwrite: main gets the branch's "
                    "rows.",
                    default="pointer",
                    among=("pointer", "overwrite"),
                ),
                Flag("drop_previous", "Do not keep the previous main as a branch."),
                *_PUBLISHED,
            ),
            more="To overwrite starts Spark, and so do checks.",
            takes="branch",
            result="MainReplaced",
            changes={
                "replace-main-branch": "replace.replace_main_branch:ReplaceMain",
                "overwrite-main": "replace.overwrite:OverwriteMain",
            },
            key=Key("R", "act.replace", "make main", "make the branch main", "makes a branch main"),
            asks=True,
        ),
        Declaration(
            "branches.rescue_commits",
            "Make a branch of what a stale writer left in the table directory while a branch is main.",
            (Text("name", "Name of the branch to make.", required=True),),
            result="CommitsRescued",
            changes={"rescue-commits": "branches.rescue_commits:RescueCommits"},
        ),
        _moving_main(
            "rollback.rollback",
            "Give main the rows of an earlier version, as one new commit.",
            (
                Version("to", "snapshot.N, savepoint.N, a tag, or a time.", required=True),
                Flag("truncate", "Let main end there: what came later becomes a branch."),
            ),
            more="Spark makes that commit. Before you truncate, stop the writers.",
            takes="branch",
            result="RolledBack",
            changes={
                "rollback": "rollback.rollback:Rollback",
                "truncate": "rollback.truncate:Truncate",
            },
            key=Key("B", "act.rollback", "roll back", "give main the rows of this version", is_in_bar=False),
            asks=True,
        ),
        _moving_main(
            "repair.revert",
            "Take back what one commit did, and keep what came later, as one new commit.",
            (
                CommitId("snapshot", "Id of the snapshot whose commit is taken back.", required=True),
                Choice(
                    "on_conflict",
                    "What a row gets that changed since: fail (nothing is written), now (it stays) or then.",
                    default="fail",
                    among=("fail", "now", "then"),
                ),
                _RESOLVE,
                _BRANCH,
            ),
            more="Paimon's library makes that commit, which starts Spark.",
            takes="branch",
            result="Reverted",
            key=Key("-", "act.revert", "revert", "take back what this commit did", is_in_bar=False),
            asks=True,
        ),
        _moving_main(
            "repair.restore_rows",
            "Give some rows what they were at a version, as one new commit; all others stay.",
            (
                Version(
                    "from_version",
                    "snapshot.N, savepoint.N, a tag, or a time: the rows become what they were then.",
                    required=True,
                    flag="from",
                ),
                Text("where", "A condition, as after WHERE: rows that it is true of, then or now."),
                Text("partition", "The rows of these partitions, by some of their values: day=2026-05-01."),
                Text("keys", 'These keys: 42, 43; or JSON, {"id": 42}; or @FILE with one a line.'),
                Choice(
                    "on_conflict",
                    "What a row gets that several commits changed: fail (nothing is written), now or then.",
                    default="fail",
                    among=("fail", "now", "then"),
                ),
                _RESOLVE,
                _BRANCH,
            ),
            more="Paimon's library makes that commit, which starts Spark.",
            takes="branch",
            result="RowsRestored",
            asks=True,
        ),
        _moving_main(
            "repair.edit_rows",
            "Change cells of rows with a key, add rows and delete rows, as one commit.",
            (
                FileName("file", "File of the edits, a JSON object a line.", required=True),
                Text("read_at", "The version that the rows were read at; the newest when left out."),
                Choice(
                    "on_conflict",
                    "What a row gets that changed since: fail (nothing is written), now or edited.",
                    default="fail",
                    among=("fail", "now", "edited"),
                ),
                _RESOLVE,
                _BRANCH,
            ),
            more='An edit is {"key": {"id": 42}, "set": {"price": 5}}, or with "add" and the cells of a '
            'new row, or with "delete": true. Paimon\'s library makes the commit, which starts Spark.',
            takes="branch",
            result="RowsEdited",
            asks=True,
        ),
        _moving_main(
            "undo.undo",
            "Take back the last change that can be taken back.",
            (Flag("replacement", "The last replacement, though main moved on since a merge."),),
            result="Undone",
            changes={
                "undo-commit": "undo.commit:UndoCommit",
                "undo-replacement": "undo.replacement:UndoReplacement",
                "undo-retirement": "undo.retirement:UndoRetirement",
                "undo-truncation": "undo.truncation:UndoTruncation",
            },
            key=Key("u", "act.undo", "undo", "take back the last change of the table", is_in_bar=False),
        ),
        _moving_main(
            "undo.redo",
            "Do again what the last undo took back.",
            more="The result is that of the action that was done again.",
            key=Key("U", "act.redo", "redo", "do again what the last undo took back", is_in_bar=False),
        ),
        _moving_main(
            "undo.restore",
            "Undo or redo until an operation of the log is the last that counts.",
            (OperationNumber("to", "Number of the operation; 0 for before all of them.", required=True),),
            key=Key(
                "W", "act.restore", "back to it", "go back to this operation", "goes back to an operation"
            ),
            result="Restored",
        ),
        Declaration(
            "tables.rename_table",
            "Give a table another name, with its branches, tags, savepoints and log.",
            (Text("to", "Its new name, or database.name.", required=True),),
            result="TableRenamed",
            changes={"rename-table": "tables.rename_table:RenameTable"},
            asks=True,
        ),
        Declaration(
            "tables.drop_table",
            "Move a table to the trash of its database; undrop takes it out again.",
            takes="table",
            result="TableDropped",
            changes={"drop-table": "tables.drop_table:DropTable"},
            asks=True,
        ),
        Declaration(
            "tables.undrop",
            "Take a dropped table out of the trash, with its branches, tags, savepoints and log.",
            (_DROPPED,),
            result="TableUndropped",
            changes={"undrop": "tables.undrop:Undrop"},
            of_no_table=True,
        ),
        Declaration(
            "tables.delete_dropped",
            "Delete a dropped table for good, with all its files.",
            (_DROPPED,),
            result="DroppedDeleted",
            asks=True,
            of_no_table=True,
        ),
        Declaration(
            "recover",
            "Finish or undo a change that was interrupted.",
            (
                Choice(
                    "assume",
                    "committed or not-committed: whether the commit was made, if no file shows it any more.",
                    among=("committed", "not-committed"),
                ),
                Branch(
                    "main",
                    "The branch to make main, if the branch that is main was lost.",
                    follows=False,
                ),
            ),
            result="Recovered",
            changes={"restore-main": "replace.point_main:RestoreMain"},
            moves_main=True,
        ),
    )
}
