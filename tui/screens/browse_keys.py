"""The keys of the browsing screen: what one does to the row under the cursor, and where one goes."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from tui.tabs import Tab

# By the ids of their bindings: keys for a row, which wait until there are rows. The others go elsewhere, or
# to what may still come.
FOR_ROWS = (
    "grid.",
    "pane.",
    "branches.",
    "schema.",
    "act.",
    "browse.diff",
    "browse.mark",
    "browse.peek",
    "browse.copy",
    "browse.record",
)
NOT_FOR_ROWS = ("grid.left", "grid.filter", "act.undo", "act.redo")

BROWSE: list[BindingType] = [
    Binding(
        "s",
        "act('create-savepoint')",
        "savepoint",
        tooltip="make a savepoint: first its plan",
        id="act.savepoint",
    ),
    Binding(
        "b",
        "act('create-branch')",
        "branch",
        tooltip="make a branch from the tag or savepoint: first its plan",
        id="act.branch",
    ),
    Binding("t", "act('create-tag')", "tag", tooltip="name the snapshot: first its plan", id="act.tag"),
    Binding(
        "T",
        "act('rename-tag')",
        "rename",
        tooltip="give the tag another name: first the plan",
        id="act.rename",
    ),
    Binding("x", "delete", "delete", tooltip="delete the row: first the plan", id="act.delete"),
    Binding("m", "act('merge-branch')", "merge", tooltip="merge the branch: first the plan", id="act.merge"),
    Binding(
        "R",
        "act('replace-main-branch')",
        "make main",
        tooltip="make the branch main: first the plan",
        id="act.replace",
    ),
    Binding(
        "B",
        "act('rollback')",
        "roll back",
        tooltip="give main the rows of this version: first the plan",
        show=False,
        id="act.rollback",
    ),
    Binding(
        "u",
        "act('undo')",
        "undo",
        tooltip="take back the last change of the table that can be: first the plan",
        show=False,
        id="act.undo",
    ),
    Binding(
        "U",
        "act('redo')",
        "redo",
        tooltip="do again what the last undo took back: first the plan",
        show=False,
        id="act.redo",
    ),
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
    Binding("space", "mark", "mark", tooltip="mark the row, to compare it", show=False, id="browse.mark"),
    Binding("p", "peek", "peek", tooltip="the first rows, without Spark", id="browse.peek"),
    Binding(
        "y", "copy", "copy", tooltip="copy the name of the row, or the row of a result", id="browse.copy"
    ),
    Binding("i", "record", "record", tooltip="show the whole record", id="browse.record"),
    Binding("Y", "copy_record", "copy the record as JSON", show=False, id="browse.copy_record"),
    Binding("r", "refresh", "refresh", tooltip="read it again", id="browse.refresh"),
    Binding("z", "zoom", "hide or show the tables", show=False, id="browse.zoom"),
    Binding("L", "log", "log", tooltip="show or hide the log", show=False, id="browse.log"),
    Binding("[", "step(-1)", "back", tooltip="to where one was before", show=False, id="browse.back"),
    Binding("]", "step(1)", "forward", tooltip="forward again", show=False, id="browse.forward"),
    Binding(
        "escape",
        "up",
        "up",
        tooltip="out of a filter, then without marks, then to the tables",
        show=False,
        id="browse.up",
    ),
    *(Binding(tab.key, f"tab({tab:d})", tab.title, show=False, id=f"tab.{tab.name.lower()}") for tab in Tab),
]
