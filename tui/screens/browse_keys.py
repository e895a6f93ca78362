"""The keys of the browsing screen: what one does to the row under the cursor, and where one goes."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from tui.keymap import hidden
from tui.tabs import Tab

# By the ids of their bindings: keys for a row, which wait until there are rows. The others go elsewhere, or
# to what may still come.
FOR_ROWS = (
    "grid.",
    "pane.",
    "branches.",
    "schema.",
    "timeline.",
    "act.",
    "browse.diff",
    "browse.mark",
    "browse.peek",
    "browse.copy",
    "browse.record",
)
NOT_FOR_ROWS = ("grid.left", "grid.filter", "act.undo", "act.redo")
# What all others wait for may never come.
NEVER_WAIT = ("app.quit", "app.interrupt", "app.suspend", "query.leave")

# The keys that open the dialogs of actions.
ACTION_KEYS = {
    "create-savepoint": "s",
    "create-branch": "b",
    "create-tag": "t",
    "rename-tag": "T",
    "merge-branch": "m",
    "replace-main-branch": "R",
    "rollback": "B",
    "undo": "u",
    "redo": "U",
}


def _plans(id_: str, action: str, description: str, what: str, *, show: bool = True) -> Binding:
    tooltip = f"{what}: first the plan"
    return Binding(ACTION_KEYS[action], f"act('{action}')", description, tooltip=tooltip, show=show, id=id_)


BROWSE: list[BindingType] = [
    _plans("act.savepoint", "create-savepoint", "savepoint", "make a savepoint"),
    _plans("act.branch", "create-branch", "branch", "make a branch from the tag or savepoint"),
    _plans("act.tag", "create-tag", "tag", "name the snapshot"),
    _plans("act.rename", "rename-tag", "rename", "give the tag another name"),
    Binding("x", "delete", "delete", tooltip="delete the row: first the plan", id="act.delete"),
    _plans("act.merge", "merge-branch", "merge", "merge the branch"),
    _plans("act.replace", "replace-main-branch", "make main", "make the branch main"),
    _plans("act.rollback", "rollback", "roll back", "give main the rows of this version", show=False),
    _plans("act.undo", "undo", "undo", "take back the last change of the table that can be", show=False),
    _plans("act.redo", "redo", "redo", "do again what the last undo took back", show=False),
    Binding(
        "P",
        "protect",
        "protect",
        tooltip="switch stock expiry off on the branch: first the plan",
        id="act.protect",
    ),
    Binding(
        "D",
        "diff",
        "diff",
        tooltip="rows that differ: between two marked, from main to a branch, from a version to the head",
        id="browse.diff",
    ),
    hidden(
        "browse.mark", "space", "mark", "mark", "mark the row: s, t and x act on all marked, D compares two"
    ),
    hidden(
        "browse.mark_range", "V", "mark_range", "mark a range", "mark from here to wherever the cursor goes"
    ),
    Binding("p", "peek", "peek", tooltip="the first rows, without Spark", id="browse.peek"),
    Binding(
        "y", "copy", "copy", tooltip="copy the name of the row, or the row of a result", id="browse.copy"
    ),
    Binding("i", "record", "record", tooltip="show the whole record", id="browse.record"),
    Binding(
        "C",
        "chart",
        "chart",
        tooltip="rows, files and bytes over time; the histogram of a result's column",
        show=False,
        id="browse.chart",
    ),
    hidden("browse.copy_record", "Y", "copy_record", "copy the record as JSON"),
    Binding("r", "refresh", "refresh", tooltip="read it again", id="browse.refresh"),
    hidden("browse.zoom", "z", "zoom", "hide or show the tables"),
    hidden("browse.narrow", "{", "sidebar(-1)", "the tables at the left narrower"),
    hidden("browse.widen", "}", "sidebar(1)", "the tables at the left wider"),
    hidden("browse.log", "L", "log", "log", "show or hide the log"),
    hidden("browse.jobs", "J", "app.jobs", "jobs", "what runs in the background, and what has ended"),
    hidden("browse.back", "[", "step(-1)", "back", "to where one was before"),
    hidden("browse.forward", "]", "step(1)", "forward", "forward again"),
    hidden("browse.up", "escape", "up", "up", "out of a filter, then without marks, then to the tables"),
    *(hidden(f"tab.{tab.name.lower()}", tab.key, f"tab({tab:d})", tab.title) for tab in Tab),
]
