"""`rescue-commits`: what a stale writer left in the table directory while a branch is main becomes a branch.

Its snapshots are copied to the branch, with the schemas of the main that it took for the table's, and then
leave the table directory. The journal's note that the copy is whole is the point of no return.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.actions import audit, journal, stages, undo_log
from core.actions.checks import (
    fingerprint,
    read_only_refusals,
    require_allowed,
    require_unmoved,
    required_text,
    undone_on_failure,
)
from core.actions.context import Context, Progress
from core.actions.names import name_refusal
from core.actions.owner import running
from core.actions.plan import Outcome, Plan, Refusal, Step
from core.actions.removal import only_forward, said
from core.actions.rewriting import with_options
from core.actions.root_files import (
    SNAPSHOTS,
    copy_files,
    delete_files,
    part_of,
    remove_root,
    root_files,
    same_files,
)
from core.actions.strays import stray_commits
from core.errors import Refused
from core.storage.files import Files
from core.table.catalog import parse_table_name
from core.table.layout import SNAPSHOT_PREFIX, Root, TablePath
from core.table.lineage import Lineage
from core.table.main_branch import main_branch_name, root_exists
from core.table.reading import numbered
from core.table.records import Snapshot, TableSchema
from core.table.retention import RETENTION_OFF

ACTION = "rescue-commits"
_COPIED = "copied the commits"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name` of the branch to be made."""
    name = required_text(arguments, "name")
    files, target = context.files, table.root(name)
    refusals = read_only_refusals(context)
    if held := journal.refusal(context, table):
        refusals.append(held)
    found = stray_commits(files, table)
    refusals += _refusals(context, target, found)
    ids = ", ".join(str(each.id) for each in found[:5]) + (" ..." if len(found) > 5 else "")
    count = said(len(found), "commit")
    return Plan(
        action=ACTION,
        table=table.full_name,
        summary=f"Make branch {name} of {table.full_name} of {count} by stale writers",
        arguments={"name": name},
        fingerprint=_seen(found),
        steps=(
            Step("copy", f"branch {name}", f"snapshot {ids}, with the schemas of the previous main"),
            Step("delete", table.root().snapshots, count),
        )
        if found
        else (),
        kept=("Every row they wrote; main is not touched",),
        refusals=tuple(refusals),
        empty=not found,
    )


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Make the branch. Raises `Refused` when there are other commits than planned, or the name is taken."""
    require_allowed(context, plan)
    started, token = context.clock(), journal.new_token()
    files, table, name = context.files, parse_table_name(plan.table), str(plan.arguments["name"])
    target, found = table.root(name), stray_commits(context.files, table)
    require_unmoved(table, plan, _seen(found))
    if plan.empty:
        return _outcome(plan, 0, f"{plan.table} has no stray commits")
    with running(token):
        hold = journal.take(context, table, plan, token)
        with undone_on_failure(table, lambda: journal.give_up(context, hold)):
            require_unmoved(table, plan, _seen(stray_commits(files, table)))
            for refusal in _refusals(context, target, found):
                raise Refused(refusal.reason, refusal.hint)
            hold = stages.start(context, hold)
        with undone_on_failure(
            table, lambda: journal.give_up(context, hold, lambda: remove_root(files, target))
        ):
            _copy(context, target, found)
            hold = journal.note(context, hold, _COPIED)
            progress(f"copied {said(len(found), 'commit')} to branch {name}")
        with only_forward(table):
            _finish(files, target)
            journal.release(context, hold)
    outcome = _outcome(plan, len(found), f"Branch {name} of {plan.table} holds {said(len(found), 'commit')}")
    audit.record(context, plan, outcome, started, progress, before="stray commits", after=f"branch {name}")
    return outcome


def recovery_steps(context: Context, table: TablePath, begun: journal.Journal) -> list[Step]:
    """What recovering an interrupted rescue does."""
    name = str(begun.planned().arguments["name"])
    if _COPIED in begun.steps:
        return [Step("delete", table.root().snapshots, f"what branch {name} holds")]
    return [Step("delete", f"branch {name}", "the commits stay where they are")]


def recover(context: Context, hold: journal.Hold, progress: Progress) -> None:
    """Finish an interrupted rescue once the copy is whole, else take it back. The caller ends it."""
    target = hold.table.root(str(hold.journal.planned().arguments["name"]))
    if _COPIED in hold.journal.steps:
        _finish(context.files, target)
        progress(f"branch {target.label} holds the commits")
    elif stages.has_started(hold.journal):
        remove_root(context.files, target)
        progress("the commits stay where they are")


def _refusals(context: Context, target: Root, found: list[Snapshot]) -> list[Refusal]:
    files, table = context.files, target.table
    if refusal := name_refusal(target.label, "branch"):
        return [refusal]
    if files.entries(target.directory):
        return [Refusal(f"{table.full_name} has a branch {target.label} already", "Choose another name.")]
    missing = {each.schema_id for each in found} - _schemas(context, table).keys()
    if missing:
        reason = f"Schema {', '.join(map(str, sorted(missing)))} of these commits is gone"
        return [Refusal(reason, "Restore it in the branch that was main before.")]
    return []


def _schemas(context: Context, table: TablePath) -> dict[int, bytes]:
    """The schemas that the table directory had: the archived main's, else what the log kept of them."""
    files = context.files
    for entry in reversed(undo_log.entries(context, table)):
        if entry.schema is None or entry.schema_id is None or entry.previous is not None:
            continue
        found = {entry.schema_id: entry.schema.encode()}
        archive = table.root(entry.kept_as) if entry.kept_as else None
        if archive is not None and root_exists(files, archive):
            ids = Lineage(files, archive).schema_ids()
            found |= {each: files.read(archive.schema(each)) for each in ids}
        return found
    return {}


def _copy(context: Context, target: Root, found: list[Snapshot]) -> None:
    files, schemas = context.files, _schemas(context, target.table)
    newest = max(schemas)
    for number, data in sorted(schemas.items()):
        path = target.schema(number)
        TableSchema.from_json(data, path)
        files.create(path, with_options(data, RETENTION_OFF, path) if number == newest else data)
    names = [f"{SNAPSHOTS}/{SNAPSHOT_PREFIX}{each.id}" for each in found]
    copy_files(files, target.table.root(), target, names)
    files.create(target.earliest_hint, str(found[0].id).encode())
    files.create(target.latest_hint, str(found[-1].id).encode())


def _finish(files: Files, target: Root) -> None:
    """Only what the branch holds leaves the table directory; hints go with the last snapshot."""
    own = target.table.root()
    if main_branch_name(files, target.table) is None:
        return
    names = part_of(root_files(files, target), SNAPSHOTS)
    delete_files(files, own, list(same_files(files, own, target, names)))
    if not numbered(files.names(own.snapshots), SNAPSHOT_PREFIX):
        delete_files(files, own, [f"{SNAPSHOTS}/EARLIEST", f"{SNAPSHOTS}/LATEST"])
    files.prune(own.snapshots)


def _seen(found: list[Snapshot]) -> str:
    return fingerprint(*(each.to_json() for each in found))


def _outcome(plan: Plan, count: int, message: str) -> Outcome:
    result = {"branch_name": plan.arguments["name"], "commits": count}
    return Outcome(action=ACTION, table=plan.table, message=message, result=result)
