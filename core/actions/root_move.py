"""Giving a branch root another name: copied whole, then removed where it was.

The journal's note that the copy is whole is the point of no return.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.actions import journal
from core.actions.context import Context, Progress
from core.actions.root_files import PARTS, copy_files, part_of, root_files
from core.actions.takeover import State, moved, state
from core.table.layout import Root

_COPIED = "copied the branch"


def move_root(
    context: Context,
    hold: journal.Hold,
    source: State,
    target: Root,
    changed: Mapping[str, bytes],
    progress: Progress,
) -> journal.Hold:
    """Copy up to the point of no return. Raises `Refused` when the source moved meanwhile."""
    files = context.files
    names = list(root_files(files, source.root))
    for part in PARTS:
        copy_files(files, source.root, target, part_of(names, part), changed)
    now = state(files, source.root)
    if now.fingerprint != source.fingerprint or list(root_files(files, source.root)) != names:
        raise moved(target.table, source.said, now.said)
    hold = journal.note(context, hold, _COPIED)
    progress(f"{source.root.label} is {target.label} now")
    return hold


def is_moved(begun: journal.Journal) -> bool:
    """Whether the point of no return was passed."""
    return _COPIED in begun.steps
