"""The kinds of change by the names that plans and journals contain. Importing it imports none of them."""

from __future__ import annotations

import importlib
from typing import Any, cast

from paimark.core.actions.change.change import Change
from paimark.core.errors import Refused

# The name in a journal, and the location of the class.
CHANGES = {
    "alter-branch-schema": "paimark.core.actions.schema.alter_branch_schema:AlterSchema",
    "create-branch": "paimark.core.actions.branches.create_branch:CreateBranch",
    "delete-branch": "paimark.core.actions.branches.delete_branch:DeleteBranch",
    "delete-savepoint": "paimark.core.actions.savepoints.delete_savepoint:DeleteSavepoint",
    "delete-tag": "paimark.core.actions.tags.delete_tag:DeleteTag",
    "drop-table": "paimark.core.actions.tables.drop_table:DropTable",
    "expire-snapshots": "paimark.core.actions.garbage.expire_snapshots:ExpireSnapshots",
    "merge-branch": "paimark.core.actions.merge.merge_branch:MergeBranch",
    "overwrite-main": "paimark.core.actions.replace.overwrite:OverwriteMain",
    "replace-main-branch": "paimark.core.actions.replace.replace_main_branch:ReplaceMain",
    "rename-table": "paimark.core.actions.tables.rename_table:RenameTable",
    "rename-tag": "paimark.core.actions.tags.rename_tag:RenameTag",
    "rescue-commits": "paimark.core.actions.branches.rescue_commits:RescueCommits",
    "restore-main": "paimark.core.actions.replace.restore_main:RestoreMain",
    "retire-branch": "paimark.core.actions.branches.retire_branch:RetireBranch",
    "rollback": "paimark.core.actions.rollback.rollback:Rollback",
    "truncate": "paimark.core.actions.rollback.truncate:Truncate",
    "undo-commit": "paimark.core.actions.undo.commit:UndoCommit",
    "undo-replacement": "paimark.core.actions.undo.replacement:UndoReplacement",
    "undo-retirement": "paimark.core.actions.undo.retirement:UndoRetirement",
    "undo-truncation": "paimark.core.actions.undo.truncation:UndoTruncation",
}


def change_named(name: str) -> type[Change[Any]]:
    """The class of a change. Raises `Refused` for a name that this version does not know."""
    if name not in CHANGES:
        raise Refused(
            f"This version can't recover {name}", "Recover it with the version of Paimark that began it."
        )
    module, _, kind = CHANGES[name].partition(":")
    return cast(type[Change[Any]], getattr(importlib.import_module(module), kind))
