"""The keys that messages name: the defaults, or those of `[keys]` of the config file."""

from __future__ import annotations

from collections.abc import Mapping

# The keys that sentences name, as people read them: to import a class for its binding costs time. A test
# compares them with the bindings.
DEFAULTS = {
    "act.branch": "b",
    "act.delete": "x",
    "act.protect": "P",
    "act.redo": "U",
    "act.savepoint": "s",
    "act.tag": "t",
    "act.undo": "u",
    "app.interrupt": "ctrl+c",
    "app.palette": ":",
    "app.palette_typing": "ctrl+p",
    "app.quit": "ctrl+q",
    "app.suspend": "ctrl+z",
    "browse.diff": "D",
    "browse.diff_before": "=",
    "browse.jobs": "J",
    "browse.log": "L",
    "browse.mark": "space",
    "browse.mark_range": "V",
    "browse.peek": "p",
    "browse.record": "i",
    "browse.refresh": "r",
    "browse.up": "esc",
    "confirm.down": "j",
    "conflicts.row_branch": "B",
    "conflicts.row_main": "M",
    "conflicts.row_neither": "N",
    "dialog.close": "esc",
    "dialog.page_down": "pgdn",
    "dialog.steps": "i",
    "difference.again": "r",
    "difference.next": ">",
    "difference.take_back": "t",
    "edit.null": "N",
    "editor.tab": "tab",
    "grid.columns": "c",
    "grid.whole_column": "w",
    "pane.query": "enter",
    "query.history": "ctrl+o",
    "query.leave": "esc",
    "query.run": "ctrl+r",
    "sheet.close": "ctrl+g",
    "sheet.new": "ctrl+t",
    "sheet.open": "ctrl+f",
    "sheet.save": "ctrl+s",
    "tab.branches": "3",
    "tab.query": "6",
    "tab.savepoints": "2",
    "tab.space": "8",
    "tab.tags": "4",
    "tab.timeline": "7",
    "text.down": "j",
    "tour.accept": "enter",
    "tour.decline": "esc",
}
# Global, because a process runs only one console.
_bound_anew: dict[str, str] = {}


def take_keys(written: Mapping[str, str]) -> None:
    """Set the rebound keys (by id, formatted for people) that messages name."""
    _bound_anew.clear()
    _bound_anew.update(written)


def key(id_: str) -> str:
    """The present key of a binding, formatted for people."""
    return present(id_, DEFAULTS[id_])


def present(id_: str, default: str) -> str:
    """The same of a binding that is at hand, with its own key."""
    return _bound_anew.get(id_, default)


def palette_key() -> str:
    """The key of the palette that also works while typing: hints are read in an editor, too."""
    return key("app.palette_typing")


def delete_key() -> str:
    return key("act.delete")


def columns_key() -> str:
    return key("grid.columns")


def cancel_key() -> str:
    return key("app.interrupt")


def run_key() -> str:
    return key("query.run")


def quit_key() -> str:
    return key("app.quit")


def how_to_quit() -> str:
    return f"{quit_key()} quits."


def suspend_key() -> str:
    return key("app.suspend")


def unmark_key() -> str:
    return key("browse.up")


def unfilter_hint(*, in_dialog: bool) -> str:
    leave = key("dialog.close") if in_dialog else unmark_key()
    return f"{leave} takes the filter away."


def mark_key() -> str:
    return key("browse.mark")
