"""Copy a branch's tag to main when both roots hold the snapshot.

Stock expiry on main spares what main's own tags hold, and looks at no branch.
"""

from __future__ import annotations

from core.actions.roots.pin_snapshot import ChosenSnapshot
from core.actions.roots.shadow_tags import guard
from core.storage.files import Files
from core.table.lineage.main_branch import main_root
from core.table.records import Snapshot, is_same_commit


def tag_in_main(files: Files, chosen: ChosenSnapshot, name: str) -> str | None:
    """Tag the snapshot of a branch in main too, where main has it; the path of the tag if it was not there.

    Call it before it is proved that the snapshot is held. Raises `Corrupt`.
    """
    main = main_root(files, chosen.root.table)
    if main == chosen.root:
        return None
    path = main.snapshot(chosen.snapshot.id)
    [data] = files.read_many([path])
    if data is None or not is_same_commit(Snapshot.from_json(data, path), chosen.snapshot):
        return None
    created = files.create(main.tag(name), chosen.data)
    guard(files, main, name)
    return main.tag(name) if created else None
