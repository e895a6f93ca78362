"""The tags, savepoints and branches of a row of the timeline, on which its keys act."""

from __future__ import annotations

from collections.abc import Iterator

from paimark.core.table.timeline.scene import Scene, newborn_branches
from paimark.core.table.timeline.weaving import Row
from paimark.tui.named_keys import delete_key
from paimark.tui.records.row_actions import (
    DELETE,
    PROTECTING,
    RowAction,
    RowActions,
    by_thing,
    can_act_on,
    on_branch,
    on_tag,
    why_not_saved,
)

_NO_BRANCH = "Go to a row of a branch: main is expired by its own options"


def actions_of(action: str, row: Row, scene: Scene) -> RowActions | None:
    """The objects that the key of an action may act on; None if the row does not define them."""
    things = by_thing(action)
    if not things:
        return None
    branch = None if row.is_main else row.lane.root.label
    choices = [on_tag(action, name, branch) for name in row.tags if can_act_on(action, name)]
    if "branch" in things:
        choices += _branches(action, row, scene, ends=action == DELETE)
    return RowActions(choices, _why_none(action, row))


def _why_none(action: str, row: Row) -> str:
    if action == DELETE:
        return f"No tag or savepoint is here, and no branch ends here: {delete_key()} deletes those"
    return _NO_BRANCH if action == PROTECTING else why_not_saved(action, row.tags)


def _branches(action: str, row: Row, scene: Scene, *, ends: bool = False) -> Iterator[RowAction]:
    """The branch of the row (with `ends` only at its newest commit), and the branches without a commit of
    their own that begin here."""
    lane = row.lane
    is_newest = row.run.newest == max([*lane.ids[-1:], *lane.tags])
    if not row.is_main and (is_newest or not ends):
        yield on_branch(action, lane.root.label)
    for name in newborn_branches(scene.lanes).get(row.run.newest_commit, ()):
        yield on_branch(action, name)
