"""What a merge leaves behind for the next one, and for whoever takes it back."""

from __future__ import annotations

from core.actions import journal, undo_log
from core.actions.context import Context
from core.actions.guards import guard
from core.actions.merge_base import Event, point_of, record
from core.actions.merge_survey import Survey
from core.actions.pins import merge_tag
from core.table.forks import is_same_commit
from core.table.records import Snapshot


def record_merge(context: Context, hold: journal.Hold, found: Survey, made: Snapshot) -> None:
    """Main has the branch since its commit `made`, the newest that it has of it. Twice adds nothing."""
    files, root, branch = context.files, found.start.root, found.branch.root.label
    main, is_appended = found.start.head.snapshot, found.kind == "fast-forward"
    if not is_same_commit(made, main):
        if not is_appended:
            # The next merge tells by it what main changed since.
            pin = merge_tag(branch, made.id)
            files.create(root.tag(pin), files.read(root.snapshot(made.id)))
            guard(files, root, pin)
        undo_log.append(context, root.table, undo_log.move_of(hold, root, main, made, branch=branch))
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
