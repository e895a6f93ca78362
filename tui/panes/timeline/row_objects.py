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
    is_savepoints,
    on_branch,
    on_tag,
    why_savepoints,
)

_OF_A_BRANCH = ("merge-branch", "replace-main-branch", PROTECTING)
_NO_BRANCH = "Go to a row of a branch: main is expired by its own options"


def actions_of(action: str, row: Row, scene: Scene) -> RowActions | None:
    """The objects that the key of an action may act on; None if the row does not define them."""
    if action == DELETE:
        none = f"No tag or savepoint is here, and no branch ends here: {delete_key()} deletes those"
        return RowActions([*_tags(action, row), *_branches(action, row, scene, ends=True)], none)
    if action == "rename-tag":
        tags = [*_tags(action, row)]
        return RowActions(tags, why_savepoints(action, row.tags[0]) if row.tags else "")
    if action in _OF_A_BRANCH:
        return RowActions(list(_branches(action, row, scene)), _NO_BRANCH if action == PROTECTING else "")
    return None


def _tags(action: str, row: Row) -> Iterator[RowAction]:
    branch = None if row.is_main else row.lane.root.label
    for name in row.tags:
        if action == DELETE or not is_savepoints(name):
            yield on_tag(action, name, branch)


def _branches(action: str, row: Row, scene: Scene, *, ends: bool = False) -> Iterator[RowAction]:
    """The branch of the row (with `ends` only at its newest commit), and the branches without a commit of
    their own that begin here."""
    lane = row.lane
    is_newest = row.run.newest == max([*lane.ids[-1:], *lane.tags])
    if not row.is_main and (is_newest or not ends):
        yield on_branch(action, lane.root.label)
    for name in newborn_branches(scene.lanes).get(row.run.newest_commit, ()):
        yield on_branch(action, name)
