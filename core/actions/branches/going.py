"""A branch that goes is marked before anything of it does, and the mark goes last.

Before somebody recovers it, another engine may delete what is left of it and make another branch of its name.
That one stays: it has no mark.
"""

from __future__ import annotations

from collections.abc import Callable

from core.actions.change.journal import Hold
from core.actions.context import Progress, Remark
from core.actions.roots.barrier import is_marked, put_before_removal
from core.table.layout import Root
from core.table.lineage.main_branch import root_exists

_MARKED = "the branch is marked as one that goes"


def marked(
    hold: Hold, root: Root, becomes: str, is_unchanged: Callable[[], bool], progress: Progress
) -> bool:
    """Mark it; False where it is another branch by now, which stays. Idempotent.

    `becomes` says what the branch is now, in one word. `is_unchanged` is asked where no mark can tell: it was
    not made yet, and nothing is gone.
    """
    files = hold.context.files
    if not root_exists(files, root):
        return True
    if _MARKED in hold.steps or not is_unchanged():
        is_ours = is_marked(files, root)
    else:
        is_ours = True
        put_before_removal(files, root, becomes)
        hold.note(_MARKED)
    if not is_ours:
        progress(Remark(f"branch {root.label} stays: it is another of this name, made since"))
    return is_ours
