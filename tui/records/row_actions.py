"""The actions on the row under the cursor, and their arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from paimark.core.actions.declared.declaration import Key
from paimark.core.actions.declared.declarations import DECLARED
from paimark.core.actions.declared.kinds import RowVersion, Seen, Thing, is_savepoints
from paimark.core.table.definition.retention import retention_off
from paimark.core.table.layout import MAIN, SAVEPOINT_TAG_PREFIX
from paimark.tui.session import Target
from paimark.tui.tabs import Tab

# What a key does to things of several kinds: each is an action of its own, and the row says which is meant.
DELETE = "delete"
# The action that switches stock expiry off on a branch.
PROTECTING = "alter-branch-schema"
# The tabs that show a branch over time, and the query pane, which has histograms.
CHARTED = (Tab.SNAPSHOTS, Tab.TIMELINE, Tab.SPACE, Tab.QUERY)
_WITH_VERSIONS = tuple(tab for tab in Tab if tab is not Tab.QUERY)
_WITH_ROWS_OF_VERSIONS = tuple(tab for tab in _WITH_VERSIONS if tab is not Tab.SCHEMA)
_WITH_SNAPSHOTS = tuple(tab for tab in _WITH_ROWS_OF_VERSIONS if tab is not Tab.BRANCHES)


def _by_key() -> dict[str, dict[Thing | None, str]]:
    """The actions of each key by their things, under the action's name, or the verb of several."""
    by_key: dict[str, dict[Thing | None, str]] = {}
    for name, declared in DECLARED.items():
        if declared.key is not None:
            by_key.setdefault(declared.key.id, {})[declared.thing] = name
    names = ((list(actions.values()), actions) for actions in by_key.values())
    return {of[0] if len(of) == 1 else DECLARED[of[0]].verb: actions for of, actions in names}


_ACTIONS = _by_key()
# By the name of an action, or the verb of several.
KEYS: Mapping[str, Key] = {
    name: key
    for name, actions in _ACTIONS.items()
    if (key := DECLARED[next(iter(actions.values()))].key) is not None
}


def by_thing(name: str) -> Mapping[Thing, str]:
    """The things that an action, or the actions of a verb, are about: the action of each."""
    if name == PROTECTING:
        return {"branch": PROTECTING}
    actions = _ACTIONS.get(name) or {DECLARED[name].thing: name}
    return {thing: action for thing, action in actions.items() if thing is not None}


def _showing(things: Collection[Thing]) -> Collection[Tab]:
    return [tab for tab in Tab if not tab.things.isdisjoint(things)]


def tabs_of(action: str, parameters: Sequence[object]) -> Collection[Tab]:
    """The tabs on which an action of the main screen is available."""
    match action:
        case "act":
            things = by_thing(str(parameters[0]))
            return _showing(things) if things else tuple(Tab)
        case "chart":
            return CHARTED
        case "protect":
            return _showing(by_thing(PROTECTING))
        case "diff":
            return _WITH_VERSIONS
        case "mark" | "mark_range":
            return _WITH_ROWS_OF_VERSIONS
        case "changes":
            return _WITH_SNAPSHOTS
    return tuple(Tab)


def on_tab(name: str, tab: Tab) -> str:
    """The action of a verb on a tab with things of one kind; else the name itself: the row has to say."""
    if name in DECLARED:
        return name
    here = [action for thing, action in by_thing(name).items() if thing in tab.things]
    return here[0] if len(here) == 1 else name


def on_row(name: str, verb: str, version: RowVersion | None) -> str:
    """The action on the tag of a row, or that on the savepoint if it is the tag of one."""
    of = by_thing(verb)
    is_saved = version is not None and is_savepoints(version.tag) and name == of.get("tag")
    return of.get("savepoint", name) if is_saved else name


class RowAction(msgspec.Struct, frozen=True):
    """An action on an object of a row; `label` is the name of the object for people."""

    action: str
    arguments: Mapping[str, object]
    label: str


class RowActions(msgspec.Struct, frozen=True):
    """The objects that a key may act on; if there are none, `why_none` is the reason."""

    choices: Sequence[RowAction]
    why_none: str = ""


def on_tag(name: str, tag: str, branch: str | None) -> RowAction:
    """Act on a tag of a branch (None for main); if it is the tag of a savepoint, on that."""
    if is_savepoints(tag):
        number = int(tag.removeprefix(SAVEPOINT_TAG_PREFIX))
        return RowAction(by_thing(name)["savepoint"], {"id": number}, f"savepoint {number}")
    where = {} if branch is None else {"branch": branch}
    return RowAction(by_thing(name)["tag"], {"name": tag, **where}, f"tag {tag} of {branch or MAIN}")


def on_branch(name: str, branch: str) -> RowAction:
    """Act on a branch."""
    arguments = protection_of(branch) if name == PROTECTING else {"name": branch}
    return RowAction(by_thing(name)["branch"], arguments, f"branch {branch}")


def can_act_on(name: str, tag: str) -> bool:
    """Whether an action or a verb is for such a tag: one of a savepoint only goes with that."""
    return ("savepoint" if is_savepoints(tag) else "tag") in by_thing(name)


def why_not_saved(name: str, tags: Sequence[str]) -> str:
    """Why an action does nothing to the tags of savepoints, if there are some; else an empty text."""
    saved = next(filter(is_savepoints, tags), None)
    action = by_thing(name).get("tag")
    return "" if saved is None or action is None else DECLARED[action].why_not(Seen(RowVersion(tag=saved)))


def seen(target: Target, version: RowVersion | None, *, newest: bool | None) -> Seen:
    """A row of a target, as the arguments of an action are taken from it."""
    row = version or RowVersion()
    branch = row.branch or target.branch
    return Seen(row, None if branch == MAIN else branch, newest)


def protection_of(branch: str | None) -> dict[str, object]:
    """The initial arguments for the dialog of `PROTECTING`."""
    return {"branch": branch, "set": retention_off()}
