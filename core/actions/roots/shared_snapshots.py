"""Copy a branch's tag to main when both roots hold the snapshot.

Stock expiry on main spares files that main's own tags hold, and ignores branches.
"""

from __future__ import annotations

from paimark.core.actions.change import journal
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.roots.guard_tags import guard
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot, require_held
from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.table.layout import Root
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.manifests.chain import marked_unless_proven
from paimark.core.table.manifests.files import NeededNames
from paimark.core.table.records import Snapshot, is_same_commit

_FAST_FORWARD = "fast-forward"


def hold_with_main(
    context: Context,
    chosen: ChosenSnapshot,
    name: str,
    needed: NeededNames | None,
    progress: Progress,
    pins: list[str],
) -> None:
    """Prove that the tag just written keeps the snapshot; if main has or gets it, tag it there first.

    If another root becomes main meanwhile, do both again. The paths of tags created in main are added to
    `pins`. Raises as `require_held`, `Corrupt`, and `Refused` if a branch became main in place of the table
    directory: the tag there would then be a guard of that branch's tags, and go with them.
    """
    files, table = context.files, chosen.root.table
    while True:
        main = main_root(files, table)
        if chosen.root.branch is None and main != chosen.root:
            raise Refused(
                f"Branch {main.label} became main of {table.full_name} just then",
                "Choose a snapshot again: what was main may be a branch now.",
            )
        if (pin := _tag_in_main(context, chosen, name, main)) is not None:
            pins.append(pin)
        require_held(context, chosen, needed, progress)
        if main_root(files, table) == main:
            return


def _tag_in_main(context: Context, chosen: ChosenSnapshot, name: str, main: Root) -> str | None:
    """Tag a branch's snapshot in main too, if main has or gets it; return the tag's path if it is new.

    Call it before the proof that the snapshot is kept. Raises `Corrupt`.
    """
    files = context.files
    if main == chosen.root:
        return None
    if _has(files, main, chosen.snapshot):
        data = chosen.data
    elif _is_merged_now(context, chosen.root, main):
        # A merge that ends without it leaves this tag, which must not prove a common past then.
        data = marked_unless_proven(files, main, chosen.snapshot).to_json()
    else:
        return None
    created = files.create(main.tag(name), data)
    guard(files, main, name)
    return main.tag(name) if created else None


def _has(files: Files, main: Root, snapshot: Snapshot) -> bool:
    path = main.snapshot(snapshot.id)
    [data] = files.read_many([path])
    return data is not None and is_same_commit(Snapshot.from_json(data, path), snapshot)


def _is_merged_now(context: Context, branch: Root, main: Root) -> bool:
    """Whether an unfinished fast-forward gives main the branch's snapshots. It may have listed the tags."""
    holder = journal.current(context, branch.table)
    if holder is None or holder.journal.change != _FAST_FORWARD:
        return False
    state = holder.journal.state
    return (state.get("branch"), state.get("root")) == (branch.label, main.branch)
