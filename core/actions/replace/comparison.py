"""Compare main with the branch that is to replace it: files to copy, clashes, losses. Reads only.

For the plan, again once the lock is taken, and at the point of no return.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from paimark.core.actions.change.change import Work
from paimark.core.actions.change.journal import Hold
from paimark.core.actions.checks import fingerprint, link_refusals, moved
from paimark.core.actions.context import Context, Remark
from paimark.core.actions.plan import Plan, Refusal, raise_first
from paimark.core.actions.plan_wording import Writer, job_that_writes
from paimark.core.actions.replace.pointer import Replacement, digests, earliest_of, has_head, sides
from paimark.core.actions.roots.barrier import stray_commits
from paimark.core.actions.roots.branch_files import is_protected
from paimark.core.actions.roots.root_files import has_more, snapshot_ids
from paimark.core.actions.roots.root_state import RootState, moving_refusals, state
from paimark.core.actions.row_checks.checking import is_checked
from paimark.core.errors import NotFound
from paimark.core.storage.files import Files
from paimark.core.storage.parallel import each_of
from paimark.core.table.commits import stored
from paimark.core.table.layout import Root, TablePath, savepoint_tag
from paimark.core.table.lineage.forks import Fork, Side, find_fork
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.lost_newest import require_newest, tags_beyond
from paimark.core.table.lineage.main_branch import all_roots, branch_root, main_root
from paimark.core.table.read_tags import is_of_read
from paimark.core.table.records import TableSchema, is_same_commit, point_of
from paimark.core.table.savepoints import SavepointManager, tagged_savepoints


@dataclass(frozen=True)
class Takeover:
    """Main, the branch, and the parts of main's past that the branch lacks.

    `older` are the ids of main's snapshots directly below the branch's own, without a gap; `tags` and
    `schema_ids` are main's from before the fork. `clashes` are tag names at two different snapshots;
    `has_gap` is true when the branch has expired its own past, so that main's does not continue it.
    `main_warnings` and `branch_warnings` say what makes one look shorter than it may have been.
    """

    main: RootState
    branch: RootState
    fork: Fork
    older: range
    tags: tuple[str, ...]
    schema_ids: tuple[int, ...]
    clashes: tuple[str, ...]
    has_gap: bool
    main_warnings: tuple[str, ...]
    branch_warnings: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.main.fingerprint, self.branch.newest, str(self.has_gap))

    @property
    def lasting(self) -> str:
        """The fingerprint of what stays while jobs commit to the branch."""
        branch = self.branch
        defined = (branch.root.directory, str(branch.schema_id), branch.schema)
        return fingerprint(self.main.fingerprint, *defined, str(self.has_gap))

    @property
    def description(self) -> str:
        return f"{self.main.description} and {self.branch.description}"


def survey_takeover(files: Files, main: Root, branch: Root) -> Takeover:
    """Raises `NotFound` and `Corrupt`."""
    left, right = Side(files, main), Side(files, branch)
    fork = find_fork(left, right)
    shared = fork.snapshot_id if fork.is_proven else None
    tags, clashes = _older_tags(left, right, shared)
    # The newest snapshots are read last, so that a concurrent move is noticed.
    schema_ids = _older_schemas(left, right)
    begins = right.snapshot_ids[0] if right.snapshot_ids else 0
    return Takeover(
        main=state(files, main),
        branch=state(files, branch),
        fork=fork,
        older=_older_snapshots(left, right, shared),
        tags=tags,
        schema_ids=schema_ids,
        clashes=clashes,
        has_gap=shared is not None and begins > shared + 1,
        main_warnings=tags_beyond(left),
        branch_warnings=tags_beyond(right),
    )


def savepoints_held_alone(files: Files, root: Root, besides: Root | None = None) -> list[int]:
    """The ids of the savepoints whose tag exists only in this root, and in `besides`."""
    table = root.table
    own = [each.id for each in SavepointManager(files, table).of_root(root)]
    if not own:
        return []
    others = [each for each in all_roots(files, table) if each not in (root, besides)]
    held = set[int]().union(*each_of(partial(tagged_savepoints, files), others))
    return [each for each in own if each not in held]


def replacement_of(
    takeover: Takeover, files: Files, archive: str | None, *, drops_previous: bool
) -> Replacement:
    """The state of a replacement that begins now, for the journal."""
    older, branch = takeover.older, takeover.branch
    assert branch.head is not None, "a plan for such a branch is refused"
    return Replacement(
        branch=branch.root.label,
        previous=takeover.main.root.branch,
        archive=archive,
        first_older=older.start,
        last_older=older.stop - 1,
        tags=takeover.tags,
        schema_ids=takeover.schema_ids,
        earliest_hint=earliest_of(files, branch.root),
        branch_schema_id=branch.schema_id,
        branch_schema=branch.schema.decode(),
        main_schema_id=takeover.main.schema_id,
        main_schema=takeover.main.schema.decode(),
        branch_head=point_of(branch.head.snapshot),
        main_fingerprint=takeover.main.fingerprint,
        tag_digests=tuple(digests(files, [takeover.main.root.tag(name) for name in takeover.tags])),
        drops_previous=drops_previous,
        main_head=point_of(takeover.main.head.snapshot) if takeover.main.head else None,
        shared=(takeover.fork.snapshot_id or 0) if takeover.fork.is_proven else 0,
        main_tags=tuple(Lineage(files, takeover.main.root).tag_names()),
    )


def as_planned(context: Context, table: TablePath, plan: Plan) -> Takeover:
    """Compare main and the branch again. Raises `Refused`, with both states, when it differs from the plan's.

    Jobs may have committed to the branch since, unless the plan is of exactly what the branch had.
    """
    files, seen = context.files, str(plan.arguments["seen"])
    try:
        branch = branch_root(files, table, str(plan.arguments["name"]))
        takeover = survey_takeover(files, main := main_root(files, table), branch)
    except NotFound as error:
        raise moved(table, seen, error.message) from error
    if takeover.fingerprint != plan.fingerprint and not _only_branch_went_on(files, plan, takeover):
        if main == branch:
            raise moved(table, seen, f"{branch.label} is main")
        raise moved(table, seen, takeover.description, _writer_of_main(files, takeover, seen))
    raise_first(clash_refusals(takeover))
    require_newest(files, branch)
    return takeover


def _writer_of_main(files: Files, now: Takeover, seen: str) -> Writer | None:
    """Whoever moved main on since the plan: nobody if main is as it was, or is another branch."""
    main = now.main
    moved_on = seen.startswith(f"{main.root.label} at ") and not seen.startswith(f"{main.description} and ")
    return job_that_writes(files, main.root) if moved_on else None


def _only_branch_went_on(files: Files, plan: Plan, now: Takeover) -> bool:
    then, head = plan.main_at, now.branch.head
    if _is_exact(plan) or now.lasting != plan.lasting or then is None or head is None:
        return False
    return head.snapshot.id >= then.id and stored(files, now.branch.root, then) is not None


def require_still(work: Work, hold: Hold, replacement: Replacement, *, begins: bool = False) -> None:
    """Main is still as planned, and the branch is too, or has only gone on from there.

    Its jobs keep running; main gets their commits too, unless the plan is of exactly what the branch had.
    Nothing is written yet when it `begins`. Raises `Refused`, with both states, and `TakenOver`.
    """
    table, between, seen = work.table, sides(work.table, replacement), str(work.plan.arguments["seen"])
    files = work.files
    hold.require()
    if main_root(files, table) != between.main:
        raise moved(table, seen, f"main is {main_root(files, table).label}")
    main, branch = state(files, between.main), state(files, between.branch)
    copy = None if begins else between.archive
    is_same_main = main.fingerprint == replacement.main_fingerprint and not _has_expired(
        files, between.main, copy, replacement
    )
    stayed = branch.head is not None and point_of(branch.head.snapshot) == replacement.branch_head
    went_on = _went_on(files, replacement, branch, is_switched_off=not begins)
    if not is_same_main or not went_on or (_is_exact(work.plan) and not stayed):
        writer = None if is_same_main else job_that_writes(files, between.main)
        raise moved(table, seen, f"{main.description} and {branch.description}", writer)
    refusals = moving_refusals(work.context, between.main)
    if replacement.drops_previous:
        takeover = survey_takeover(files, between.main, between.branch)
        refusals += loss_refusals(files, takeover, besides=copy)
    if begins and between.archive is not None and files.entries(between.archive.directory):
        reason = f"{table.full_name} has a branch {between.archive.label} already"
        refusals.append(Refusal(reason, "Make a new plan."))
    raise_first(refusals)
    if not stayed:
        work.progress(Remark(f"the branch went on: {branch.description}"))


def _is_exact(plan: Plan) -> bool:
    """Whether it is of exactly what the branch had."""
    return is_checked(plan) or plan.arguments.get("up_to") is not None


def clash_refusals(takeover: Takeover) -> list[Refusal]:
    """That the branch is a part of main's chain; tags of both with one name and different snapshots."""
    main, branch = takeover.main, takeover.branch.root
    options = TableSchema.from_json(main.schema, main.root.schema(main.schema_id)).options
    refusals = link_refusals(options, branch)
    if takeover.clashes:
        reason = f"Tags of one name hold different snapshots: {', '.join(takeover.clashes)}"
        refusals.append(Refusal(reason, "Delete one of each, then make a new plan."))
    return refusals


def loss_refusals(files: Files, takeover: Takeover, besides: Root | None = None) -> list[Refusal]:
    """The savepoints that dropping main would lose; `besides` is the archive, main's own copy."""
    alone = [
        str(each)
        for each in savepoints_held_alone(files, takeover.main.root, besides)
        if savepoint_tag(each) not in takeover.tags
    ]
    if not alone:
        return []
    reason = f"Dropping the previous main would lose savepoint {', '.join(alone)}"
    return [Refusal(reason, "Delete what nobody needs first, or leave --drop-previous out.")]


def late_in(files: Files, archive: Root, replacement: Replacement) -> str:
    """Describe what the previous main got since the plan, and must be kept; empty for nothing."""
    lineage = Lineage(files, archive)
    made = {*lineage.tag_names()}.difference(replacement.main_tags)
    if tags := sorted(each for each in made if not is_of_read(each)):
        return f"tag {', '.join(tags)} was made there meanwhile"
    head = replacement.main_head
    committed = [number for number in lineage.snapshot_ids() if head is None or number > head.id]
    # A late commit is built on the previous main's snapshots, and can't be rescued without them.
    committed += [each.id for each in stray_commits(files, archive.table)]
    if committed:
        return f"snapshot {committed[-1]} was committed there meanwhile"
    # After a rollback, later commits have ids that are not above the head.
    if head is not None and not is_whole_copy(files, archive, replacement):
        return f"snapshot {head.id} was rolled back there meanwhile"
    return ""


def _has_expired(files: Files, main: Root, copy: Root | None, replacement: Replacement) -> bool:
    """Whether copied snapshots have expired since, so that the copies have no files."""
    there = snapshot_ids(files, main)
    if not {*there}.issuperset(replacement.older):
        return True
    return copy is not None and there != snapshot_ids(files, copy)


def _went_on(files: Files, replacement: Replacement, now: RootState, *, is_switched_off: bool) -> bool:
    """Whether the branch still has the planned state, and its schema, with stock retention off by now."""
    is_same = now.schema == replacement.branch_schema.encode()
    if is_switched_off:
        is_same = is_protected(now.schema, now.root.schema(now.schema_id))
    if not is_same or now.schema_id != replacement.branch_schema_id:
        return False
    is_behind = now.head is None or now.head.snapshot.id < replacement.branch_head.id
    return not is_behind and has_head(files, now.root, replacement)


# Between the crash and the recovery another engine may roll main back, or delete tags that it made by itself.
# The archive then has more than main, although nobody has worked on it.
def nothing_came(files: Files, archive: Root, main: Root, replacement: Replacement) -> bool:
    """Whether it has no later commit than main had, and no tag that main neither had nor has."""
    head = 0 if replacement.main_head is None else replacement.main_head.id
    return not has_more(files, archive, head, main, replacement.main_tags)


def is_whole_copy(files: Files, archive: Root, replacement: Replacement) -> bool:
    """Whether its newest commit is exactly main's: the earlier ones were copied before it.

    False if that commit was not copied yet: a job may have made a commit with that id.
    """
    return replacement.main_head is not None and stored(files, archive, replacement.main_head) is not None


def _older_snapshots(main: Side, branch: Side, shared: int | None) -> range:
    """Main's ids directly below the branch's own, down to the first gap."""
    if shared is None or not branch.snapshot_ids or branch.snapshot_ids[0] > shared + 1:
        return range(0)
    there = set(main.snapshot_ids)
    end = branch.snapshot_ids[0]
    start = end
    while start - 1 in there:
        start -= 1
    return range(start, end)


def _older_tags(main: Side, branch: Side, shared: int | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    copied, clashes = [], []
    for name, tag in main.tags.items():
        if shared is None or tag.id > shared:
            continue
        if name not in branch.tags:
            copied.append(name)
        elif not is_same_commit(tag, branch.tags[name]):
            clashes.append(f"{name} (snapshot {tag.id} of main, {branch.tags[name].id} of the branch)")
    return tuple(copied), tuple(clashes)


def _older_schemas(main: Side, branch: Side) -> tuple[int, ...]:
    """Main's schemas that the branch lacks, below its newest: a newer one would become its newest."""
    ids = branch.lineage.schema_ids()
    newest = ids[-1] if ids else -1
    return tuple(each for each in main.lineage.schema_ids() if each < newest and each not in set(ids))
