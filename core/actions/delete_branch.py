"""`delete-branch`: a branch with every file that only it keeps, or, with `--keep`, only out of the way.

A retired branch is a branch still, called `retired-<name>-<time>`, which keeps all its files; `undo` gives it
its name back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import msgspec

from core.actions import audit, journal, pins, stages, undo_log
from core.actions.checks import (
    fingerprint,
    read_only_refusals,
    require_allowed,
    require_unmoved,
    required_text,
    undone_on_failure,
)
from core.actions.context import Context, Progress
from core.actions.deletion import freed_steps, kept_by
from core.actions.features import changelog_refusals, feature_refusals
from core.actions.owner import running
from core.actions.plan import Outcome, Plan, Refusal, Step
from core.actions.reclaim import Freed, freed_by
from core.actions.removal import Removed, only_forward, said
from core.actions.replace_checks import claim_refusals
from core.actions.rewriting import with_options
from core.actions.root_files import remove_root, root_files
from core.actions.root_move import is_moved, move_root
from core.actions.root_removal import drop_root, leaving_of
from core.actions.takeover import State, held_by, savepoints_held_alone, state
from core.actions.undo_log import Undoable
from core.errors import NotFound, Refused
from core.table.catalog import parse_table_name
from core.table.layout import MAIN, Root, TablePath
from core.table.main_branch import branch_root, main_root
from core.table.names import checked_name
from core.table.retention import RETENTION_OFF

ACTION = "delete-branch"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name`, and `keep` to retire it instead. Raises `NotFound`."""
    name, keeps = required_text(arguments, "name"), arguments.get("keep") is True
    root, found = _find(context, table, name)
    refusals = read_only_refusals(context) + _refusals(context, root, keeps=keeps)
    if held := journal.refusal(context, table):
        refusals.append(held)
    freed, released = Freed(), list[Step]()
    if found is not None and not keeps and not refusals:
        freed, released, more = _freed(context, root)
        refusals += more
    sizes = root_files(context.files, root)
    retired = _retired_name(context, name) if keeps else None
    total = sum(each.size or 0 for each in freed.files)
    gone = Step("delete", f"branch {name}", said(len(sizes), "metadata file"), sum(sizes.values()))
    copied = Step("copy", f"branch {retired}", said(len(sizes), "metadata file"), sum(sizes.values()))
    if keeps:
        summary = f"Retire branch {name} of {table.full_name} as {retired}"
    else:
        summary = (
            f"Delete branch {name} of {table.full_name}: {said(len(freed.files), 'file')}, {total} bytes"
        )
    return Plan(
        action=ACTION,
        table=table.full_name,
        summary=summary,
        arguments={"name": name, "keep": keeps, "retired": retired},
        fingerprint=_seen(context, root, found),
        steps=(copied, gone) if keeps else (*freed_steps(freed), gone, *released),
        kept=("All its snapshots, tags and files, under the new name",) if keeps else kept_by(table, freed),
        warnings=tuple(_warnings(context, table, name, found)),
        refusals=tuple(refusals),
        freed_files=len(freed.files),
        freed_bytes=total,
        undo=f"paimark undo {table.full_name}" if keeps else "",
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Delete or retire it. Raises `Refused` when it, or what needs it, is no longer as planned."""
    require_allowed(context, plan)
    started = context.clock()
    table, token = parse_table_name(plan.table), journal.new_token()
    name, retired = str(plan.arguments["name"]), plan.arguments["retired"]
    root, found = _as_planned(context, table, plan)
    removed = Removed()
    with running(token):
        leaving = None
        if retired is not None and found is not None:
            leaving = _undoable(context, token, found, str(retired)).as_written()
        hold = journal.take(context, table, plan, token, leaving)
        with undone_on_failure(table, lambda: journal.give_up(context, hold)):
            root, found = _as_planned(context, table, plan)
            for refusal in _refusals(context, root, keeps=retired is not None):
                raise Refused(refusal.reason, refusal.hint)
            if retired is not None and context.files.entries(table.root(str(retired)).directory):
                raise Refused(f"{plan.table} has a branch {retired} already", "Make a new plan.")
            hold = stages.start(context, hold)
        if retired is not None and found is not None:
            with undone_on_failure(
                table, lambda: journal.give_up(context, hold, lambda: _take_back(context, hold))
            ):
                hold = move_root(context, hold, found, table.root(str(retired)), _off(found), progress)
        with only_forward(table):
            if retired is None:
                removed = drop_root(context, hold, root, progress)
                removed += pins.release(context, hold, name, progress)
            else:
                _finish_retiring(context, hold)
            journal.release(context, hold)
    outcome = _outcome(plan, removed)
    after = f"no branch {name}" if retired is None else f"branch {retired}"
    audit.record(context, plan, outcome, started, progress, before=f"branch {name}", after=after)
    return outcome


def recovery_steps(context: Context, table: TablePath, begun: journal.Journal) -> list[Step]:
    """What recovering an interrupted deletion does."""
    name = str(begun.planned().arguments["name"])
    if begun.leaving is not None:
        kept_as = Undoable.from_json(msgspec.json.encode(begun.leaving), table.journal).kept_as
        return [Step("delete", f"branch {name if is_moved(begun) else kept_as}", "the other one stays")]
    if not stages.has_started(begun):
        return []
    return [Step("delete", f"branch {name}", "and the files that only it kept, as far as they are there")]


def recover(context: Context, hold: journal.Hold, progress: Progress) -> None:
    """Finish an interrupted deletion, or leave all as it was. The caller ends it."""
    name = str(hold.journal.planned().arguments["name"])
    undo_log.clean(context, hold.table)
    if hold.journal.leaving is not None:
        if is_moved(hold.journal):
            _finish_retiring(context, hold)
        elif stages.has_started(hold.journal):
            _take_back(context, hold)
        progress(f"branch {name} is {'retired' if is_moved(hold.journal) else 'as it was'}")
    elif stages.has_started(hold.journal):
        drop_root(context, hold, hold.table.root(name), progress)
        pins.release(context, hold, name, progress)
    else:
        progress("nothing was deleted yet: undone")


def _find(context: Context, table: TablePath, name: str) -> tuple[Root, State | None]:
    """The branch with its state; None for one that holds nothing. Raises `NotFound` and `UsageError`."""
    files, root = context.files, table.root(checked_name(name, "branch"))
    if name != MAIN and files.entries(root.directory) and not root_files(files, root):
        return root, None
    root = branch_root(files, table, name)
    return root, None if root.branch is None else state(files, root)


def _as_planned(context: Context, table: TablePath, plan: Plan) -> tuple[Root, State | None]:
    root, found = _find(context, table, str(plan.arguments["name"]))
    require_unmoved(table, plan, _seen(context, root, found))
    return root, found


def _seen(context: Context, root: Root, found: State | None) -> str:
    return found.fingerprint if found else fingerprint(root.directory, held_by(context.files, root))


def _refusals(context: Context, root: Root, *, keeps: bool) -> list[Refusal]:
    files, table = context.files, root.table
    if root == main_root(files, table):
        return [Refusal(f"{root.label} is main of {table.full_name}", "Make another branch main first.")]
    refusals = claim_refusals(context, root)
    if keeps and not root_files(files, root):
        refusals.append(Refusal(f"Branch {root.label} holds nothing to keep", "Leave --keep out."))
    alone = [] if keeps else [str(each) for each in savepoints_held_alone(files, root)]
    if alone:
        reason = f"Branch {root.label} alone holds savepoint {', '.join(alone)}"
        refusals.append(Refusal(reason, "Delete what nobody needs first, or retire the branch with --keep."))
    return refusals


def _freed(context: Context, root: Root) -> tuple[Freed, list[Step], list[Refusal]]:
    """What goes with the branch and with the pins that are released; the steps of these."""
    files, table = context.files, root.table
    refusals = [*feature_refusals(files, root), *changelog_refusals(files, root)]
    freed, steps = Freed(), []
    try:
        leaving = leaving_of(files, root)
        if leaving.records:
            freed = freed_by(files, table, leaving)
        main, gone = main_root(files, table), leaving.paths
        for name, tag in pins.released(files, main, root.label).items():
            pin = pins.leaving_of_pin(main, name, tag)
            gone |= pin.paths
            freed += freed_by(files, table, replace(pin, paths=gone))
            steps += [Step("delete", path, "nothing else needs it") for path in sorted(pin.paths)]
    except (NotFound, Refused) as error:
        return Freed(), [], [*refusals, Refusal(error.message, error.hint)]
    return freed, steps, refusals


def _warnings(context: Context, table: TablePath, name: str, found: State | None) -> list[str]:
    warnings = []
    if found is not None and found.head is not None:
        head = found.head.snapshot
        when = datetime.fromtimestamp(head.time_millis / 1000)
        warnings.append(
            f"Jobs on `{table.full_name}$branch_{name}` fail from here on: "
            f"its newest commit is of {when:%Y-%m-%d %H:%M} (user {head.commit_user})"
        )
    for entry in undo_log.entries(context, table):
        if name in (entry.kept_as, entry.previous):
            what = f"{entry.branch} becoming main" if entry.is_replacement else entry.said
            warnings.append(f"Without branch {name}, this can't be undone any more: {what}")
    return warnings


def _retired_name(context: Context, name: str) -> str:
    when = datetime.fromtimestamp(context.clock() / 1000, UTC)
    return f"retired-{name}-{when:%Y%m%dT%H%M%S}"


def _off(found: State) -> dict[str, bytes]:
    """The newest schema with stock retention off: every root that we make has it so."""
    path = found.root.schema(found.schema_id)
    name = path.removeprefix(f"{found.root.directory}/")
    return {name: with_options(found.schema, RETENTION_OFF, path)}


def _undoable(context: Context, token: str, found: State, retired: str) -> Undoable:
    return Undoable(
        token=token,
        action=ACTION,
        user=context.user,
        time=context.clock(),
        branch=found.root.label,
        kept_as=retired,
        schema_id=found.schema_id,
        schema=found.schema.decode(),
        head=found.head.snapshot.id if found.head else None,
    )


def _take_back(context: Context, hold: journal.Hold) -> None:
    entry = Undoable.from_json(msgspec.json.encode(hold.journal.leaving), hold.table.journal)
    remove_root(context.files, hold.table.root(entry.kept_as))


def _finish_retiring(context: Context, hold: journal.Hold) -> None:
    entry = Undoable.from_json(msgspec.json.encode(hold.journal.leaving), hold.table.journal)
    undo_log.append(context, hold.table, entry)
    remove_root(context.files, hold.table.root(entry.branch))


def _outcome(plan: Plan, removed: Removed) -> Outcome:
    name, retired = plan.arguments["name"], plan.arguments["retired"]
    if retired is None:
        went = f"{said(removed.files, 'file')} ({removed.size} bytes) went with it"
        message = f"Deleted branch {name} of {plan.table}: {went}"
    else:
        message = f"Branch {name} of {plan.table} is retired as {retired}"
    return Outcome(
        action=ACTION,
        table=plan.table,
        message=message,
        result={
            "branch_name": name,
            "retired_as": retired,
            "freed_files": removed.files,
            "freed_bytes": removed.size,
        },
        undo=plan.undo,
    )
