"""`create-savepoint`: keep the full state of a table at one snapshot, even after that expires."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from paimark.core.actions import audit
from paimark.core.actions.checks import integer_argument, read_only_refusals, require_allowed, text_argument
from paimark.core.actions.context import Context, Progress
from paimark.core.actions.plan import Done, Item, Outcome, Plan, Refusal, Step
from paimark.core.actions.plan_wording import end_unknown, savepoints_said, unit_in
from paimark.core.actions.roots import guard_tags, savepoint_claim
from paimark.core.actions.roots.pin_snapshot import (
    ChosenSnapshot,
    choose,
    choose_as_planned,
    cost_of_proof,
    expiry_items,
    keep,
)
from paimark.core.actions.roots.unlocked_changes import log, made
from paimark.core.errors import Refused
from paimark.core.figures import counted
from paimark.core.storage.files import Files
from paimark.core.table.catalog import parse_table_name
from paimark.core.table.layout import Root, TablePath, savepoint_tag
from paimark.core.table.lineage.main_branch import branch_root
from paimark.core.table.lineage.notes import Note
from paimark.core.table.records import Savepoint
from paimark.core.table.savepoints import SavepointManager

ACTION = "create-savepoint"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `snapshot` (the newest when None), `branch` (main when None), `comment`."""
    files = context.files
    wanted = integer_argument(arguments, "snapshot")
    comment, branch = text_argument(arguments, "comment"), text_argument(arguments, "branch")
    root = branch_root(files, table, branch)
    chosen = choose(files, root, wanted)
    if chosen is None:
        return _nothing_to_save(context, root)
    new_id = savepoint_claim.next_id(files, table)
    number = chosen.snapshot.id
    return Plan(
        headline=f"Save {root.label} of {table.full_name} as savepoint {new_id} ({_version(files, chosen)}).",
        arguments={
            "snapshot": number,
            "newest": wanted is None,
            "branch": branch,
            "comment": comment.strip() or None if comment else None,
            "savepoint": new_id,
        },
        fingerprint=chosen.fingerprint,
        steps=(
            Step("create", table.savepoint_claim(new_id), "claims the id, removed at the end"),
            Step("copy", root.tag(savepoint_tag(new_id)), f"of snapshot {number}", len(chosen.data)),
            Step("check", f"snapshot {number}", "nothing of it was lost before the tag held it"),
            Step("create", f"{table.savepoints}/manifest-list-<uuid>", "all its manifests in one list"),
            Step("create", table.savepoint(new_id)),
        ),
        items=(
            *expiry_items(files, chosen),
            *end_unknown(files, chosen.root),
            Item("keeps", f"these rows through expiry and clean-up, until savepoint {new_id} is deleted"),
            *_twins(files, chosen),
        ),
        cost=cost_of_proof(context, chosen),
        refusals=tuple(read_only_refusals(context)),
        undo=table.undo,
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Make the savepoint. Raises `Refused` if the snapshot differs from the plan, or can't be kept."""
    require_allowed(context, plan)
    started = context.clock()
    files, table = context.files, parse_table_name(plan.table)
    guard_tags.repair(files, table)
    chosen = choose_as_planned(context, table, plan)
    before = SavepointManager(files, table).latest_savepoint_id()
    savepoint = keep(context, chosen, plan, progress, lambda each: _save(context, each, plan, progress))
    done = Done(
        message=_message(table, savepoint),
        result={
            "savepoint_id": savepoint.id,
            "saved_snapshot_id": savepoint.saved_snapshot_id,
            "schema_id": savepoint.schema_id,
            "record_count": savepoint.record_count,
            "branch": savepoint.branch,
        },
        before="no savepoint" if before is None else f"newest savepoint {before}",
        after=f"savepoint {savepoint.id} of snapshot {savepoint.saved_snapshot_id}",
    )
    return audit.finished(context, plan, done, started, progress)


def require_not_applied(context: Context, plan: Plan) -> None:
    """Check a plan that was made earlier: raises `Refused` if its savepoint exists, or existed.

    A repeated plan of another kind fails by itself. A plan that is applied at once takes any free id.
    """
    [first, *_] = plan.parts or (plan,)
    planned = first.arguments.get("savepoint") if first.action == ACTION else None
    table = parse_table_name(plan.table)
    if planned is not None and savepoint_claim.next_id(context.files, table) != planned:
        raise Refused(
            f"Savepoint {planned} of {plan.table} was made since: by this plan, or by another",
            f"`paimark savepoints {table.word}` lists them; for one more, plan again.",
        )


def log_finished(context: Context, table: TablePath, claim: savepoint_claim.Claim) -> None:
    """Log a savepoint that is whole, before its claim goes. Idempotent.

    One that keeps main before a change is in the log of that change. An undo leaves one that was due: a
    person means what was done by hand.
    """
    if claim.created_by == "safety":
        return
    savepoint = Savepoint.from_path(context.files, table.savepoint(claim.id))
    message, made_in = _message(table, savepoint), {"branch": claim.root}
    logged = partial(log, context, table, snapshot=claim.snapshot_id, token=claim.token)
    if claim.created_by == "interval":
        why = "it was made because it was due. To delete it"
        deletion = f"paimark delete-savepoint {table.word} --id {claim.id}"
        due = Plan(headline="", arguments={}, action="auto-savepoint", request={**made_in})
        logged(due, message, no_way_back=f"{why}: `{deletion}`")
        return
    plan = Plan(
        headline="",
        arguments={},
        action=ACTION,
        request={**made_in, "comment": claim.comment},
        group=claim.group,
        redoes=claim.redoes,
    ).noted(Note(claim.message or "", claim.author or ""))
    logged(plan, message, edit=partial(made, context.files, table, "savepoint", str(claim.id)))


def _message(table: TablePath, savepoint: Savepoint) -> str:
    return f"Saved snapshot {savepoint.saved_snapshot_id} of {table.full_name} as savepoint {savepoint.id}"


def _save(context: Context, chosen: ChosenSnapshot, plan: Plan, progress: Progress) -> Savepoint:
    def tagged(claim: savepoint_claim.Claim) -> None:
        progress(f"tagged snapshot {chosen.snapshot.id} as {savepoint_tag(claim.id)}")

    comment = text_argument(plan.arguments, "comment")
    return savepoint_claim.save(context, chosen, comment, "manual", progress, tagged, log_finished, plan)


def _version(files: Files, chosen: ChosenSnapshot) -> str:
    """`snapshot 18, 16,200 records`."""
    number, total = chosen.snapshot.id, chosen.snapshot.total_record_count
    records = "" if total is None else f", {counted(total, unit_in(files, chosen.root))}"
    return f"snapshot {number}{records}"


def _twins(files: Files, chosen: ChosenSnapshot) -> list[Item]:
    """The savepoints that keep the same snapshot already."""
    saved = SavepointManager(files, chosen.root.table).of_root(chosen.root)
    same = [str(each.id) for each in saved if each.saved_snapshot_id == chosen.snapshot.id]
    words = "keeps" if len(same) == 1 else "keep"
    return [Item("keeps", f"{savepoints_said(same)} {words} the same snapshot already")] if same else []


def _nothing_to_save(context: Context, root: Root) -> Plan:
    name = root.table.full_name
    refusal = Refusal(f"{root.label} of {name} has no snapshot to save", "Commit some rows first.")
    return Plan(
        headline=f"Save the newest snapshot of {root.label} of {name}.",
        arguments={},
        fingerprint="",
        refusals=(*read_only_refusals(context), refusal),
    )
