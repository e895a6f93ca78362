"""`replace-main-branch`: a branch becomes main, and its own files stay where they are.

The main-branch file is what makes it main: written whole, once. Before that everything is taken back, after
it everything is finished.
"""

from __future__ import annotations

from collections.abc import Mapping

from core.actions import audit, journal, replace_overwrite, stages, undo_log
from core.actions.checks import (
    read_only_refusals,
    require_allowed,
    required_text,
    text_argument,
    undone_on_failure,
)
from core.actions.context import Context, Progress
from core.actions.names import archive_name
from core.actions.owner import running
from core.actions.plan import Outcome, Plan, Step
from core.actions.pointer import (
    Begun,
    begun_in,
    begun_of,
    clean_table_directory,
    clear_table_directory,
    prepare,
    sides,
    take_back,
)
from core.actions.removal import only_forward
from core.actions.replace_checks import as_planned, require_free, require_still
from core.actions.replace_plan import describe
from core.actions.root_removal import drop_root
from core.actions.strays import stray_commits
from core.actions.takeover import survey
from core.errors import Unavailable, UsageError
from core.table.catalog import parse_table_name
from core.table.layout import TablePath
from core.table.main_branch import branch_root, main_branch_name, main_root

ACTION = undo_log.REPLACEMENT
POINTER = "pointer"
_CLEARED = "left guards and a notice to stock engines in the table directory"


def plan(context: Context, table: TablePath, arguments: Mapping[str, object]) -> Plan:
    """Arguments: `name` of the branch, `layout` (`pointer`, `overwrite`), `drop_previous`.

    Raises `NotFound`.
    """
    name = required_text(arguments, "name")
    layout = text_argument(arguments, "layout") or POINTER
    if layout not in (POINTER, replace_overwrite.OVERWRITE):
        raise UsageError(f"There is no layout {layout}", f"It is {POINTER} or {replace_overwrite.OVERWRITE}.")
    drops = arguments.get("drop_previous") is True
    main = main_root(context.files, table)
    branch = branch_root(context.files, table, name)
    if branch == main:
        return Plan(
            action=ACTION,
            table=table.full_name,
            summary=f"Branch {main.label} of {table.full_name} is main already",
            arguments={"name": name},
            fingerprint="",
            refusals=tuple(read_only_refusals(context)),
            empty=True,
        )
    if layout == replace_overwrite.OVERWRITE:
        return replace_overwrite.plan(context, table, name, arguments)
    found = survey(context.files, main, branch)
    archive = archive_name(context) if main.branch is None else None
    return describe(context, ACTION, found, archive, drops_previous=drops)


def apply(context: Context, plan: Plan, progress: Progress) -> Outcome:
    """Make the branch main. Raises `Refused` when main or the branch moved, before anything was written."""
    if replace_overwrite.is_overwrite(plan):
        return replace_overwrite.apply(context, plan, progress)
    require_allowed(context, plan)
    table, name = parse_table_name(plan.table), str(plan.arguments["name"])
    if plan.empty:
        return Outcome(action=ACTION, table=plan.table, message=plan.summary, result={"branch_name": name})
    started, token = context.clock(), journal.new_token()
    with running(token):
        found = as_planned(context, table, plan)
        archive = plan.arguments["archive"]
        begun = begun_of(
            found,
            context.files,
            None if archive is None else str(archive),
            drops_previous=plan.arguments["drop_previous"] is True,
        )
        hold = journal.take(context, table, plan, token, begun.as_written())
        with undone_on_failure(table, lambda: journal.give_up(context, hold)):
            require_free(context, as_planned(context, table, plan), begun)
            hold = stages.start(context, hold)
        with undone_on_failure(
            table, lambda: journal.give_up(context, hold, lambda: _undo(context, hold, begun))
        ):
            hold = prepare(context, hold, begun, progress)
            require_still(context, hold, found, begun, progress)
            context.files.replace(table.main_branch_file, name.encode())
        with only_forward(table):
            _finish(context, hold, begun, progress)
            journal.release(context, hold)
    outcome = _outcome(context, plan, begun)
    audit.record(
        context,
        plan,
        outcome,
        started,
        progress,
        before=f"main is {found.main.said}",
        after=f"main is branch {name} at snapshot {begun.branch_head}",
    )
    return outcome


def recovery_steps(context: Context, table: TablePath, begun: journal.Journal) -> list[Step]:
    """What recovering an interrupted replacement does."""
    if replace_overwrite.is_overwrite(begun.planned()):
        return replace_overwrite.recovery_steps(context, table, begun)
    name = str(begun.planned().arguments["name"])
    if main_branch_name(context.files, table) == name:
        return [Step("replace", f"branch {name}", "is main already: what is left to do is finished")]
    return [Step("delete", f"branch {name}", "did not become main: what was added is removed, and it stays")]


def recover(context: Context, hold: journal.Hold, progress: Progress) -> None:
    """Finish an interrupted replacement when the branch is main, else take it back. The caller ends it."""
    if replace_overwrite.is_overwrite(hold.journal.planned()):
        replace_overwrite.recover(context, hold, progress)
        return
    begun = begun_in(hold)
    undo_log.clean(context, hold.table)
    if main_branch_name(context.files, hold.table) == begun.branch:
        _finish(context, hold, begun, progress)
        between = sides(hold.table, begun)
        archive = None if begun.drops_previous else between.archive
        clean_table_directory(context.files, hold.table, between.branch, archive)
        progress(f"branch {begun.branch} is main")
    else:
        if stages.has_started(hold.journal):
            take_back(context, hold, begun)
        progress(f"branch {begun.branch} did not become main: nothing is left of it")


def _finish(context: Context, hold: journal.Hold, begun: Begun, progress: Progress) -> None:
    """What follows the point of no return; every step can be done twice."""
    files, table = context.files, hold.table
    between = sides(table, begun)
    if _CLEARED not in hold.journal.steps:
        progress(f"branch {begun.branch} is main")
        undo_log.append(context, table, _undoable(context, hold, begun))
        clear_table_directory(files, table, between.branch, between.archive)
        hold = journal.note(context, hold, _CLEARED)
        progress(_CLEARED)
    if begun.drops_previous and between.archive is not None:
        drop_root(context, hold, between.archive, progress)


def _undo(context: Context, hold: journal.Hold, begun: Begun) -> None:
    if main_branch_name(context.files, hold.table) == begun.branch:
        raise Unavailable(f"branch {begun.branch} is main of {hold.table.full_name} already")
    take_back(context, hold, begun)


def _undoable(context: Context, hold: journal.Hold, begun: Begun) -> undo_log.Undoable:
    return undo_log.Undoable(
        token=hold.journal.token,
        action=ACTION,
        user=hold.journal.owner.user,
        time=hold.journal.owner.since,
        branch=begun.branch,
        previous=begun.previous,
        kept_as=None if begun.drops_previous else begun.archive,
        schema_id=begun.main_schema_id,
        schema=begun.main_schema,
        head=begun.branch_head,
        was_dropped=begun.drops_previous,
    )


def _outcome(context: Context, plan: Plan, begun: Begun) -> Outcome:
    table = parse_table_name(plan.table)
    if begun.drops_previous:
        kept = "the previous one was dropped"
    else:
        kept = f"the previous one is kept as branch {begun.archive or begun.previous}"
    message = f"Branch {begun.branch} is main of {plan.table}; {kept}"
    strays = stray_commits(context.files, table)
    if strays:
        message += f"; {len(strays)} later commits to the table directory by a stale writer are no part of it"
    return Outcome(
        action=ACTION,
        table=plan.table,
        message=message,
        result={
            "branch_name": begun.branch,
            "previous_main": begun.archive or begun.previous if not begun.drops_previous else None,
            "snapshot_id": begun.branch_head,
            "stray_commits": len(strays),
        },
        undo=plan.undo,
    )
