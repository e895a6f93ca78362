"""Copy a branch's tag to main when both roots hold the snapshot.

Stock expiry on main spares files that main's own tags hold, and ignores branches.
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
    """Prove that the tag just written keeps the snapshot; if main has the snapshot, tag it there first.

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
        if (pin := _tag_in_main(files, chosen, name, main)) is not None:
            pins.append(pin)
        require_held(context, chosen, needed, progress)
        if main_root(files, table) == main:
            return


def _tag_in_main(files: Files, chosen: ChosenSnapshot, name: str, main: Root) -> str | None:
    """Tag a branch's snapshot in main too, if main has it; return the tag's path if it is new.

    Call it before the proof that the snapshot is kept. Raises `Corrupt`.
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
