"""The actions on the row under the cursor, and their arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from paimark.core.table.definition.retention import retention_off
from paimark.core.table.layout import MAIN, PIN_PREFIXES, SAVEPOINT_TAG_PREFIX
from paimark.tui.named_keys import tab_key
from paimark.tui.session import RowVersion, Target
from paimark.tui.tabs import Tab

# Stands for the action of `x` on panes with objects of several kinds: the pane chooses the action.
DELETE = "delete"
# The action of `x`, by tab.
DELETING = {
    Tab.SAVEPOINTS: "delete-savepoint",
    Tab.BRANCHES: "delete-branch",
    Tab.TAGS: "delete-tag",
    Tab.TIMELINE: DELETE,
    Tab.SPACE: DELETE,
}
_WITH_BRANCHES = (Tab.BRANCHES, Tab.TIMELINE, Tab.SPACE)
# Actions whose keys work only on some tabs.
ONLY_ON = {
    "merge-branch": _WITH_BRANCHES,
    "replace-main-branch": _WITH_BRANCHES,
    "rename-tag": (Tab.TAGS, Tab.TIMELINE, Tab.SPACE),
}
# The action that switches stock expiry off on a branch.
PROTECTING = "alter-branch-schema"
PROTECTED_ON = _WITH_BRANCHES
# The tabs that show a branch over time, and the query pane, which has histograms.
CHARTED = (Tab.SNAPSHOTS, Tab.TIMELINE, Tab.SPACE, Tab.QUERY)
_WITH_VERSIONS = tuple(tab for tab in Tab if tab is not Tab.QUERY)
_WITH_ROWS_OF_VERSIONS = tuple(tab for tab in _WITH_VERSIONS if tab is not Tab.SCHEMA)
_WITH_SNAPSHOTS = tuple(tab for tab in _WITH_ROWS_OF_VERSIONS if tab is not Tab.BRANCHES)
# Actions on the table, independent of the row under the cursor. An expiry is not among them: who marked
# snapshots, or is on one, may mean those.
OF_THE_TABLE = (
    *("undo", "redo", "restore", "recover", "auto-savepoint", "rescue-commits"),
    *("drop-table", "rename-table"),
)
_DELETE_TAG, _RENAME_TAG = "delete-tag", "rename-tag"
_OF_A_BRANCH = ("delete-branch", "merge-branch", "replace-main-branch")
# The argument that names the object of an action, and a sentence for a row without such an object.
_OBJECTS = {
    "delete-savepoint": ("id", "Go to a savepoint: there is none here to delete"),
    _DELETE_TAG: ("name", "Go to a tag: there is none here to delete"),
    _RENAME_TAG: ("name", "Go to a tag: there is none here to rename"),
    "delete-branch": ("name", "Go to a branch: main can't be deleted"),
    "merge-branch": ("name", "Go to a branch: main is what a branch is merged into"),
    "replace-main-branch": ("name", "Go to a branch: main is main already"),
}


def tabs_of(action: str, parameters: Sequence[object]) -> Collection[Tab]:
    """The tabs on which an action of the main screen is available."""
    match action:
        case "delete":
            return DELETING
        case "act":
            return ONLY_ON.get(str(parameters[0]), tuple(Tab))
        case "chart":
            return CHARTED
        case "protect":
            return PROTECTED_ON
        case "diff":
            return _WITH_VERSIONS
        case "mark" | "mark_range":
            return _WITH_ROWS_OF_VERSIONS
        case "changes":
            return _WITH_SNAPSHOTS
    return tuple(Tab)


class RowAction(msgspec.Struct, frozen=True):
    """An action on an object of a row; `label` is the name of the object for people."""

    action: str
    arguments: Mapping[str, object]
    label: str


class RowActions(msgspec.Struct, frozen=True):
    """The objects that a key may act on; if there are none, `why_none` is the reason."""

    choices: Sequence[RowAction]
    why_none: str = ""


def on_tag(action: str, name: str, branch: str | None) -> RowAction:
    """Delete or rename a tag of a branch (None for main). For a savepoint's tag: delete the savepoint."""
    number = name.removeprefix(SAVEPOINT_TAG_PREFIX)
    if action == DELETE and is_savepoints(name):
        return RowAction("delete-savepoint", {"id": number}, f"savepoint {number}")
    where = {} if branch is None else {"branch": branch}
    what = "delete-tag" if action == DELETE else action
    return RowAction(what, {"name": name, **where}, f"tag {name} of {branch or MAIN}")


def on_branch(action: str, name: str) -> RowAction:
    """Delete, merge or protect a branch, or make it main."""
    if action == PROTECTING:
        return RowAction(action, protection_of(name), f"branch {name}")
    return RowAction("delete-branch" if action == DELETE else action, {"name": name}, f"branch {name}")


def arguments_from(
    name: str, target: Target, version: RowVersion | None, *, newest: bool
) -> dict[str, object]:
    """The initial arguments for the dialog of action `name`. The newest snapshot needs no id."""
    row = version or RowVersion()
    branch = _branch_of(row, target)
    of_branch: dict[str, object] = {} if branch is None else {"branch": branch}
    if name in ("create-savepoint", "create-tag"):
        number = None if newest else row.snapshot_id
        return of_branch if number is None else {"snapshot": number, **of_branch}
    if name in (_DELETE_TAG, _RENAME_TAG):
        return of_branch if row.tag is None or is_savepoints(row.tag) else {"name": row.tag, **of_branch}
    if name == "delete-savepoint" and row.tag is not None and is_savepoints(row.tag):
        return {"id": row.tag.removeprefix(SAVEPOINT_TAG_PREFIX)}
    if name in _OF_A_BRANCH and branch is not None:
        return {"name": branch}
    # Both actions accept only versions of main: the same name on another branch may be another commit.
    if name == "create-branch" and branch is None:
        is_pin = row.tag is not None and row.tag.startswith(PIN_PREFIXES)
        # A row whose snapshot has expired is read by its tag, whoever gave that.
        if row.snapshot_id is not None and (row.tag is None or (is_pin and row.version != row.tag)):
            return {"snapshot": row.snapshot_id}
        return {} if row.tag is None else {"tag": row.tag}
    if name == "rollback" and row.version is not None and branch is None:
        return {"to": row.version}
    return {}


def _branch_of(row: RowVersion, target: Target) -> str | None:
    """The branch of a row of this target; None for main."""
    branch = row.branch or target.branch
    return None if branch == MAIN else branch


def why_no_object(name: str, arguments: Mapping[str, object], version: RowVersion | None) -> str:
    """Why the key of an action does nothing on a row without an object for it; empty if it has one.

    A dialog with an empty name would take the next key, meant for the row, for the name.
    """
    argument, reason = _OBJECTS.get(name, ("", ""))
    if argument in arguments:
        return ""
    tag = "" if version is None else version.tag or ""
    return why_savepoints(name, tag) if name in (_DELETE_TAG, _RENAME_TAG) and is_savepoints(tag) else reason


def is_savepoints(tag: str) -> bool:
    """Whether a tag belongs to a savepoint: it goes when that is deleted, and keeps its name."""
    return tag.startswith(SAVEPOINT_TAG_PREFIX)


def why_savepoints(action: str, tag: str) -> str:
    """Whose the tag of a savepoint is, and where that is deleted; it can't be renamed."""
    whose = f"This tag belongs to savepoint {tag.removeprefix(SAVEPOINT_TAG_PREFIX)}"
    where = f"{tab_key('savepoints', '2')} {Tab.SAVEPOINTS.title}"
    return f"{whose} and keeps its name." if action == _RENAME_TAG else f"{whose}: delete that on {where}."


def protection_of(branch: str | None) -> dict[str, object]:
    """The initial arguments for the dialog of `PROTECTING`."""
    return {"branch": branch, "set": retention_off()}
