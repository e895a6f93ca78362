"""Copy a branch's tag to main when both roots hold the snapshot.

Stock expiry on main spares what main's own tags hold, and looks at no branch.
"""

from __future__ import annotations

from core.actions.context import Context, Progress
from core.actions.roots.guard_tags import guard
from core.actions.roots.pin_snapshot import ChosenSnapshot, require_held
from core.errors import Refused
from core.storage.files import Files
from core.table.layout import Root
from core.table.lineage.main_branch import main_root
from core.table.manifests.files import NeededNames
from core.table.records import Snapshot, is_same_commit


def hold_with_main(
    context: Context,
    chosen: ChosenSnapshot,
    name: str,
    needed: NeededNames | None,
    progress: Progress,
    pins: list[str],
) -> None:
    """Prove that the tag just written keeps the snapshot, after tagging it in main too where main has it.

    Both again where another root became main meanwhile. `pins` gets the paths of the tags that were created
    in main. Raises as `require_held`, `Corrupt`, and `Refused` where a branch became main in the place of the
    table directory: what lies there then guards that branch's tags, and goes with them.
    """
    files, table = context.files, chosen.root.table
    while True:
        main = main_root(files, table)
        if chosen.root.branch is None and main != chosen.root:
            raise Refused(
                f"Branch {main.label} became main of {table.full_name} just then",
                "Choose a snapshot again: what was main may be a branch now.",
            )
        if (pin := _tag_in_main(files, chosen, name, main)) is not None:
            pins.append(pin)
        require_held(context, chosen, needed, progress)
        if main_root(files, table) == main:
            return


def _tag_in_main(files: Files, chosen: ChosenSnapshot, name: str, main: Root) -> str | None:
    """Tag the snapshot of a branch in main too, where main has it; the path of the tag if it was not there.

    Call it before it is proved that the snapshot is held. Raises `Corrupt`.
    """
    if main == chosen.root:
        return None
    path = main.snapshot(chosen.snapshot.id)
    [data] = files.read_many([path])
    if data is None or not is_same_commit(Snapshot.from_json(data, path), chosen.snapshot):
        return None
    created = files.create(main.tag(name), chosen.data)
    guard(files, main, name)
    return main.tag(name) if created else None
