"""`replace-main-branch`: a branch becomes main, and its own files stay in place.

The commit is an entry of the journal. Before it everything can be taken back, after it everything is
finished, first of all the main-branch file.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Self

from msgspec.structs import replace

from paimark.core.actions.change import journal
from paimark.core.actions.change.change import Done, Work
from paimark.core.actions.change.journal import Hold
from paimark.core.actions.change.landing import hold_expiry, release_expiry
from paimark.core.actions.checks import integer_argument, required_text, text_argument
from paimark.core.actions.context import Context, Remark
from paimark.core.actions.garbage.release_pins import drop_root
from paimark.core.actions.merge import history as merge_history
from paimark.core.actions.names import archive_name
from paimark.core.actions.plan import Item, Plan, Refusal, Step
from paimark.core.actions.replace import overwrite as replace_overwrite
from paimark.core.actions.replace.comparison import (
    Takeover,
    as_planned,
    is_whole_copy,
    late_in,
    nothing_came,
    replacement_of,
    require_still,
    survey_takeover,
)
from paimark.core.actions.replace.plan import describe
from paimark.core.actions.replace.point_main import PointMain, part
from paimark.core.actions.replace.pointer import (
    Replacement,
    Sides,
    drop_expired,
    drop_lost_copies,
    follow_tags,
    is_that_branch,
    prepare,
    sides,
    take_back,
)
from paimark.core.actions.replace.table_directory import clean_table_directory, clear_table_directory
from paimark.core.actions.roots.barrier import put_barrier, stray_commits
from paimark.core.actions.roots.root_files import snapshot_ids
from paimark.core.actions.roots.waiting import wait_for_cleanings
from paimark.core.actions.row_checks.checking import CheckedRows, head_of_main, rows_at, verdict
from paimark.core.actions.savepoints.unprotected import protect_without
from paimark.core.figures import counted
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.edits import Edits, MainEdit, MovedRoot
from paimark.core.table.lineage.main_branch import branch_root, main_root
from paimark.core.table.records import TableSchema

POINTER = "pointer"
_CLEARING = "the table directory is being cleared"
_COMPARED = "the previous main was compared with what the plan saw of it"
_GOES = "the archive goes"
_CLEARED = "left guards and a notice to stock engines in the table directory"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name` of the branch, `layout` (`pointer`, `overwrite`), `drop_previous`, `up_to`, `check`.

    Raises `NotFound`.
    """
    name = required_text(arguments, "name")
    layout = text_argument(arguments, "layout") or POINTER
    drops = arguments.get("drop_previous") is True
    main = main_root(context.files, table)
    branch = branch_root(context.files, table, name)
    if branch == main:
        return Plan(
            headline=f"Branch {main.label} of {table.full_name} is main already.",
            arguments={"name": name},
            empty=True,
        )
    if layout == replace_overwrite.OVERWRITE:
        return replace_overwrite.plan(context, table, name, arguments)
    takeover = survey_takeover(context.files, main, branch)
    archive = archive_name(context) if main.branch is None else None
    made = describe(context, takeover, archive, drops_previous=drops)
    return _exactly(context, takeover, made, arguments)


def _exactly(context: Context, takeover: Takeover, made: Plan, arguments: Mapping[str, object]) -> Plan:
    """The plan with what is to be published: `up_to`, which must be the branch's newest, and its checks."""
    up_to, branch = integer_argument(arguments, "up_to"), takeover.branch
    head, root = branch.head, branch.root
    if up_to is not None:
        made = replace(made, arguments={**made.arguments, "up_to": up_to})
    if up_to is not None and (head is None or head.snapshot.id != up_to):
        newest = "no snapshot" if head is None else f"snapshot {head.snapshot.id}"
        reason = f"Branch {root.label} is at {newest}, and all of it would be main, not only up to {up_to}"
        hint = f"Use --layout overwrite, or merge-branch --up-to {up_to}."
        return replace(made, refusals=(*made.refusals, Refusal(reason, hint, "branch-went-on")))
    if made.refusals or head is None:
        return made
    schema = TableSchema.from_json(branch.schema, root.schema(branch.schema_id))
    label, main = f"snapshot {head.snapshot.id} of branch {root.label}", takeover.main.root.table

    def under() -> CheckedRows:
        return rows_at(label, root, head.snapshot, schema, head_of_main(context.files, main))

    checked = verdict(context, main, arguments, under)
    return replace(
        made,
        arguments={**made.arguments, **checked.arguments},
        request=checked.request(arguments),
        checks=checked.results,
        items=(*made.items, *checked.items),
        refusals=checked.refusals,
    )


class ReplaceMain(PointMain[Replacement]):
    """A branch becomes main, and the main before is archived unless it was a branch itself."""

    State = Replacement

    def __init__(self, work: Work, state: Replacement) -> None:
        super().__init__(work, state)
        self._late = ""

    @classmethod
    def begin(cls, work: Work) -> Self:
        takeover = as_planned(work.context, work.table, work.plan)
        replacement = replacement_of(
            takeover,
            work.files,
            text_argument(work.plan.arguments, "archive"),
            drops_previous=work.plan.arguments["drop_previous"] is True,
        )
        return cls(work, replacement)

    @classmethod
    def nothing(cls, plan: Plan) -> dict[str, str | int | bool | None]:
        return {"branch_name": plan.arguments["name"]}

    @property
    def _is_dropped(self) -> bool:
        return self.state.drops_previous and not self._late

    @property
    def _sides(self) -> Sides:
        return sides(self.work.table, self.state)

    @property
    def new_main(self) -> Root:
        return self.work.table.root(self.state.branch)

    def can_be_main(self) -> bool:
        return super().can_be_main() and is_that_branch(self.work.files, self.new_main, self.state)

    def check(self, hold: Hold) -> None:
        require_still(self.work, hold, self.state, begins=True)

    def prepare(self, hold: Hold) -> None:
        files, between = self.work.files, self._sides
        ids = snapshot_ids(files, between.main)
        if between.archive is not None and ids:
            # Other engines take the table directory for main: hold its expiry until all is archived.
            hold_expiry(files, between.main, self.work.token, ids[0])
        prepare(hold, self.state, self.work.progress)
        require_still(self.work, hold, self.state)

    def finish(self, hold: Hold) -> None:
        files, table, between, progress = self.work.files, self.work.table, self._sides, self.work.progress
        if _CLEARED not in hold.steps:
            self.point(hold)
            progress(f"branch {self.state.branch} is main")
            # Merges into main before the fork are in the branch too.
            merge_history.hand_on(files, between.main, between.branch, self.state.shared)
            if between.archive is not None:
                merge_history.hand_on(files, between.main, between.archive)
            if between.archive is None:
                self._drop_lost(between)
            elif _CLEARING not in hold.steps:
                # Until the barrier is there, other engines take this directory for main, and expire there.
                put_barrier(files, table, between.branch.label)
                # A process that listed the snapshots before does not know the archive.
                wait_for_cleanings(self.work.context, between.main, progress)
                drop_expired(files, between.main, between.archive)
                follow_tags(files, between, between.archive, self.state.main_tags)
                self._drop_lost(between)
                hold.note(_CLEARING)
            clear_table_directory(files, table, between.branch, between.archive)
            hold.note(_CLEARED)
            progress(_CLEARED)
        self._release()
        if self.state.drops_previous and between.archive is not None:
            if _COMPARED not in hold.steps:
                hold.note(_COMPARED, {"late": late_in(files, between.archive, self.state)})
            self._late = str((hold.journaled.data_of(_COMPARED) or {}).get("late", ""))
            if self._late:
                progress(Remark(f"the previous main stays as branch {self.state.archive}: {self._late}"))
            else:
                drop_root(self.work.context, hold, between.archive, progress)

    def _drop_lost(self, between: Sides) -> None:
        """Remove the branch's copies of what main has lost since they were made. Idempotent."""
        drop_expired(self.work.files, between.main, between.branch, self.state.older)
        drop_lost_copies(self.work.files, between.main, between.branch, self.state)

    def take_back(self, hold: Hold) -> None:
        work = self.work
        take_back(work.files, work.table, self.state, work.progress, partial(self._drops_archive, hold))
        between = self._sides
        if between.archive is not None:
            part(work.files, between.main, between.archive, work.progress)
        self._release()

    def _drops_archive(self, hold: Hold, is_less: bool) -> bool:
        """Whether to delete the archive, even if main lost some of it. Noted, because a half-deleted one
        can't be judged again.
        """
        files, between = self.work.files, self._sides
        if between.archive is None:
            return False
        if not is_less:
            if not nothing_came(files, between.archive, between.main, self.state):
                return False
            if _GOES not in hold.steps and not is_whole_copy(files, between.archive, self.state):
                return False
            protect_without(files, between.archive, self.work.progress)
        if _GOES not in hold.steps:
            hold.note(_GOES)
        return True

    def _release(self) -> None:
        """Let expiry continue. Idempotent."""
        between = self._sides
        if between.archive is not None:
            for root in (between.main, between.archive):
                release_expiry(self.work.files, root, self.work.token)

    def clean(self) -> None:
        between = self._sides
        archive = None if self.state.drops_previous else between.archive
        if self.is_pointed:
            clean_table_directory(self.work.files, self.work.table, between.branch, archive)

    def edits(self) -> Edits:
        replacement, moved = self.state, None
        if replacement.archive is not None:
            schema_id, schema = replacement.main_schema_id, replacement.main_schema
            moved = MovedRoot(after=replacement.archive, schema_id=schema_id, schema=schema)
        main = MainEdit(
            before=replacement.previous,
            after=replacement.branch,
            head=replacement.branch_head.id,
            was_dropped=self._is_dropped,
            first_copied=replacement.first_older,
            last_copied=replacement.last_older,
            copied_tags=replacement.tags,
        )
        return Edits(main=main, moved=moved)

    def done(self) -> Done:
        return _done(self.work, self.state, self._late)

    def recovery_steps(self, interrupted: journal.JournaledChange) -> list[Step]:
        what = f"branch {self.state.branch}"
        if interrupted.is_committed:
            now = "is main already" if self.is_pointed else "becomes main"
            return [Step("replace", what, f"{now}: what is left to do is finished")]
        return [Step("delete", f"what was added for {what}", "which did not become main, and stays")]


def _done(work: Work, replacement: Replacement, late: str) -> Done:
    is_dropped = replacement.drops_previous and not late
    previous = replacement.archive or replacement.previous
    message = f"Made {replacement.branch} main of {work.plan.table}"
    items = []
    if is_dropped:
        message += ", and deleted the previous main. It can't be taken back"
    else:
        why = f": {late}" if late else ""
        items.append(Item("keeps", f"main until now, as branch {previous}{why}"))
    if strays := stray_commits(work.files, work.table):
        later = counted(len(strays), "later commit")
        text = (
            f"{later} to the table directory, by a writer that did not know of it: rescue-commits saves them"
        )
        items.append(Item("not", text, "commits-leave-main", is_grave=True, count=len(strays)))
    return Done(
        message=message,
        result={
            "branch_name": replacement.branch,
            "previous_main": previous if not is_dropped else None,
            "snapshot_id": replacement.branch_head.id,
            "stray_commits": len(strays),
        },
        before=f"main is {replacement.previous or 'the table directory'}",
        after=f"main is branch {replacement.branch} at snapshot {replacement.branch_head.id}",
        items=tuple(items),
    )
