"""Checks of a replacement of main: before it begins, and again at the point of no return."""

from __future__ import annotations

from msgspec import structs

from paimark.core.actions.change.journal import Hold
from paimark.core.actions.checks import fingerprint, link_refusals
from paimark.core.actions.context import Context, Progress, Remark
from paimark.core.actions.plan import Plan, Refusal, raise_first
from paimark.core.actions.replace.comparison import Takeover, moved, savepoints_held_alone, survey_takeover
from paimark.core.actions.replace.pointer import Replacement, Sides, has_head, replacement_of, sides
from paimark.core.actions.roots.barrier import stray_commits
from paimark.core.actions.roots.branch_files import is_protected
from paimark.core.actions.roots.root_files import has_more, unwritable_paths
from paimark.core.actions.roots.root_state import RootState, state
from paimark.core.actions.roots.savepoint_claim import claimed_ids, read_claim
from paimark.core.actions.row_checks.checking import is_checked
from paimark.core.actions.said import job_that_writes
from paimark.core.errors import NotFound, Refused
from paimark.core.storage.files import Files, read_if_there
from paimark.core.storage.paths import unwritable
from paimark.core.table.layout import SNAPSHOT_PREFIX, Root, TablePath, numbered, savepoint_tag
from paimark.core.table.lineage.lineage import Lineage
from paimark.core.table.lineage.lost_newest import require_newest
from paimark.core.table.lineage.main_branch import branch_root, main_root
from paimark.core.table.records import TableSchema


def head_of(branch: RootState) -> dict[str, str | int | bool | None]:
    """The arguments of a plan by which the branch's newest snapshot is found again."""
    if branch.head is None:
        return {}
    return {"branch_head": branch.head.snapshot.id, "branch_digest": fingerprint(branch.head.data)}


def as_planned(context: Context, table: TablePath, plan: Plan) -> Takeover:
    """Survey the takeover again. Raises `Refused`, with both states, when it differs from the plan's.

    Jobs may have committed to the branch since, unless the plan is of exactly what the branch had.
    """
    files, seen = context.files, str(plan.arguments["seen"])
    try:
        branch = branch_root(files, table, str(plan.arguments["name"]))
        takeover = survey_takeover(files, main := main_root(files, table), branch)
    except NotFound as error:
        raise moved(table, seen, error.message) from error
    if takeover.fingerprint != plan.fingerprint and not _only_branch_went_on(files, plan, takeover):
        raise moved(table, seen, takeover.description, job_that_writes(files, main))
    raise_first(clash_refusals(takeover))
    require_newest(files, branch)
    return takeover


def _only_branch_went_on(files: Files, plan: Plan, now: Takeover) -> bool:
    then, head = plan.arguments.get("branch_head"), now.branch.head
    if is_checked(plan) or plan.arguments.get("up_to") is not None or now.lasting != plan.lasting:
        return False
    if not isinstance(then, int) or head is None or head.snapshot.id < then:
        return False
    data = read_if_there(files, now.branch.root.snapshot(then))
    return data is not None and fingerprint(data) == plan.arguments.get("branch_digest")


def require_free(context: Context, takeover: Takeover, replacement: Replacement) -> None:
    """Raises `Refused` for obstacles that appeared since the plan was made."""
    refusals = moving_refusals(context, takeover.main.root)
    if replacement.drops_previous:
        refusals += loss_refusals(context.files, takeover)
    raise_first(refusals)
    table = takeover.main.root.table
    now = replacement_of(
        takeover, context.files, replacement.archive, drops_previous=replacement.drops_previous
    )
    if not _has_only_gone_on(context.files, takeover.branch.root, replacement, now):
        raise Refused(f"The history of {table.full_name} has just changed", "Make a new plan.")
    if replacement.archive is not None and context.files.entries(table.root(replacement.archive).directory):
        raise Refused(f"{table.full_name} has a branch {replacement.archive} already", "Make a new plan.")


def _has_only_gone_on(files: Files, branch: Root, then: Replacement, now: Replacement) -> bool:
    """Whether jobs at most went on with the branch. `as_planned` refuses that if it is not agreed to."""
    head, digest = then.branch_head, then.branch_head_digest
    same = structs.replace(now, branch_head=head, branch_head_digest=digest, seen=then.seen)
    return same == then and (now == then or has_head(files, branch, then))


def require_still(hold: Hold, replacement: Replacement, progress: Progress, *, exactly: bool = False) -> None:
    """Main is still as planned, and the branch is too, or has only gone on from there if not `exactly`.

    Its jobs keep running; main gets their commits too. Raises `Refused`, with both states, and `TakenOver`.
    """
    context, table, between = hold.context, hold.table, sides(hold.table, replacement)
    files = context.files
    hold.require()
    if main_root(files, table) != between.main:
        raise moved(table, replacement.seen, f"main is {main_root(files, table).label}")
    main, branch = state(files, between.main), state(files, between.branch)
    is_same_main = main.fingerprint == replacement.main_fingerprint and not _has_expired(
        files, between, replacement
    )
    stayed = branch.head is not None and branch.head.snapshot.id == replacement.branch_head
    if not is_same_main or not _went_on(files, replacement, branch) or (exactly and not stayed):
        writer = None if is_same_main else job_that_writes(files, between.main)
        raise moved(table, replacement.seen, f"{main.description} and {branch.description}", writer)
    refusals = moving_refusals(context, between.main)
    if replacement.drops_previous:
        takeover = survey_takeover(files, between.main, between.branch)
        refusals += loss_refusals(files, takeover, besides=between.archive)
    raise_first(refusals)
    if branch.head is not None and branch.head.snapshot.id != replacement.branch_head:
        progress(Remark(f"the branch went on: {branch.description}"))


def clash_refusals(takeover: Takeover) -> list[Refusal]:
    """That the branch is a part of main's chain; tags of both with one name and different snapshots."""
    main, branch = takeover.main, takeover.branch.root
    options = TableSchema.from_json(main.schema, main.root.schema(main.schema_id)).options
    refusals = link_refusals(options, branch)
    if takeover.clashes:
        reason = f"Tags of one name hold different snapshots: {', '.join(takeover.clashes)}"
        refusals.append(Refusal(reason, "Delete one of each, then make a new plan."))
    return refusals


def moving_refusals(context: Context, root: Root) -> list[Refusal]:
    """Why a root can't be moved or removed now: savepoints in the making would lose their tags there, and
    files of others whose names can't be written would stay behind.
    """
    strange = map(unwritable, unwritable_paths(context.files, root))
    refusals = [Refusal(each.message, each.hint) for each in strange]
    for number in claimed_ids(context, root.table):
        claim = read_claim(context, root.table, number)
        if claim is not None and claim.root == root.branch:
            reason = f"Savepoint {number} of {root.label} is still being made"
            refusals.append(Refusal(reason, "Wait for it, or run `paimark recover`."))
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
    if tags := sorted({*lineage.tag_names()}.difference(replacement.main_tags)):
        return f"tag {', '.join(tags)} was made there meanwhile"
    committed = [number for number in lineage.snapshot_ids() if number > replacement.main_head]
    # A late commit is built on the previous main's snapshots, and can't be rescued without them.
    committed += [each.id for each in stray_commits(files, archive.table)]
    if committed:
        return f"snapshot {committed[-1]} was committed there meanwhile"
    # After a rollback, later commits have ids that are not above the head.
    if replacement.main_head_digest and not is_whole_copy(files, archive, replacement):
        return f"snapshot {replacement.main_head} was rolled back there meanwhile"
    return ""


def _has_expired(files: Files, between: Sides, replacement: Replacement) -> bool:
    """Whether copied snapshots have expired since, so that the copies have no files."""
    there = set(numbered(files.names(between.main.snapshots), SNAPSHOT_PREFIX))
    if not there.issuperset(replacement.older):
        return True
    if between.archive is None:
        return False
    return there != set(numbered(files.names(between.archive.snapshots), SNAPSHOT_PREFIX))


def _went_on(files: Files, replacement: Replacement, now: RootState) -> bool:
    """Whether the branch still has the planned state, and its newest schema disables stock retention."""
    path = now.root.schema(now.schema_id)
    if not is_protected(now.schema, path) or now.schema_id != replacement.branch_schema_id:
        return False
    if replacement.branch_head is None or now.head is None or now.head.snapshot.id < replacement.branch_head:
        return False
    [data] = files.read_many([now.root.snapshot(replacement.branch_head)])
    return data is not None and fingerprint(data) == replacement.branch_head_digest


# Between the crash and the recovery another engine may roll main back, or delete tags that it made by itself.
# The archive then has more than main, although nobody has worked on it.
def nothing_came(files: Files, archive: Root, main: Root, replacement: Replacement) -> bool:
    """Whether it has no later commit than main had, and no tag that main neither had nor has."""
    return not has_more(files, archive, replacement.main_head, main, replacement.main_tags)


def is_whole_copy(files: Files, archive: Root, replacement: Replacement) -> bool:
    """Whether its newest commit is exactly main's: the earlier ones were copied before it.

    False if that commit was not copied yet: a job may have made a commit with that id.
    """
    head = read_if_there(files, archive.snapshot(replacement.main_head))
    return head is not None and fingerprint(head) == replacement.main_head_digest
