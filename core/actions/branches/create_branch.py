"""`create-branch`: make a branch root from a snapshot of main, or from a tag of one that may have expired."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import msgspec

from paimark.core.actions.branches import branch_origin
from paimark.core.actions.change import journal
from paimark.core.actions.change.change import Change, Done, Landed, Work
from paimark.core.actions.change.journal import Hold, JournaledChange
from paimark.core.actions.checks import require_unmoved, required_text
from paimark.core.actions.context import Context, Remark
from paimark.core.actions.garbage import release_pins
from paimark.core.actions.names import name_refusal
from paimark.core.actions.plan import Plan, Refusal, Step, raise_first
from paimark.core.actions.roots.branch_files import (
    BranchSource,
    branch_source,
    clean_unfinished,
    highest_schema_id,
    is_anothers,
    others_files,
    pin_tag,
    remove_unfinished,
    take_back,
    write_branch,
)
from paimark.core.actions.roots.pin_snapshot import (
    ChosenSnapshot,
    cost_of_proof,
    require_held,
    require_whole,
)
from paimark.core.actions.roots.unlocked_changes import made
from paimark.core.actions.roots.waiting import wait_for_readers
from paimark.core.errors import Corrupt, FileMissing, Refused
from paimark.core.storage.files import read_if_there
from paimark.core.table.layout import Root, TablePath
from paimark.core.table.lineage.edits import Edits
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.main_branch import main_root
from paimark.core.table.manifests.files import missing_of
from paimark.core.table.records import Snapshot, Tag, is_same_commit
from paimark.core.text import capitalised

ACTION = "create-branch"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name`, and either `tag`, a tag of main (such as `savepoint.3`), or `snapshot`."""
    files, name = context.files, required_text(arguments, "name")
    headline = f"Create branch {name} of {table.full_name}"
    if (refused := name_refusal(name, "branch")) is not None:
        # The names of its files follow from it.
        return Plan(headline=f"{headline}.", arguments={"name": name}, refusals=(refused,))
    root = main_root(files, table)
    origin = branch_origin.origin_of(context, root, name, arguments)
    chosen = origin.chosen
    resolved: dict[str, str | int | None] = {
        "name": name,
        "tag": origin.tag_name,
        "snapshot": origin.tag.id,
        "pin": origin.pin,
    }
    refusals = _name_refusals(context, table, name) or [*origin.refusals]
    source = None
    try:
        highest = highest_schema_id(files, table, origin.tag)
        data = None if chosen is None else chosen.data
        source = branch_source(files, root, origin.tag_name, highest, origin.pin, data)
    except FileMissing as error:
        refusals.append(Refusal(_not_whole(resolved, error.message), "Choose one that is whole."))
    return Plan(
        headline=f"{headline} from {branch_origin.said_with_id(resolved)}.",
        arguments={**resolved, "highest_schema": source.highest_schema if source else None},
        fingerprint=source.fingerprint if source else "",
        steps=_steps(source, table.root(name)) if source else (),
        items=tuple(branch_origin.items(origin)),
        cost="no data file" if chosen is None else cost_of_proof(context, chosen),
        refusals=tuple(refusals),
        undo=table.undo,
    )


class CreateBranchState(msgspec.Struct, frozen=True):
    """The branch to create, and the tag of main that it starts from."""

    name: str  # the branch
    tag: str  # the tag of main that it is made from; for a snapshot the pin, which this change makes
    snapshot: int  # the tag's snapshot


class CreateBranch(Change[CreateBranchState]):
    """Write a branch root. It can't be opened before its schemas, which are written last."""

    State = CreateBranchState

    def __init__(self, work: Work, state: CreateBranchState) -> None:
        super().__init__(work, state)
        # Why the branch can't be made whole.
        self._lacks = ""
        # Paths that this process may have created: files of others with the same names are not taken back.
        self._written: list[str] = []

    @classmethod
    def begin(cls, work: Work) -> Self:
        name = str(work.plan.arguments["name"])
        source = _source_as_planned(work.context, work.table, work.plan)
        raise_first(_name_refusals(work.context, work.table, name))
        return cls(work, CreateBranchState(name, source.tag_name, source.snapshot_id))

    @property
    def _branch(self) -> Root:
        return self.work.table.root(self.state.name)

    @property
    def _paths(self) -> list[str]:
        return _paths(self.work.plan, self._branch)

    def prepare(self, hold: Hold) -> None:
        work = self.work
        source = _source_as_planned(work.context, work.table, work.plan)
        if branch_origin.is_snapshot(work.plan.arguments):
            self._pin_snapshot(source)
        else:
            pin_tag(work.files, source)
            if source.pin:
                self._wait_for_expiries(source)
        for sentence in write_branch(work.files, source, self._branch, self._written):
            hold.note(sentence)
            work.progress(sentence)
            # The branch depends on main's tag: if that is gone, nothing keeps the files.
            _source_as_planned(work.context, work.table, work.plan, is_tagged=True)

    def _pin_snapshot(self, source: BranchSource) -> None:
        """Make main keep the snapshot. Raises `Refused` if an expiry was faster."""
        work, path = self.work, source.root.snapshot(source.snapshot_id)
        chosen = ChosenSnapshot(source.root, Snapshot.from_json(source.tag_data, path), source.tag_data)
        needed = require_whole(work.context, chosen, work.progress)
        pin_tag(work.files, source)
        require_held(work.context, chosen, needed, work.progress)

    def _wait_for_expiries(self, source: BranchSource) -> None:
        """Wait for an expiry that has read the tags before the pin was there. Raises `Refused`.

        It deletes the tag right after reading, and then, for as long as it takes, the files that the pin is
        to keep. So a tag that outlives the wait is deleted only by who knows the pin.
        """
        work, root = self.work, source.root
        wait_for_readers(work.context, len(work.files.names(root.tags)), "tags", work.progress)
        _source_as_planned(work.context, work.table, work.plan)
        tag = Tag.from_json(source.tag_data, root.tag(source.tag_name))
        [data] = work.files.read_many([root.tag(source.pin)])
        if data is None or not is_same_commit(Tag.from_json(data, root.tag(source.pin)), tag):
            raise Refused(
                f"Another engine changed tag {source.pin} of {work.plan.table} just then", "Look again."
            )
        if missing := missing_of(work.files, root, tag):
            reason = _not_whole(work.plan.arguments, f"{missing[0]} does not exist")
            raise Refused(reason, "Choose one that is whole.")

    def landed(self, hold: Hold) -> Landed:
        """A branch that others write to counts as made, even if incomplete: it can't be taken back."""
        if hold.token == self.work.token:
            return Landed.YES if self._is_ours() and self._others_files() else Landed.NO
        if self._is_anothers():
            return Landed.NO
        return Landed.YES if self._is_whole() or self._others_files() else Landed.NO

    def finish(self, hold: Hold) -> None:
        work = self.work
        if self._is_anothers() or self._is_whole():
            return
        try:
            source = _source_as_planned(work.context, work.table, work.plan, is_tagged=True)
        except (Refused, Corrupt) as error:
            self._lacks = error.message
            return
        for sentence in write_branch(work.files, source, self._branch, None):
            work.progress(sentence)

    def take_back(self, hold: Hold) -> None:
        if hold.token == self.work.token:
            take_back(self.work.files, self._branch, self._written)
        else:
            if not remove_unfinished(self.work.files, self._paths, self._branch, self._newest_schema):
                self.work.progress(Remark(f"branch {self.state.name} stays: another engine made it"))
        if self.work.plan.arguments.get("pin") and not self.work.files.entries(self._branch.directory):
            context, progress, snapshot = self.work.context, self.work.progress, self.state.snapshot
            release_pins.release(context, hold, self.state.name, progress, snapshot=snapshot)

    def clean(self) -> None:
        files, table, pin = self.work.files, self.work.table, self.work.plan.arguments.get("pin")
        # The tag of main, and its guard.
        pins = {root.tag(str(pin)) for root in (main_root(files, table), table.root()) if pin}
        clean_unfinished(files, self._branch, [*self._paths, *sorted(pins)])

    def edits(self) -> Edits | None:
        root = self._branch
        if self._is_anothers() or not Lineage(self.work.files, root).schema_ids():
            # Another engine made it, or it stays unfinished because others wrote to it.
            return None
        return Edits(made=made(self.work.files, self.work.table, "branch", root.label))

    def done(self) -> Done:
        name, source = self.state.name, self.state
        branch = f"branch {name} of {self.work.plan.table}"
        given = self.work.plan.arguments
        message = f"Created {branch} from {branch_origin.said_with_id(given)}"
        if self._is_anothers():
            message = f"{capitalised(branch)} is another one, which another engine made since"
        elif self._lacks:
            others = ", ".join(self._others_files())
            message = f"{capitalised(branch)} stays unfinished, for others wrote {others}: {self._lacks}"
        return Done(
            message=message,
            result={"branch_name": name, "tag_name": source.tag, "snapshot_id": source.snapshot},
            before="no such branch",
            after=f"branch {name} from {branch_origin.said(given)}",
        )

    def recovery_steps(self, interrupted: JournaledChange) -> list[Step]:
        what = f"branch {self.state.name}"
        if self._is_anothers():
            return [Step("check", what, "another engine made it: it stays")]
        if self._is_whole():
            return [Step("check", what, "it is whole")]
        if self._others_files():
            return [Step("create", what, "what is missing of it: others write to it already")]
        return [Step("delete", what, "it was not finished")]

    def _is_whole(self) -> bool:
        return all(self.work.files.exists(path) for path in self._paths)

    def _is_ours(self) -> bool:
        """Whether the branch can be opened, and no other engine has made it."""
        path = self._branch.schema(self._newest_schema)
        return self.work.files.exists(path) and not self._is_anothers()

    def _is_anothers(self) -> bool:
        """Whether another engine has made a branch of this name, which Paimark must not change."""
        return is_anothers(self.work.files, self._branch, self._newest_schema)

    @property
    def _newest_schema(self) -> int:
        return int(self.work.plan.arguments["highest_schema"] or 0)

    def _others_files(self) -> list[str]:
        return others_files(self.work.files, self._paths, self._branch)


def root_being_made(context: Context, table: TablePath) -> Root | None:
    """The branch that a running or interrupted creation has not finished: it may lack schemas."""
    try:
        begun = journal.current(context, table)
    except Corrupt:
        return None
    if begun is None or begun.journal.change != ACTION:
        return None
    return table.root(str(begun.journal.state.get("name")))


def _source_as_planned(
    context: Context, table: TablePath, plan: Plan, *, is_tagged: bool = False
) -> BranchSource:
    """What the plan saw. A snapshot may have no tag yet, unless it `is_tagged`."""
    arguments, files = plan.arguments, context.files
    try:
        root, data = main_root(files, table), None
        if branch_origin.is_snapshot(arguments) and not is_tagged:
            data = read_if_there(files, root.tag(str(arguments["tag"])))
            data = data or files.read(root.snapshot(int(arguments["snapshot"] or 0)))
        highest = int(arguments["highest_schema"] or 0)
        pin = str(arguments.get("pin") or "")
        source = branch_source(files, root, str(arguments["tag"]), highest, pin, data)
    except FileMissing as error:
        raise Refused(
            f"{error.path} has gone since the plan was made", "Nothing is left of it: make a new plan."
        ) from error
    require_unmoved(table, plan, source.fingerprint)
    return source


def _paths(plan: Plan, branch: Root) -> list[str]:
    """Every path that the creation writes, in the order of writing."""
    arguments = plan.arguments
    schemas = range(int(arguments["highest_schema"] or 0) + 1)
    tags = dict.fromkeys(str(arguments[each]) for each in ("pin", "tag") if arguments.get(each))
    return [
        branch.snapshot(int(arguments["snapshot"] or 0)),
        branch.earliest_hint,
        branch.latest_hint,
        *map(branch.tag, tags),
        *(branch.schema(number) for number in reversed(schemas)),
    ]


def _steps(source: BranchSource, branch: Root) -> tuple[Step, ...]:
    *others, schemas = source.groups(branch)
    size = sum(len(data) for _, data in schemas[1])
    detail = "the newest with retention off: stock expiry on a branch would destroy savepoints"
    up_to = f" to schema-{source.highest_schema}" if source.highest_schema else ""
    steps = [Step("create", path, size=len(data)) for _, group in others for path, data in group]
    if source.pin:
        why = "keeps what the branch needs"
        if source.pin != source.tag_name:
            why += f": tag {source.tag_name} may be deleted without it"
        steps.insert(0, Step("create", source.root.tag(source.pin), why, len(source.pin_data)))
    return (*steps, Step("copy", f"{branch.schema(0)}{up_to}", detail, size))


def _name_refusals(context: Context, table: TablePath, name: str) -> list[Refusal]:
    if refusal := name_refusal(name, "branch"):
        return [refusal]
    if context.files.entries(table.root(name).directory):
        return [Refusal(f"{table.full_name} has a branch {name} already", "Choose another name.")]
    return []


def _not_whole(arguments: Mapping[str, object], why: str) -> str:
    return f"{capitalised(branch_origin.said(arguments))} can't be branched from: {why}"
