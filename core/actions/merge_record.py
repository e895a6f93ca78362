"""What a merge leaves behind for the next one, and for whoever takes it back."""

from __future__ import annotations

from core.actions.context import Context
from core.actions.guards import guard
from core.actions.merge_base import Event, record
from core.actions.merge_survey import Survey
from core.actions.pins import merge_tag
from core.table.forks import is_same_commit
from core.table.records import Snapshot, point_of


def record_merge(context: Context, found: Survey, made: Snapshot) -> None:
    """Main has the branch since its commit `made`, the newest that it has of it. Idempotent."""
    files, root, branch = context.files, found.start.root, found.branch.root.label
    main, is_appended = found.start.head.snapshot, found.kind == "fast-forward"
    if not is_appended and not is_same_commit(made, main):
        # The next merge tells by it what main changed since.
        pin = merge_tag(branch, made.id)
        [stored] = files.read_many([root.snapshot(made.id)])
        files.create(root.tag(pin), made.to_json() if stored is None else stored)
        guard(files, root, pin)
    event = Event(
        kind="merge",
        root=root.branch,
        main=point_of(made),
        branch=branch,
        head=point_of(made if is_appended else found.branch.snapshot),
        base_head=point_of(found.base),
        base_main=point_of(found.main_base),
    )
    record(files, root.table, event)
