"""`rollback --truncate`: the plan, and the one change that takes main's later snapshots to a branch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec

from core.actions import audit, journal, stages, truncation, undo_log
from core.actions.checks import read_only_refusals, require_allowed, require_unmoved, undone_on_failure
from core.actions.context import Context, Progress
from core.actions.holding import ChosenSnapshot
from core.actions.merge_base import point_of
from core.actions.names import archive_name
from core.actions.owner import running
from core.actions.pins import truncation_tag
from core.actions.plan import Outcome, Plan, Refusal, Step
from core.actions.removal import only_forward, said
from core.actions.replace_checks import claim_refusals
from core.actions.truncation import Cut, cut_of
from core.actions.undo_log import Undoable
from core.errors import Refused
from core.storage.files import Files
from core.table.catalog import parse_table_name
from core.table.layout import Root, TablePath
from core.table.records import Snapshot

_CONSUMER = "consumer-"
_ARCHIVED = "kept what came later as a branch"


def plan(
    context: Context, action: str, head: ChosenSnapshot, keep: Snapshot, to: str, fingerprint: str
) -> Plan:
    """Main, at `head`, is to end at `keep`, which the version `to` is of."""
    files, root = context.files, head.root
    table = root.table
    cut = Cut(root, table.root(archive_name(context)), keep.id, head.snapshot.id)
    refusals = [*read_only_refusals(context), *_refusals(context, cut, keep)]
    if held := journal.refusal(context, table):
        refusals.append(held)
    tags = [name.removeprefix("tag/tag-") for name in truncation.later_tags(files, root, keep.id)]
    count = said(len(cut.later), "snapshot")
    steps = [
        Step("copy", f"branch {cut.archive.label}", f"{count}, {said(len(tags), 'tag')} and the schemas"),
        Step("create", root.tag(truncation_tag(cut.archive.label, keep.id)), "pins what both share"),
        Step("delete", root.snapshots, f"snapshots {cut.head} to {keep.id + 1}, the newest first"),
    ]
    if tags:
        steps.append(Step("delete", root.tags, f"{', '.join(tags)}: of the branch now"))
    return Plan(
        action=action,
        table=table.full_name,
        summary=f"End main of {table.full_name} at {to} (snapshot {keep.id}) again: "
        f"{count} later go to branch {cut.archive.label}",
        arguments={
            "to": to,
            "truncate": True,
            "snapshot": keep.id,
            "head": cut.head,
            "archive": cut.archive.label,
        },
        fingerprint=fingerprint,
        steps=tuple(steps),
        kept=(f"Every later snapshot, tag and savepoint, as branch {cut.archive.label}",),
        warnings=(
            f"Ids {keep.id + 1} to {cut.head} will be given again. Sessions that are open remember snapshots "
            "by id: stop every job that writes to main first, and start it anew afterwards, or what it "
            "commits can bring back rows from before the truncation",
            f"The definition of the table stays as it is now, though snapshot {keep.id} had "
            f"schema {keep.schema_id}",
        ),
        refusals=tuple(refusals),
        undo=f"paimark undo {table.full_name}",
    )


def is_truncation(plan: Plan) -> bool:
    return plan.arguments.get("truncate") is True


def apply(
    context: Context, plan: Plan, look: Callable[[], tuple[ChosenSnapshot, Snapshot, str]], progress: Progress
) -> Outcome:
    """Truncate. `look` tells what there is now: main's newest snapshot, the one to keep, their fingerprint.

    Raises `Refused` when main moved since the plan.
    """
    require_allowed(context, plan)
    started, token = context.clock(), journal.new_token()
    table = parse_table_name(plan.table)
    with running(token):
        head, keep, seen = look()
        require_unmoved(table, plan, seen)
        entry = Undoable(
            token=token,
            action=plan.action,
            user=context.user,
            time=context.clock(),
            root=head.root.branch,
            before=point_of(head.snapshot),
            after=point_of(keep),
            to=str(plan.arguments["to"]),
            kept_as=str(plan.arguments["archive"]),
        )
        cut = cut_of(table, entry)
        hold = journal.take(context, table, plan, token, entry.as_written())
        with undone_on_failure(table, lambda: journal.give_up(context, hold)):
            head, keep, seen = look()
            require_unmoved(table, plan, seen)
            refusals = _refusals(context, cut, keep)
            if context.files.entries(cut.archive.directory):
                refusals.append(
                    Refusal(f"{plan.table} has a branch {cut.archive.label} already", "Try again.")
                )
            for refusal in refusals:
                raise Refused(refusal.reason, refusal.hint)
            hold = stages.start(context, hold)
        with undone_on_failure(
            table,
            lambda: journal.give_up(context, hold, lambda: truncation.forget_archive(context.files, cut)),
        ):
            truncation.archive_rest(context.files, cut)
            _, _, seen = look()
            require_unmoved(table, plan, seen)
            hold = journal.note(context, hold, _ARCHIVED)
            progress(f"kept snapshots {cut.keep + 1} to {cut.head} as branch {cut.archive.label}")
        with only_forward(table):
            reached = _finish(context, hold, entry, progress)
            journal.release(context, hold)
    outcome = _outcome(plan, cut, reached)
    audit.record(
        context,
        plan,
        outcome,
        started,
        progress,
        before=f"snapshot {cut.head}",
        after=f"snapshot {reached}",
    )
    return outcome


def recovery_steps(context: Context, table: TablePath, begun: journal.Journal) -> list[Step]:
    """What recovering an interrupted truncation does."""
    cut = cut_of(table, _entry(begun))
    if _ARCHIVED in begun.steps:
        return [Step("delete", cut.main.snapshots, f"what branch {cut.archive.label} has")]
    return [Step("delete", f"branch {cut.archive.label}", "main is as it was")]


def recover(context: Context, hold: journal.Hold, progress: Progress) -> None:
    """Finish an interrupted truncation once the branch is whole, else take it back. The caller ends it."""
    entry = _entry(hold.journal)
    undo_log.clean(context, hold.table)
    if _ARCHIVED in hold.journal.steps:
        _finish(context, hold, entry, progress)
        truncation.clean(context.files, cut_of(hold.table, entry))
    elif stages.has_started(hold.journal):
        truncation.forget_archive(context.files, cut_of(hold.table, entry))
        progress("main is as it was")


def _finish(context: Context, hold: journal.Hold, entry: Undoable, progress: Progress) -> int:
    """What follows once the branch is whole; it can be done twice. Main's newest snapshot then."""
    files, cut = context.files, cut_of(hold.table, entry)
    reached = truncation.cut_off(files, cut)
    if reached == cut.head:
        truncation.forget_archive(files, cut)
    elif reached == cut.keep:
        undo_log.append(context, hold.table, entry)
    progress(f"main ends at snapshot {reached}")
    return reached


def _entry(begun: journal.Journal) -> Undoable:
    return Undoable.from_json(msgspec.json.encode(begun.leaving or {}), f"The journal of {begun.table}")


def _refusals(context: Context, cut: Cut, keep: Snapshot) -> list[Refusal]:
    files, root = context.files, cut.main
    name = root.table.full_name
    if root.branch is not None:
        reason = f"Main of {name} is branch {root.branch}, whose snapshots are guarded in the table directory"
        return [Refusal(reason, "Roll back without --truncate, or take the replacement back first.")]
    found = claim_refusals(context, root)
    if not files.exists(root.snapshot(keep.id)):
        found.append(
            Refusal(f"Snapshot {keep.id} of {name} has expired", "Roll back to it without --truncate.")
        )
    for branch in truncation.stranded(files, root, keep):
        reason = f"Branch {branch} of {name} parts from main after snapshot {keep.id}, or nobody knows where"
        found.append(Refusal(reason, "Roll back without --truncate, or delete that branch first."))
    found += [
        Refusal(f"{each} of {name} reads on from a snapshot that would be gone", "Stop and delete it first.")
        for each in _stranded_consumers(files, root, keep.id)
    ]
    return found


def _stranded_consumers(files: Files, root: Root, keep: int) -> list[str]:
    names = sorted(each for each in files.names(root.consumers) if each.startswith(_CONSUMER))
    contents = files.read_many(f"{root.consumers}/{name}" for name in names)
    return [
        f"Consumer {name.removeprefix(_CONSUMER)}"
        for name, data in zip(names, contents, strict=True)
        if data is not None and _next_of(data) > keep + 1
    ]


def _next_of(consumer: bytes) -> float:
    """The snapshot that a consumer reads next; one that says nothing may be anywhere."""
    try:
        return int(msgspec.json.decode(consumer, type=dict[str, Any])["nextSnapshot"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, UnicodeDecodeError):
        return math.inf


def _outcome(plan: Plan, cut: Cut, reached: int) -> Outcome:
    message = f"main of {plan.table} ends at snapshot {reached} again"
    if reached == cut.head:
        message = f"Somebody committed to main of {plan.table} just then: it is as it was"
    elif reached > cut.keep:
        message += f", for somebody committed on it just then; branch {cut.archive.label} has the rest"
    else:
        message += f"; what came later is branch {cut.archive.label}"
    return Outcome(
        action=plan.action,
        table=plan.table,
        message=message,
        result={
            "snapshot_id": reached,
            "rolled_back_to": cut.keep,
            "archive": cut.archive.label if reached < cut.head else None,
        },
        undo=plan.undo if reached == cut.keep else "",
    )
