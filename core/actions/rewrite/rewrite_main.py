"""Give a root other rows through Spark, as one commit: the base of merge, overwrite, rollback and their undo.

It is main for most, and called so here; a merge and an undo can be of another branch.

A job may commit to main while rows are written. Rows that are only added, or that take the place of all
others, are then committed on its commit; others are written again. A savepoint keeps the state right before
the commit, like the first one before.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

import msgspec

from paimark.core.actions.change.change import Change, Landed, Work
from paimark.core.actions.change.journal import COMMITTED, Hold, JournaledChange
from paimark.core.actions.change.landing import find_commit, hold_expiry, release_expiry
from paimark.core.actions.checks import require_unmoved
from paimark.core.actions.context import Remark
from paimark.core.actions.plan import Item, Plan, Step
from paimark.core.actions.plan_wording import outrun, place_of
from paimark.core.actions.rewrite.spark_rewrite import (
    QueryRows,
    RewriteBase,
    keep_safe,
    rewrite,
    saved,
    start_in,
)
from paimark.core.actions.roots.pin_snapshot import ChosenSnapshot, choose
from paimark.core.actions.roots.savepoint_claim import forget_savepoint
from paimark.core.errors import NotFound, Refused, Unavailable
from paimark.core.figures import counted
from paimark.core.once import once
from paimark.core.table.commits import Overwritten, overwritten
from paimark.core.table.layout import Root
from paimark.core.table.lineage.edits import Edits, RowsEdit
from paimark.core.table.lineage.forks import Side
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.records import Point, Snapshot, TableSchema, point_of

# How often rows are written again while a job keeps committing to main.
_TRIES = 20
TRY, _SAFE = "writes its rows", "a savepoint keeps main as it was"
_RECORDED = "what it did is recorded"


class RewriteState(msgspec.Struct, frozen=True, kw_only=True):
    """What the root was when the change began, and the definitions that it gets before the rows."""

    root: str | None  # the root that gets the rows; null: the table directory
    head: dict[str, Any]  # its newest snapshot, as written
    schema: str  # the text of its newest schema
    schemas: tuple[tuple[int, str], ...] = ()  # `[id, text]` of each schema that it gets before the rows

    @property
    def schema_texts(self) -> list[str]:
        """The newest schema before the change, and the one with which the rows are written."""
        return [self.schema, *(text for _, text in self.schemas[-1:])]

    @property
    def new_schemas(self) -> list[tuple[int, bytes]]:
        return [(number, text.encode()) for number, text in self.schemas]


S = TypeVar("S", bound=RewriteState)


class _Try(msgspec.Struct, frozen=True):
    """`head` is main's newest snapshot, on which rows are written. With `may_go_on` others may commit between
    it and this change.
    """

    head: dict[str, Any]
    may_go_on: bool = False


class _Safe(msgspec.Struct, frozen=True):
    savepoint: int
    is_new: bool


class _Made(msgspec.Struct, frozen=True):
    """The committed snapshot, if it is known."""

    made: dict[str, Any] | None = None


class Planned(Protocol):
    """The state that a plan was made from. `lasting` is the fingerprint of all but main's newest snapshot."""

    @property
    def start(self) -> RewriteBase: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def lasting(self) -> str: ...


P = TypeVar("P", bound=Planned)


class RewriteMain(Change[S]):
    """A change whose commit is one snapshot of main. `made` is that snapshot once it is known."""

    # Whether the change fails if the engine had nothing to write.
    fails_when_nothing_written = True

    def __init__(self, work: Work, state: S) -> None:
        super().__init__(work, state)
        self.made: Snapshot | None = None
        self.before: Snapshot | None = None
        self.safety: int | None = None
        self._start: RewriteBase | None = None
        # Nothing tells how main was right before the commit.
        self._lacks_before = False

    @classmethod
    def nothing(cls, plan: Plan) -> dict[str, str | int | bool | None]:
        return {"snapshot_id": None}

    @property
    def root(self) -> Root:
        return self.work.table.root(self.state.root)

    @property
    def first_head(self) -> Snapshot:
        """Main's newest snapshot when the change began."""
        return snapshot_of(self.state.head)

    @once
    def is_main(self) -> bool:
        """Whether the root is main: under the lock, no other one becomes it."""
        return main_root(self.work.files, self.work.table) == self.root

    @property
    def place(self) -> str:
        """`main`, or `branch fix`."""
        return place_of(self.root, is_main=self.is_main)

    def rows(self, start: RewriteBase) -> QueryRows:
        """The rows for main in this state. Raises `Refused`."""
        raise NotImplementedError

    def safety_comment(self) -> str | None:
        """The comment of the savepoint that keeps main's earlier state; None for a change that needs none."""
        return None

    def may_follow(self, start: RewriteBase) -> bool:
        """Whether it may go on from here: main moved while rows were written, and is defined as it was."""
        return False

    def base(self) -> RewriteBase:
        """The present state of the root that gets the rows."""
        return start_in(self.work.files, self.root, is_main=self.is_main)

    def target(self, start: RewriteBase) -> RewriteBase:
        """Main with the schema in which the rows are written."""
        if not (new := self.state.new_schemas):
            return start
        number, data = new[-1]
        return start.defined_as(TableSchema.from_json(data, self.root.schema(number)))

    def prepare(self, hold: Hold) -> None:
        self._start = self.base()
        self._keep_safe(hold, self._start)
        files = self.work.files
        for number, data in self.state.new_schemas:
            path = self.root.schema(number)
            if not files.create(path, data) and files.read(path) != data:
                raise Refused(f"Somebody else has just written {path}", "Make a new plan.")
            self.work.progress(f"wrote schema {number}")

    def commit(self, hold: Hold) -> Mapping[str, Any]:
        work = self.work
        for number in range(1, _TRIES + 1):
            start = self._start or self.base()
            head = start.head.snapshot
            rows = self.rows(start)
            if number == 1:
                # From the first head on, so that a recovery can find out the result of each try.
                hold_expiry(work.files, start.root, work.token, head.id + 1)
            hold.note(TRY, {"head": head.as_written(), "may_go_on": rows.may_go_on})
            try:
                made = rewrite(work.context, self.target(start), rows, hold, work.progress)
            except Overwritten:
                # Another writer may have built on it, and its rows would then come twice.
                raise
            except (Refused, Unavailable) as error:
                if not self._has_moved(start):
                    raise
                if number == _TRIES:
                    name = f"{start.place} of {work.plan.table}"
                    said = f"{name} moved each of the {_TRIES} times that its rows were written"
                    raise outrun(work.files, start.root, said) from error
                work.progress(Remark(f"{error.message}: trying again ({number + 1})"))
                self._start = self.base()
                if self._start.schema_text not in self.state.schema_texts or not self.may_follow(self._start):
                    raise Refused(
                        f"{start.place} of {work.table.full_name} moved while its rows were written",
                        "Nothing was committed: make a new plan.",
                    ) from error
                self._keep_safe(hold, self._start)
                continue
            if made is None and self.fails_when_nothing_written:
                raise Refused(f"Nothing was committed to {work.plan.table}", "Look at the engine's log.")
            self.made = made or head
            work.progress(f"committed snapshot {self.made.id}")
            return {"made": self.made.as_written()}
        raise AssertionError("the last try returns or raises")

    def landed(self, hold: Hold) -> Landed:
        tried = hold.journaled.noted(TRY, _Try)
        if tried is None:
            return Landed.NO
        after, token = snapshot_of(tried.head).id, self.work.token
        landed, self.made = find_commit(self.work.files, self.root, token, after, may_go_on=tried.may_go_on)
        return landed

    def is_void(self, hold: Hold) -> bool:
        self._remember(hold)
        made = self.made
        if made is None or _RECORDED in hold.steps or made.id <= self.head(hold).id:
            return False
        path = self.root.snapshot(made.id)
        [there] = self.work.files.read_many([path])
        return there is not None and point_of(Snapshot.from_json(there, path)) != point_of(made)

    def finish(self, hold: Hold) -> None:
        self._remember(hold)
        self._find_before(hold)
        self.before = self.head(hold)
        if _RECORDED not in hold.steps:
            # The last check before success is reported. A person who says that it was committed has checked.
            if self.made is not None and not self.is_assumed and self.is_void(hold):
                raise overwritten(self.root, self.made.id)
            if self.made is None:
                self.landed(hold)
            self.record(hold)
            hold.note(_RECORDED, None if self.made is None else {"made": self.made.as_written()})
        # From here on the commit may expire: a recovery finds everything in the journal.
        release_expiry(self.work.files, self.root, self.work.token)

    @property
    def moved(self) -> tuple[Point, Point]:
        """Main's newest snapshot before and after, once finished.

        If a person had to say that the commit was made, only its id is known. The point then names no
        existing snapshot, so that a later state of main is not taken for it.
        """
        assert self.before is not None
        lost = Point(id=self.before.id + 1, delta_manifest_list="")
        return point_of(self.before), lost if self.made is None else point_of(self.made)

    def edits(self) -> Edits | None:
        """None if the commit has expired, so can't be main's newest snapshot, or if nothing was written."""
        if self.made is None or self._lacks_before or not self.has_moved:
            return None
        before, made = self.moved
        return Edits(rows=self.edit(before, made))

    def edit(self, before: Point, after: Point) -> RowsEdit:
        return RowsEdit(root=self.root.branch, before=before, after=after)

    @property
    def has_moved(self) -> bool:
        """Whether main has another newest snapshot, once finished."""
        before, made = self.moved
        return before != made

    def kept_and_replaced(self) -> tuple[Item, ...]:
        """Once finished: what keeps the earlier main, with what others committed since the plan."""
        kept = Item("keeps", f"main until now, as savepoint {self.safety}")
        before, planned = self.before, self.work.plan.main_at
        later = 0 if before is None or planned is None else before.id - planned.id
        if later <= 0 or before is None or saved(self.work.files, self.root, before.id) != self.safety:
            return (kept,)
        since = f"{counted(later, 'commit')} since the plan, too, from the newest rows: the savepoint has "
        return (Item("loses", since + ("it" if later == 1 else "them"), "commits-leave-main"), kept)

    @abstractmethod
    def record(self, hold: Hold) -> None:
        """Record what the commit did, for later merges and undos. Idempotent."""

    def take_back(self, hold: Hold) -> None:
        release_expiry(self.work.files, self.root, self.work.token)
        for each in hold.journaled.all_noted(_SAFE, _Safe):
            self._forget(each.savepoint, each.is_new)
        self._tell_kept()

    def _tell_kept(self) -> None:
        """Say which of the new schemas main has by now, and keeps: a job may have opened it with one."""
        new = self.state.new_schemas
        there = self.work.files.read_many([self.root.schema(number) for number, _ in new])
        kept = [str(number) for (number, data), now in zip(new, there, strict=True) if now == data]
        if kept:
            noun, stay, use = ("schema", "stays", "it") if len(kept) == 1 else ("schemas", "stay", "them")
            text = f"{noun} {', '.join(kept)} of {self.work.table.full_name} {stay}"
            self.work.progress(Remark(f"{text}: a job may use {use} already"))

    def head(self, hold: Hold) -> Snapshot:
        """Main's newest snapshot, on which the rows were last written."""
        tried = hold.journaled.noted(TRY, _Try)
        return self.first_head if tried is None else snapshot_of(tried.head)

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        hold = Hold(self.work.context, self.work.table, interrupted, "")
        landed = Landed.YES if interrupted.is_committed else self.landed(hold)
        if landed is Landed.YES:
            name = f"{self.place} of {self.work.table.full_name}"
            return [Step("check", name, "it was committed: what follows is done")]
        if landed is Landed.UNKNOWN:
            return [Step("check", self.place, "nothing tells any more whether it was committed")]
        return [Step("check", self.place, "nothing was committed: it is as it was")]

    def _find_before(self, hold: Hold) -> None:
        """If others committed while rows were written, find main right before the commit, and keep it safe.

        The reader that `hold_expiry` registered keeps that snapshot until then.
        """
        tried, made, files = hold.journaled.noted(TRY, _Try), self.made, self.work.files
        if tried is None or not tried.may_go_on or made is None or made.id <= self.head(hold).id + 1:
            return
        path = self.root.snapshot(made.id - 1)
        [data] = files.read_many([path])
        if data is None:
            self._lacks_before = True
            return
        before = Snapshot.from_json(data, path)
        schema = Lineage(files, self.root).schema(before.schema_id)
        try:
            self._keep_safe(hold, RewriteBase(ChosenSnapshot(self.root, before, data), schema))
        except Refused as error:
            self.work.progress(Remark(f"{error.message}: savepoint {self.safety} keeps an earlier main"))
        hold.note(TRY, {"head": before.as_written()})

    def _keep_safe(self, hold: Hold, start: RewriteBase) -> None:
        comment = self.safety_comment()
        if comment is None:
            return
        before, is_new = self.safety, False
        self.safety, is_new = keep_safe(self.work.context, start, comment, self.work.progress)
        hold.note(_SAFE, {"savepoint": self.safety, "is_new": is_new})
        if before is not None and before != self.safety:
            kept = hold.journaled.all_noted(_SAFE, _Safe)
            [was_new] = [each.is_new for each in kept if each.savepoint == before][-1:]
            self._forget(before, was_new)

    def _forget(self, savepoint: int, is_new: bool) -> None:
        if is_new:
            forget_savepoint(self.work.context, self.root, savepoint, self.work.progress)

    def _has_moved(self, start: RewriteBase) -> bool:
        now = choose(self.work.files, start.root, None)
        return now is None or point_of(now.snapshot) != point_of(start.head.snapshot)

    def _remember(self, hold: Hold) -> None:
        """After a crash: restore from the journal what is known."""
        for step in (_RECORDED, COMMITTED):
            noted = hold.journaled.noted(step, _Made)
            if self.made is None and noted is not None and noted.made:
                self.made = snapshot_of(noted.made)
        if self.safety is None and (kept := hold.journaled.noted(_SAFE, _Safe)) is not None:
            self.safety = kept.savepoint


def as_planned_or_gone_on(
    work: Work, find: Callable[[], P], may_go_on: Callable[[P], bool] = lambda planned: True
) -> P:
    """Find the state again; it equals the plan's, or differs only by later commits of jobs to main.

    `may_go_on` is false if later commits are not allowed. Raises `Refused`.
    """
    plan = work.plan
    try:
        planned = find()
    except NotFound as error:
        raise Refused(error.message, "That was different when the plan was made: make a new plan.") from error
    if planned.fingerprint != plan.fingerprint and not (
        may_go_on(planned) and _has_only_gone_on(work, planned)
    ):
        require_unmoved(work.table, plan, planned.fingerprint)
    return planned


def _has_only_gone_on(work: Work, now: Planned) -> bool:
    """Whether main still has its newest snapshot of the plan, and everything else is unchanged."""
    planned = work.plan.main_at
    if planned is None or now.lasting != work.plan.lasting:
        return False
    record = Side(work.files, now.start.root, ancestors_only=True).record(planned.id)
    return record is not None and planned.is_of(record)


def snapshot_of(written: Mapping[str, Any]) -> Snapshot:
    """The snapshot that is written in a journal."""
    return Snapshot.from_json(msgspec.json.encode(written), "the journal")
