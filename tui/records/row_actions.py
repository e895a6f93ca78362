"""From the row under the cursor to an action and its arguments."""

from __future__ import annotations

from core.table.definition.retention import retention_off
from core.table.layout import MAIN, SAVEPOINT_TAG_PREFIX
from tui.session import RowVersion, Target
from tui.tabs import Tab

# The action of `x`, by the tab it is pressed on.
DELETING = {Tab.SAVEPOINTS: "delete-savepoint", Tab.BRANCHES: "delete-branch", Tab.TAGS: "delete-tag"}
# Actions whose keys work on one tab alone.
ONLY_ON = {"merge-branch": Tab.BRANCHES, "replace-main-branch": Tab.BRANCHES, "rename-tag": Tab.TAGS}
# The action that switches stock expiry off on a branch.
PROTECTING = "alter-branch-schema"
# Actions on the table, whatever row the cursor is on.
OF_THE_TABLE = ("undo", "redo")
_OF_A_BRANCH = ("delete-branch", "merge-branch", "replace-main-branch")


def arguments_from(
    name: str, target: Target, version: RowVersion | None, *, newest: bool
) -> dict[str, object]:
    """The arguments that the dialog of action `name` starts with. The newest snapshot needs no number."""
    row = version or RowVersion()
    branch = row.branch or target.branch
    of_branch: dict[str, object] = {} if branch in (None, MAIN) else {"branch": branch}
    if name in ("create-savepoint", "create-tag"):
        number = None if newest else row.snapshot_id
        return of_branch if number is None else {"snapshot": number, **of_branch}
    if name in ("delete-tag", "rename-tag"):
        return {"name": row.tag, **of_branch} if row.tag is not None else of_branch
    if name == "delete-savepoint" and (row.tag or "").startswith(SAVEPOINT_TAG_PREFIX):
        return {"id": (row.tag or "").removeprefix(SAVEPOINT_TAG_PREFIX)}
    if name in _OF_A_BRANCH and of_branch:
        return {"name": branch}
    # Both know versions of main alone: a name of another branch may be another commit there.
    is_of_other = row.version is not None and row.branch not in (None, MAIN)
    if name == "create-branch" and row.tag is not None and not is_of_other:
        return {"tag": row.tag}
    if name == "rollback" and row.version is not None and not is_of_other:
        return {"to": row.version}
    return {}


def protection_of(branch: str | None) -> dict[str, object]:
    """The arguments that the dialog of `PROTECTING` starts with."""
    return {"branch": branch, "set": retention_off()}
