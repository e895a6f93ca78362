"""The kinds of change by name, as plans and journals have them. Importing it imports none of them."""

from __future__ import annotations

import importlib
from typing import Any, cast

from core.actions.change.change import Change
from core.errors import Refused

# The name that stands in a journal, and where the kind of change is.
CHANGES = {
    "alter-branch-schema": "core.actions.alter_schema:AlterSchema",
    "create-branch": "core.actions.branches:CreateBranch",
    "delete-branch": "core.actions.delete_branch:DeleteBranch",
    "delete-savepoint": "core.actions.delete_savepoint:DeleteSavepoint",
    "delete-tag": "core.actions.delete_tag:DeleteTag",
    "expire-snapshots": "core.actions.expire:ExpireSnapshots",
    "merge-branch": "core.actions.merge:MergeBranch",
    "overwrite-main": "core.actions.replace_overwrite:OverwriteMain",
    "replace-main-branch": "core.actions.replace_main:ReplaceMain",
    "rescue-commits": "core.actions.rescue:RescueCommits",
    "restore-main": "core.actions.restore_main:RestoreMain",
    "retire-branch": "core.actions.retire_branch:RetireBranch",
    "rollback": "core.actions.rollback:Rollback",
    "truncate": "core.actions.rollback_truncate:Truncate",
    "undo-commit": "core.actions.undo_commit:UndoCommit",
    "undo-replacement": "core.actions.undo_replacement:UndoReplacement",
    "undo-retirement": "core.actions.undo_retirement:UndoRetirement",
    "undo-truncation": "core.actions.undo_truncation:UndoTruncation",
}


def change_named(name: str) -> type[Change[Any]]:
    """Raises `Refused` for one that this version does not know."""
    if name not in CHANGES:
        raise Refused(
            f"This version can't recover {name}", "Recover it with the version of Paimark that began it."
        )
    module, _, kind = CHANGES[name].partition(":")
    return cast(type[Change[Any]], getattr(importlib.import_module(module), kind))
