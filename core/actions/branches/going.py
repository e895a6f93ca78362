"""A branch to be removed is marked before the point of no return, and its mark is removed last.

Before a recovery, another engine may delete the rest of the branch and make another one of its name. That one
has no mark, and stays.
"""

from __future__ import annotations

from paimark.core.actions.change.journal import Hold
from paimark.core.actions.context import Progress, Remark
from paimark.core.actions.roots.barrier import is_marked, put_before_removal, unmark
from paimark.core.actions.temp_files import delete_temporaries
from paimark.core.storage.files import read_if_there
from paimark.core.table.layout import BARRIER, Root
from paimark.core.table.lineage.main_branch import root_exists

_MARKS = "marks the branch as one that goes"


def mark(hold: Hold, root: Root, becomes: str) -> None:
    """Mark a root before its removal; `becomes` is its new state or name, one word. See `unmarked`."""
    earliest = read_if_there(hold.context.files, root.earliest_hint)
    hold.note(_MARKS, {"earliest": None if earliest is None else earliest.decode(errors="replace")})
    put_before_removal(hold.context.files, root, becomes)


def still_goes(hold: Hold, root: Root, progress: Progress) -> bool:
    """Whether the root is still the marked branch, or is gone. Another branch of its name stays."""
    files = hold.context.files
    if _MARKS not in hold.steps or is_marked(files, root) or not root_exists(files, root):
        return True
    progress(Remark(f"branch {root.label} stays: it is another of this name, made since"))
    return False


def unmarked(hold: Hold, root: Root) -> None:
    """Remove the mark, because the branch stays. Idempotent; another branch of its name has no mark."""
    files = hold.context.files
    delete_temporaries(files, root.snapshots, {BARRIER})
    earliest = (hold.journaled.data_of(_MARKS) or {}).get("earliest")
    unmark(files, root, None if earliest is None else str(earliest).encode())
