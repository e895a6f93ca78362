"""The keys that messages name: the defaults, or those of `[keys]` of the config file."""

from __future__ import annotations

from collections.abc import Mapping

# Global, because a process runs only one console.
_bound_anew: dict[str, str] = {}


def take_keys(written: Mapping[str, str]) -> None:
    """Set the rebound keys (by id, formatted for people) that messages name."""
    _bound_anew.clear()
    _bound_anew.update(written)


def key(id_: str, default: str) -> str:
    """The present key of a binding, formatted for people. The caller passes the default, to save imports."""
    return _bound_anew.get(id_, default)


def tab_key(name: str, default: str) -> str:
    """The key of a tab, by its name in lower case."""
    return _bound_anew.get(f"tab.{name}", default)


def palette_key() -> str:
    """The key of the palette that also works while typing: hints are read in an editor, too."""
    return key("app.palette_typing", "ctrl+p")


def delete_key() -> str:
    return key("act.delete", "x")


def columns_key() -> str:
    return key("grid.columns", "c")


def cancel_key() -> str:
    return key("app.interrupt", "ctrl+c")


def run_key() -> str:
    return key("query.run", "ctrl+r")


def quit_key() -> str:
    return key("app.quit", "ctrl+q")


def how_to_quit() -> str:
    return f"{quit_key()} quits."


def suspend_key() -> str:
    return key("app.suspend", "ctrl+z")


def unmark_key() -> str:
    return key("browse.up", "esc")


def unfilter_hint(*, in_dialog: bool) -> str:
    leave = key("dialog.close", "esc") if in_dialog else unmark_key()
    return f"{leave} takes the filter away."


def mark_key() -> str:
    return key("browse.mark", "space")
