"""The keys of the main screen: for actions on the row under the cursor, and for navigation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from textual.actions import parse
from textual.binding import Binding, BindingType
from textual.screen import Screen

from paimark.tui.keymap import hidden
from paimark.tui.named_keys import how_to_quit, key, present
from paimark.tui.records.row_actions import DELETE, KEYS, tabs_of
from paimark.tui.tabs import Tab
from paimark.tui.terminal.key_order import bindings_of, keymap, keys_of_node
from paimark.tui.widgets.key_bar import written

# Prefixes of binding ids: the keys for a row, which wait until there are rows. `NOT_FOR_ROWS` has exceptions,
# which go elsewhere, or also apply to rows that are not read yet.
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
# Keys that never wait, because the event that the others wait for may never come.
NEVER_WAIT = ("app.quit", "app.interrupt", "app.suspend", "query.leave")

# Actions that need a table.
OF_A_TABLE = ("act", "copy", "record", "copy_record", "mark", "diff", "changes", "peek", "protect")
# The ids of the most important bindings of a tab, which the key bar shows before the general ones.
FIRST_ON: Mapping[Tab, Sequence[str]] = {
    Tab.SAVEPOINTS: ("act.branch", "act.delete"),
    Tab.BRANCHES: ("act.merge", "act.replace", "act.delete"),
    Tab.TAGS: ("act.branch", "act.delete", "act.rename"),
    Tab.OPERATIONS: ("act.restore",),
}
# Keys that compare rows: two marked ones, or that under the cursor with another.
COMPARING = ("browse.diff", "browse.diff_before")
# The most tabs that the message for a key without effect on this tab names.
_MOST_NAMED = 5

# What keys do, by the ids of their bindings, for the message on a tab where they can't.
_DOES = {
    **{each.id: each.third for each in KEYS.values() if each.third},
    "act.protect": "switches expiry off on a branch",
    "browse.diff": "compares two versions",
    "browse.diff_before": "shows what a snapshot changed",
    "browse.mark": "marks a row",
    "browse.mark_range": "marks a range of rows",
    "browse.chart": "draws a chart",
    "branches.view": "shows a branch",
    "schema.older": "shows the schema before",
    "schema.newer": "shows the next schema",
    "timeline.jump": "goes to a time",
    "timeline.fold": "folds commits",
    "query.run": "runs the statement",
    "query.history": "shows earlier statements",
    "query.export": "writes the rows into a file",
    "query.edit": "opens the statement in $EDITOR",
    "query.row": "tells what happened to a row",
    "query.blame": "tells who wrote a row",
    "query.change": "edits rows",
    "sheet.new": "opens another query",
    "sheet.back": "goes to the query before",
    "sheet.next": "goes to the next query",
    "sheet.close": "closes the query",
    "sheet.open": "opens a .sql file",
    "sheet.save": "saves the query to a .sql file",
}

# Prefixes of binding ids: keys of a pane that also work while the tables have the focus.
_BESIDE = ("query.run", "query.history", "query.export", "sheet.", "branches.", "schema.", "timeline.")
# Keys that are for a row of a result, and do nothing while something else has the focus.
_OF_RESULT = ("query.row", "query.blame", "query.change")


BROWSE: list[BindingType] = [
    *(
        Binding(each.key, f"act('{name}')", each.label, tooltip=each.does, show=each.is_in_bar, id=each.id)
        for name, each in KEYS.items()
    ),
    Binding(
        "P",
        "protect",
        "expiry off",
        tooltip="switch stock expiry off on the branch",
        id="act.protect",
    ),
    Binding(
        "D",
        "diff",
        "diff",
        tooltip="rows that differ: between two marked, from main to a branch, from a version to the head",
        id="browse.diff",
    ),
    Binding(
        "=",
        "changes",
        "changes",
        tooltip="rows that this snapshot added, removed and changed",
        id="browse.diff_before",
    ),
    hidden(
        "browse.mark",
        "space",
        "mark",
        "mark",
        "mark the row: s, t and x act on all marked, D compares two",
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
        tooltip="records, files and bytes over time; the histogram of a result's column",
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


def keys_of_tabs() -> Mapping[Tab, Sequence[BindingType]]:
    """The keys that only the pane of one tab has. Imports every pane, which takes a moment."""
    from paimark.tui.panes.branches import BranchesPane
    from paimark.tui.panes.query import QueryPane
    from paimark.tui.panes.schema import SchemaPane
    from paimark.tui.panes.sheets.sheet import QuerySheet
    from paimark.tui.panes.timeline.timeline_pane import TimelinePane
    from paimark.tui.widgets.sql_editor import SqlEditor

    return {
        Tab.BRANCHES: BranchesPane.BINDINGS,
        Tab.SCHEMA: SchemaPane.BINDINGS,
        Tab.TIMELINE: TimelinePane.BINDINGS,
        Tab.QUERY: [*QueryPane.BINDINGS, *QuerySheet.BINDINGS, *SqlEditor.BINDINGS],
    }


def is_for_rows(binding: str) -> bool:
    """Whether the key with this id is for a row, of the tree or of a tab."""
    return binding not in NOT_FOR_ROWS and binding.startswith((*FOR_ROWS, "tables."))


async def heard_elsewhere(screen: Screen[Any], pressed: str, tab: Tab) -> str:
    """Handle a key that no focused widget handles; return why it has no effect, or an empty text.

    While the tables have the focus, the visible pane's own keys work, too.
    """
    panes = screen.query(f"#{tab.name.lower()}")
    if not panes or panes.first().has_focus_within:
        return why_not_here(screen, pressed, tab)
    for node in panes.first().walk_children(with_self=True):
        for binding in keys_of_node(node).get(pressed, ()):
            if node.display and (binding.id or "").startswith(_BESIDE):
                await screen.app.run_action(binding.action, node)
                return ""
            if node.display and binding.id in _OF_RESULT:
                return f"{written(pressed)} {_DOES[binding.id]}: go to one in the result"
    return why_not_here(screen, pressed, tab)


def why_not_here(screen: Screen[Any], pressed: str, tab: Tab) -> str:
    """A sentence with the tabs on which a key works; empty if it works on this one, or has no binding."""
    binding = next(bindings_of(screen, pressed), None)
    if binding is None:
        return how_to_quit() if pressed == "q" else _why_on_another(screen, pressed, tab)
    _, action, parameters = parse(binding.action)
    tabs = tabs_of(action, parameters)
    if tab in tabs:
        return ""
    if (parameters, tab) == ((DELETE,), Tab.SNAPSHOTS):
        return f"Snapshots go by expiry: `{key('app.palette')}` expire-snapshots deletes the oldest"
    return _where(binding, pressed, tabs, tab)


def _why_on_another(screen: Screen[Any], pressed: str, tab: Tab) -> str:
    """The same for a key that only the pane of another tab has."""
    from paimark.tui.keys.rebinding import keys_of

    for other, bindings in keys_of_tabs().items():
        for binding in (each for each in bindings if isinstance(each, Binding) and other is not tab):
            if pressed in keys_of(binding, keymap(screen.app)):
                return _where(binding, pressed, [other], tab)
    return ""


def _where(binding: Binding, pressed: str, tabs: Collection[Tab], here: Tab) -> str:
    """`m merges a branch: on 3 Branches, 7 Timeline and 8 Space`."""
    does = _DOES.get(binding.id or "", f"is for: {binding.tooltip or binding.description}")
    if len(tabs) > _MOST_NAMED:
        return f"{written(pressed)} {does}: not on {_key_of(here)} {here.title}"
    *titles, last = (f"{_key_of(each)} {each.title}" for each in sorted(tabs))
    return f"{written(pressed)} {does}: on {', '.join(titles)}{' and ' if titles else ''}{last}"


def _key_of(tab: Tab) -> str:
    return present(f"tab.{tab.name.lower()}", tab.key)
