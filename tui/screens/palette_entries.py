"""The entries of the palette: panes, actions, tables, other warehouses, and the console's own commands."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual.app import App

from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.config import Flags, Settings, config_path, load_settings, read_config
from paimark.core.errors import PaimarkError
from paimark.core.storage.option_values import require_options
from paimark.core.text import clean_text
from paimark.tui.dialogs.palette import PaletteEntry
from paimark.tui.messages import Say
from paimark.tui.named_keys import cancel_key, key
from paimark.tui.panes.pane import Pane
from paimark.tui.query.ready_statements import holders_statement, try_statement, when_statement
from paimark.tui.session import Session, Target
from paimark.tui.tabs import Tab

if TYPE_CHECKING:
    from paimark.tui.panes.query import QueryPane
    from paimark.tui.screens.browse import BrowseScreen


def entries(browse: BrowseScreen, own: Sequence[PaletteEntry], keys: Mapping[str, str]) -> list[PaletteEntry]:
    """All entries, the most wanted first; typing finds any. `own` are the application's.

    `keys` maps the default keys to the keys that they were rebound to.
    """

    def named(listed: list[PaletteEntry]) -> list[PaletteEntry]:
        return [replace(each, keys=keys.get(each.keys, each.keys)) for each in listed]

    queries = query_entries(partial(browse.open_tab, Tab.QUERY))
    return [*named(_of_the_table(browse)), *queries, *named(_of_the_console(browse, own))]


def _of_the_table(browse: BrowseScreen) -> list[PaletteEntry]:
    offered = [
        PaletteEntry(
            change.title, f"running, {change.elapsed}", "", partial(browse.dialogs.open_running, change)
        )
        for change in browse.session.changes
    ]
    if browse.target is not None:
        open_action = partial(browse.dialogs.open_action, by_name=True)
        offered += [
            PaletteEntry(name, each.summary, each.key.key if each.key else "", partial(open_action, name))
            for name, each in DECLARED.items()
            if not each.of_no_table
        ]
    offered += [
        PaletteEntry(name, each.summary, "", partial(browse.dialogs.open_dropped, name))
        for name, each in DECLARED.items()
        if each.of_no_table
    ]
    offered += [PaletteEntry(tab.name.lower(), "pane", tab.key, partial(browse.open_tab, tab)) for tab in Tab]
    if browse.target is not None:
        offered += [
            PaletteEntry("diff", "rows that differ between two versions", "D", browse.action_diff),
            PaletteEntry("changes", "rows that one snapshot changed", "=", browse.action_changes),
            PaletteEntry(
                "chart", "records, files and bytes over time, or a histogram", "C", browse.action_chart
            ),
            PaletteEntry(
                "when", "since when there are rows of a condition", "", partial(browse.ask, when_statement)
            ),
            PaletteEntry(
                "holders",
                "which versions still have rows of a condition",
                "",
                partial(browse.ask, holders_statement),
            ),
            PaletteEntry(
                "try", "a script on a branch, checked, and published", "", partial(browse.ask, try_statement)
            ),
            PaletteEntry("peek", "the first rows, without Spark", "p", browse.action_peek),
            PaletteEntry("expiry off", "switch stock expiry off on the branch", "P", browse.action_protect),
        ]
    return offered


def _of_the_console(browse: BrowseScreen, own: Sequence[PaletteEntry]) -> list[PaletteEntry]:
    offered = [
        PaletteEntry("log", "what was done, and what went wrong", "L", browse.action_log),
        PaletteEntry("refresh", "read the pane again", "r", browse.action_refresh),
        PaletteEntry("zoom", "hide or show the tables", "z", browse.action_zoom),
        PaletteEntry("wider tables", "the tables at the left", "}", partial(browse.action_sidebar, 1)),
        PaletteEntry("narrower tables", "the tables at the left", "{", partial(browse.action_sidebar, -1)),
        *own,
    ]
    for tables in browse.tables.tables.values():
        if isinstance(tables, list):
            offered += [
                PaletteEntry(table.full_name, "table", "", partial(browse.show_table, Target(table)))
                for table in tables
            ]
    return offered


def query_entries(open_pane: Callable[[], Awaitable[Pane]]) -> list[PaletteEntry]:
    """`open_pane` goes to the query pane. The entries show the present keys, rebound or not."""

    def entry(name: str, what: str, keys: str, act: Callable[[QueryPane], Awaitable[None]]) -> PaletteEntry:
        async def run() -> None:
            from paimark.tui.panes.query import QueryPane

            pane = await open_pane()
            assert isinstance(pane, QueryPane)
            await act(pane)

        return PaletteEntry(name, what, keys, run)

    new, close = key("sheet.new"), key("sheet.close")
    opened, save = key("sheet.open"), key("sheet.save")
    return [
        entry("new query", "another one beside those there are", new, lambda it: it.action_new()),
        entry("close query", "the one in view", close, lambda it: it.action_shut()),
        entry("open file", "a .sql file as a query", opened, lambda it: it.action_open()),
        entry("save file", "the query to its .sql file", save, lambda it: it.action_save()),
        entry("save as", "the query to another .sql file", "", lambda it: it.action_save_as()),
    ]


def own_entries(app: App[Any], themes: Sequence[str]) -> list[PaletteEntry]:
    """`themes` are the names of all themes."""

    def offered(name: str, what: str, key: str, action: str) -> PaletteEntry:
        return PaletteEntry(name, what, key, partial(app.run_action, action))

    colours = [
        PaletteEntry(
            f"theme {each.removeprefix('paimark-')}", "colours", "", partial(setattr, app, "theme", each)
        )
        for each in themes
    ]
    return [
        offered("keys", "all keys", "?", "help"),
        offered("jobs", "what runs, and what has ended lately", "J", "jobs"),
        offered("columns", "go to, hide, move, sort", "c", "choose_columns"),
        *colours,
        offered("tour", "ten minutes with the demo, step by step", "", "tour"),
        offered("mouse", "on or off", "M", "mouse"),
        replace(offered("quit", "Paimark, also as :q and :exit", "ctrl+q", "quit"), aliases=("q", "exit")),
    ]


_HOW_TO_OPEN = "open PATH opens another warehouse: /lake, s3://bucket/lake, /lake/shop.orders"


def context_entries(session: Session, say: Say, go: Callable[[Settings], None]) -> list[PaletteEntry]:
    """An entry for each context of the config file; none if it can't be read. `go` opens the chosen one."""
    try:
        contexts = read_config(config_path()).contexts
    except PaimarkError:
        return []
    return [
        PaletteEntry(
            f"context {clean_text(name)}",
            "this is it" if name == session.settings.context else "open its warehouse",
            "",
            partial(_open, session, say, go, context=name),
        )
        for name in contexts
    ]


def opening_entry(session: Session, say: Say, go: Callable[[Settings], None]) -> PaletteEntry:
    """`open PATH`: another warehouse, or a table of it, as `paimark PATH` opens it."""
    entry = PaletteEntry("open", "another warehouse: open PATH", "", lambda: say(_HOW_TO_OPEN, "warn"))
    return replace(entry, run_with=lambda path: _open(session, say, go, path=path))


def _open(
    session: Session,
    say: Say,
    go: Callable[[Settings], None],
    *,
    context: str | None = None,
    path: str | None = None,
) -> None:
    """Open another warehouse. Flags of the command line still apply, except warehouse and options."""
    from paimark.core.cli.places import go_to, require_place, require_warehouse

    if reason := why_not_now(session):
        say(reason, "warn")
        return
    given = session.settings.flags or Flags()
    flags = replace(given, warehouse=None, options={}, context=context, start=None)
    try:
        if path is not None:
            go_to(os.path.expanduser(path), flags)
        settings = load_settings(flags)
        require_options(settings.options, settings.warehouse)
        require_warehouse(settings.warehouse)
        require_place(settings)
    except PaimarkError as error:
        say(error.said, "bad")
    else:
        go(settings)


def why_not_now(session: Session) -> str:
    """A sentence about running work that the switch would end; empty if there is none."""
    if session.changes:
        return f"{session.changes[0].title} is being written: {_listed_by()}switch when it is done"
    if paths := session.room.exports.paths:
        # The export of a difference is no job.
        is_job = any(str(paths[0]) in each.title for each in session.jobs.running)
        name = clean_text(paths[0].name)
        return f"{name} is being written: {_listed_by() if is_job else ''}switch when it is done"
    # A statement may still wait for the start of Spark.
    if session.room.state == "running" or session.jobs.running:
        return f"A statement is still running: {cancel_key()} cancels it, then switch"
    return ""


def _listed_by() -> str:
    return f"{key('browse.jobs')} lists it, "
