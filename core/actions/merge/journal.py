"""The state of a merge in the journal, and the change that is finished or taken back from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from paimark.core.actions.change.journal import Hold
from paimark.core.actions.context import Context
from paimark.core.actions.merge.divergence import Divergence, Kind
from paimark.core.actions.merge.fast_forward import points_of, remove_schemas
from paimark.core.actions.merge.history import MergeEvent, event_of, record
from paimark.core.actions.rewrite.columns import holds_all
from paimark.core.actions.rewrite.rewrite_main import RewriteMain, RewriteState, snapshot_of
from paimark.core.actions.rewrite.spark_rewrite import RewriteBase
from paimark.core.actions.roots.guard_tags import guard
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot
from paimark.core.errors import Refused
from paimark.core.storage.files import Files
from paimark.core.table.commits import stored
from paimark.core.table.layout import Root, merge_tag
from paimark.core.table.lineage.edits import RowsEdit
from paimark.core.table.records import Point, Snapshot, TableSchema, is_same_commit, point_of


class MergeState(RewriteState, frozen=True, kw_only=True):
    """What both sides of a merge were when it began. The root is the target."""

    kind: Kind  # `nothing`, `fast-forward`, `append` or `keyed`
    branch: str  # the branch that is merged
    branch_head: dict[str, Any]  # its newest snapshot, as written
    # the snapshot that the target has already: the branch's, or one that the branch has from others
    base: dict[str, Any]
    main_base: dict[str, Any]  # the target's snapshot that has it
    # of a fast-forward: the branch's snapshots that the target gets, as points. If another engine deletes
    # the branch meanwhile, the target keeps those that it has, also if another branch gets the name
    appended: tuple[Point, ...] = ()
    # the branch, or `main` for the table directory, with whose schemas the base is read; `""`: the branch
    # that is merged
    read_as: str = ""


def state_of(files: Files, divergence: Divergence) -> MergeState:
    """The state for the journal."""
    is_append = divergence.kind == "fast-forward"
    return MergeState(
        kind=divergence.kind,
        branch=divergence.branch.root.label,
        root=divergence.start.root.branch,
        head=divergence.start.head.snapshot.as_written(),
        branch_head=divergence.branch.snapshot.as_written(),
        base=divergence.base.as_written(),
        main_base=divergence.main_base.as_written(),
        schema=divergence.start.schema_text,
        schemas=tuple((number, data.decode()) for number, data in divergence.new_schemas),
        appended=tuple(_appended(files, divergence)) if is_append else (),
        read_as="" if divergence.base_root == divergence.branch.root else divergence.base_root.label,
    )


def _appended(files: Files, divergence: Divergence) -> list[Point]:
    """Raises `Refused` when the branch has lost some of them since they were compared."""
    root, base, head = divergence.branch.root, divergence.base.id, divergence.branch.snapshot.id
    points = points_of(files, root, base, head)
    if len(points) < head - base:
        name = f"Branch {root.label} of {root.table.full_name}"
        raise Refused(f"{name} has lost some of its snapshots {base + 1} to {head}", "Make a new plan.")
    return points


class RewriteByBranch(RewriteMain[MergeState]):
    """A root gets rows of a branch and follows to its schemas: the common parts of a merge and an overwrite.

    The root is main, or for a merge the branch that is merged into.
    """

    State = MergeState

    @property
    def source(self) -> Root:
        return self.work.table.called(self.state.branch)

    def divergence(self, main: Snapshot) -> Divergence:
        """What the merge started from, on this snapshot of the target; either may have expired."""
        files, state, root = self.work.files, self.state, self.root
        branch, head = self.source, snapshot_of(state.branch_head)
        schema = TableSchema.from_json(files.read(root.schema(main.schema_id)), root.schemas)
        return Divergence(
            start=RewriteBase(ChosenSnapshot(root, main, main.to_json()), schema, self.is_main),
            branch=ChosenSnapshot(branch, head, stored(files, branch, point_of(head)) or head.to_json()),
            base=snapshot_of(state.base),
            main_base=snapshot_of(state.main_base),
            base_root=self.work.table.called(state.read_as or state.branch),
            kind=state.kind,
            new_schemas=tuple(state.new_schemas),
            schema_refusals=(),
        )

    def divergence_on(self, start: RewriteBase) -> Divergence:
        """The divergence on main as it is now."""
        return replace(self.divergence(start.head.snapshot), start=start)

    def record(self, hold: Hold) -> None:
        record_merge(self.work.context, self.divergence(self.head(hold)), self.made or self.moved[1])

    def take_back(self, hold: Hold) -> None:
        new, earlier = self.state.new_schemas, self.state.schema.encode()
        # A job may have opened main with a schema, and commit with it: without the file, no engine could read
        # main any more. But one that lacks a column hides its values from all readers.
        if new and not holds_all(
            *(TableSchema.from_json(each, "a schema") for each in (new[-1][1], earlier))
        ):
            remove_schemas(self.work.files, self.root, new, self.first_head.id)
        super().take_back(hold)

    def edit(self, before: Point, after: Point) -> RowsEdit:
        """With the newest definition from before: its undo brings columns back that the branch dropped.

        To another branch than main it is a write, which leaves main as it is.
        """
        then = TableSchema.from_json(self.state.schema.encode(), "a schema")
        return msgspec.structs.replace(
            super().edit(before, after),
            branch=self.state.branch,
            schema_id=then.id,
            is_write=not self.is_main,
        )


def record_merge(context: Context, divergence: Divergence, made: Snapshot | Point) -> None:
    """Record that the target has the branch since its commit `made`, the newest that it has. Idempotent.

    `made` is a `Point` if only its id is known. If that commit has expired, the next merge is refused,
    because nothing tells what the target changed since.
    """
    files, root, branch = context.files, divergence.start.root, divergence.branch.root.label
    main, is_appended = divergence.start.head.snapshot, divergence.kind == "fast-forward"
    if not divergence.start.is_main:
        # The target has this state of the branch: a merge the other way begins with it.
        _pin(
            files,
            divergence.branch.root,
            merge_tag(root.label, divergence.branch.snapshot.id),
            point_of(divergence.branch.snapshot),
        )
    if isinstance(made, Snapshot) and not is_appended and not is_same_commit(made, main):
        # From this pin the next merge finds what the target changed since.
        _pin(files, root, merge_tag(branch, made.id), point_of(made))
    at = point_of(made) if isinstance(made, Snapshot) else made
    # If it is taken back, the target has this of the branch: what it has of others, their merges tell.
    is_own = divergence.base_root == divergence.branch.root
    event = MergeEvent(
        kind="merge",
        root=root.branch,
        main=at,
        branch=branch,
        head=at if is_appended else point_of(divergence.branch.snapshot),
        base_head=point_of(divergence.base) if is_own else None,
        base_main=point_of(divergence.main_base) if is_own else None,
    )
    record(files, root.table, event)


def record_again(files: Files, root: Root, edit: RowsEdit, now: Point) -> None:
    """Record that the target has the rows of a merge again, since its commit `now`. Idempotent."""
    if (event := event_of(files, root.table, edit)) is None:
        return
    _pin(files, root, merge_tag(edit.branch, now.id), now)
    record(files, root.table, msgspec.structs.replace(event, main=now))


def _pin(files: Files, root: Root, pin: str, snapshot: Point) -> None:
    """Tag the snapshot if it is there: a tag of an expired one would only be in the way, it can't be read."""
    if (data := stored(files, root, snapshot)) is not None:
        files.create(root.tag(pin), data)
        guard(files, root, pin)
