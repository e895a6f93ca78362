"""Record a merge for the next one, and for its undo."""

from __future__ import annotations

from paimark.core.actions.context import Context
from paimark.core.actions.merge.history import MergeEvent, record
from paimark.core.actions.merge.survey import Survey
from paimark.core.actions.roots.guard_tags import guard
from paimark.core.table.layout import merge_tag
from paimark.core.table.records import Point, Snapshot, is_same_commit, point_of


def record_merge(context: Context, survey: Survey, made: Snapshot | Point) -> None:
    """Record that main has the branch since its commit `made`, the newest that it has of it. Idempotent.

    `made` is a `Point` if only its id is known. If that commit has expired, the next merge is refused,
    because nothing tells what main changed since.
    """
    files, root, branch = context.files, survey.start.root, survey.branch.root.label
    main, is_appended = survey.start.head.snapshot, survey.kind == "fast-forward"
    if isinstance(made, Snapshot) and not is_appended and not is_same_commit(made, main):
        # From this pin the next merge finds what main changed since.
        pin = merge_tag(branch, made.id)
        [stored] = files.read_many([root.snapshot(made.id)])
        # A tag of an expired snapshot would only be an obstacle: it can't be read.
        if stored is not None:
            files.create(root.tag(pin), stored)
            guard(files, root, pin)
    at = point_of(made) if isinstance(made, Snapshot) else made
    event = MergeEvent(
        kind="merge",
        root=root.branch,
        main=at,
        branch=branch,
        head=at if is_appended else point_of(survey.branch.snapshot),
        base_head=point_of(survey.base),
        base_main=point_of(survey.main_base),
    )
    record(files, root.table, event)
